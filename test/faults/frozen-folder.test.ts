import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { merchant } from '../support/client.ts';
import { charge, reaches } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { endWithin, type Outcome, spawnNode } from '../support/process.ts';
import { type Server, serverEnv } from '../support/server.ts';
import { expectVerified, RESUMED_MS, withServer } from './scene.ts';

const test = suite('a folder in the hands of somebody who is frozen');

/** "At once", on a machine with much else to do. */
const AT_ONCE_MS = 6_000;

async function second(server: Server): Promise<Outcome> {
  const env = serverEnv(server.dataDir, await freePort(), await freePort());
  return endWithin(spawnNode(['dist/src/main.js'], env), AT_ONCE_MS);
}

test('a server that is frozen still holds its folder: a second one exits at once, and it goes on afterwards', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--expires-in', '1']);
    const waiting = text(await charge(client), 'id');
    process.kill(server.pid, 'SIGSTOP');
    try {
      const { code, stdout, stderr } = await second(server);
      assert.is(code, 1, `${stderr}${stdout}`);
      assert.match(stderr, `the data folder ${server.dataDir} is served by process ${server.pid} since`);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await reaches(client, 'pix-in', waiting, 'expired', RESUMED_MS);
    await charge(client);
    await expectVerified(server);
  });
});

test.run();
