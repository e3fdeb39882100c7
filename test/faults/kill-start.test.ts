import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { basic, fetchReply, merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { whole } from '../support/json.ts';
import { type Env, type Spawned, spawnNode } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';
import { serverEnv, startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { openAccountCount } from './account-count.ts';
import { loadOn } from './load.ts';
import { accountsOf, expectVerified, RESUMED_MS, randomOf, withFolder, withServer } from './scene.ts';

const test = suite('kill -9 at the start');

const SEED = 20_260_201;

async function killed(spawned: Spawned): Promise<void> {
  spawned.child.kill('SIGKILL');
  await spawned.ended;
}

/** A start that is killed before it is through. */
async function killedAtStart(env: Env, afterMs: number): Promise<void> {
  const spawned = spawnNode(['dist/src/main.js'], env);
  await sleep(afterMs);
  await killed(spawned);
}

/** Asks again at once until it has come true. */
async function atOnce(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await isSo()) && performance.now() < deadline) await new Promise(setImmediate);
}

test('again and again while it starts, on a new folder: the demo account is made once', async () => {
  await withFolder(async (folder) => {
    const random = randomOf(SEED + 2);
    const env = serverEnv(folder, await freePort(), await freePort());
    for (let round = 0; round < 5; round += 1) await killedAtStart(env, 50 + random() * 700);
    const server = await startServer({ dataDir: folder });
    try {
      assert.is((await accountsOf(server)).length, 1);
      await charge(await merchant(server));
      await expectVerified(server);
    } finally {
      await server.stop();
    }
  });
});

test('while it makes the demo account: the next start leaves one that somebody can use', async () => {
  await withFolder(async (folder) => {
    const env = serverEnv(folder, await freePort(), await freePort());
    const spawned = spawnNode(['dist/src/main.js'], env);
    const accounts = await openAccountCount(folder);
    try {
      await atOnce(async () => (await accounts.now()) > 0 || spawned.child.exitCode !== null);
    } finally {
      await killed(spawned);
      await accounts.close();
    }
    const server = await startServer({ dataDir: folder });
    try {
      await until(() => server.stdout() !== '' || spawned.stdout() !== '', 2_000).catch(() => undefined);
      const shown = `${spawned.stdout()}${server.stdout()}`;
      const credentials = [...shown.matchAll(/curl -u '([^':]+):([^']+)'/g)];
      const balances = await Promise.all(
        credentials.map(async ([, clientId = '', clientSecret = '']) => {
          const headers = { authorization: basic(clientId, clientSecret) };
          const { status, body } = await fetchReply('GET', `${server.url}/balance`, null, headers);
          return status === 200 ? whole(body, 'balance') : 0;
        }),
      );
      assert.ok(
        balances.some((balance) => balance > 0),
        `nobody was told of a demo account with money: '${shown}'`,
      );
    } finally {
      await server.stop();
    }
  });
});

test('twice in quick succession while it starts, upon work that was left open', async () => {
  const random = randomOf(SEED + 3);
  const receiver = await startReceiver();
  try {
    await withServer({}, async (server) => {
      const load = await loadOn(server, receiver.url('/hook'), random);
      const stop = load.start(8);
      await sleep(400);
      await server.kill();
      await stop();
      for (let death = 0; death < 4; death += 1) await killedAtStart(server.env, 250 + random() * 500);
      await server.restart();
      const readyAt = performance.now();
      await load.settle([...load.plans]);
      await load.expectEnds(() => Math.max(1, RESUMED_MS - (performance.now() - readyAt)));
      await load.expectDelivered(() => receiver.requests, RESUMED_MS);
      load.expectEvents(receiver.requests);
      await load.expectBalance();
      assert.equal(load.unexpected, []);
      assert.is((await accountsOf(server)).length, 3);
      await expectVerified(server);
    });
  } finally {
    await receiver.close();
  }
});

test.run();
