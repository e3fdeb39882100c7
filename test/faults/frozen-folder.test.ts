import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { merchant } from '../support/client.ts';
import { charge, reaches } from '../support/flows.ts';
import { list, parseJson, text } from '../support/json.ts';
import { endWithin, freePort, type Outcome, spawnNode } from '../support/process.ts';
import { type Server, serverEnv } from '../support/server.ts';
import { expectVerified, frozenWriter, RESUMED_MS, withServer } from './scene.ts';

const test = suite('a folder in the hands of somebody who is frozen');

/** "At once", on a machine with much else to do. */
const AT_ONCE_MS = 6_000;

async function second(server: Server): Promise<Outcome> {
  const env = serverEnv(server.dataDir, await freePort(), await freePort());
  return endWithin(spawnNode(['dist/src/main.js'], env), AT_ONCE_MS);
}

function expectTurnedAway(server: Server, { code, stdout, stderr }: Outcome): void {
  assert.ok(code !== 0 && code !== null, `it ended with ${code}`);
  assert.ok(`${stderr}${stdout}`.includes(server.dataDir), `no folder in: ${stderr}${stdout}`);
  assert.match(`${stderr}${stdout}`, new RegExp(`\\b${server.pid}\\b`));
}

async function expectListed(server: Server): Promise<void> {
  const args = ['dist/src/cli/pixstate.js', 'account', 'list', '--json'];
  const { code, stdout, stderr } = await endWithin(spawnNode(args, server.env), AT_ONCE_MS);
  assert.is(code, 0, stderr);
  assert.is(list(parseJson(stdout) ?? null, 'accounts').length, 2);
}

async function besideFrozenWriter(body: (server: Server) => Promise<void>): Promise<void> {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const writer = await frozenWriter(server);
    try {
      await body(server);
    } finally {
      writer.child.kill('SIGCONT');
    }
    assert.is((await endWithin(writer, 10_000)).code, 0);
    await charge(client);
  });
}

test('a second server exits at once while a writer is frozen, and names folder and holder', async () => {
  await besideFrozenWriter(async (server) => expectTurnedAway(server, await second(server)));
});

test('a command that reads is answered while a writer is frozen', async () => {
  await besideFrozenWriter(expectListed);
});

test('a server that is frozen itself still holds its folder, and goes on afterwards', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--expires-in', '1']);
    const waiting = text(await charge(client), 'id');
    process.kill(server.pid, 'SIGSTOP');
    try {
      expectTurnedAway(server, await second(server));
      await expectListed(server);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await reaches(client, 'pix-in', waiting, 'expired', RESUMED_MS);
    await charge(client);
    await expectVerified(server);
  });
});

test.run();
