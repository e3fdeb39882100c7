/** One server has a data folder, and the next one has it as soon as that has died, whoever waits for the dead. */
import { cp, readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { basic, clientOf, fetchReply, merchant } from '../support/client.ts';
import { charge, reaches, shown } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { type Outcome, type Spawned, spawnNode } from '../support/process.ts';
import { type Server, serverEnv, startServer } from '../support/server.ts';
import { spawnUnreaped, stateOf, type Unreaped } from '../support/unreaped.ts';
import { until } from '../support/wait.ts';
import { expectVerified, RESUMED_MS, withFolder, withServer } from './scene.ts';

const test = suite('the holder of a folder');

const SERVER = ['dist/src/main.js'];
const READY_MS = 20_000;

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetchReply('GET', `http://127.0.0.1:${port}/readyz`, null, {})).status === 200;
  } catch {
    return false;
  }
}

/** A server that serves in the place of one that was ended, until it is killed; nobody waits for it then. */
async function unreapedServer(server: Server): Promise<Unreaped> {
  const unreaped = await spawnUnreaped(SERVER, server.env);
  try {
    await until(() => isReady(server.port), READY_MS, 'a ready server');
  } catch (error) {
    await unreaped.end();
    throw new Error(`${String(error)}: ${unreaped.parent.stderr()}`);
  }
  return unreaped;
}

test('kill -9 of its process group: the next start works at once, though nobody ever waits for the dead', async () => {
  const zombies: Unreaped[] = [];
  try {
    await withServer({}, async (server) => {
      const client = await merchant(server);
      assert.is(await server.terminate(), 0);
      const open: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        const unreaped = await unreapedServer(server);
        zombies.push(unreaped);
        open.push(text(await charge(client, 10_001), 'id'));
        await unreaped.killGroup();
      }
      await server.restart();
      assert.equal(
        zombies.map(({ pid }) => stateOf(pid)),
        ['Z', 'Z', 'Z'],
      );
      for (const id of open) await reaches(client, 'pix-in', id, 'paid', RESUMED_MS);
      await expectVerified(server);
    });
  } finally {
    for (const zombie of zombies) await zombie.end();
  }
});

async function startAt(folder: string): Promise<{ spawned: Spawned; port: number }> {
  const port = await freePort();
  return { spawned: spawnNode(SERVER, serverEnv(folder, port, await freePort())), port };
}

/** The first of two that ends, and the one that goes on. */
async function firstToEnd(starts: readonly { spawned: Spawned; port: number }[]) {
  const ends = starts.map(async (start) => ({ start, outcome: await start.spawned.ended }));
  const { start, outcome } = await Promise.race(ends);
  const other = starts.find((one) => one !== start);
  if (other === undefined) throw new Error('there was only one');
  return { outcome, other };
}

function expectTurnedAway({ code, stderr }: Outcome, folder: string, pid: number): void {
  const since = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z';
  const told = `the data folder ${folder} is served by process ${pid} since ${since}: one server writes a folder`;
  assert.match(stderr, new RegExp(`^pixstate can't start: ${told}\n$`));
  assert.is(code, 1);
}

test('of two that start at once one serves, and the other is told which, also right after one that was killed', async () => {
  await withFolder(async (folder) => {
    for (let round = 0; round < 4; round += 1) {
      const starts = [await startAt(folder), await startAt(folder)];
      try {
        const { outcome, other } = await firstToEnd(starts);
        expectTurnedAway(outcome, folder, other.spawned.pid);
        await until(() => isReady(other.port), READY_MS, 'the other one');
      } finally {
        for (const { spawned } of starts) spawned.child.kill('SIGKILL');
        await Promise.all(starts.map(({ spawned }) => spawned.ended));
      }
    }
    const server = await startServer({ dataDir: folder });
    await expectVerified(server);
    assert.is(await server.stop(), 0);
    assert.is((await readFile(`${folder}/pixstate.server`, 'utf8')).trim(), '');
  });
});

test('a copy of a folder that is served can be served, too', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const before = text(await charge(client), 'id');
    await withFolder(async (folder) => {
      // A socket can't be copied.
      const filter = (path: string): boolean => !path.endsWith('.socket');
      await cp(server.dataDir, folder, { recursive: true, filter });
      const copy = await startServer({ dataDir: folder });
      try {
        const there = clientOf(copy, { authorization: basic(client.clientId, client.clientSecret) });
        await shown(there, 'pix-in', before);
        await reaches(there, 'pix-in', text(await charge(there, 10_001), 'id'), 'paid', RESUMED_MS);
        await expectVerified(copy);
      } finally {
        await copy.stop();
      }
    });
    await charge(client);
    await expectVerified(server);
  });
});

test.run();
