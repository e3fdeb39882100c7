/** Commands from a machine that is far from the database, beside a server that is near: neither loses the other's work. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { command, including } from '../support/wire.ts';
import { onProxiedDatabase, type ProxiedDatabase, startOn, withDb } from './stage.ts';

const test = suite('far from mongodb');
const FAR_MS = 100;
const TOLD_MS = 20_000;

/** A server near the database, and how a command is given from afar. */
async function onScene(body: (scene: ProxiedDatabase & { server: Server }) => Promise<void>): Promise<void> {
  await onProxiedDatabase(async (database) => {
    const server = await startOn(database.direct);
    try {
      await body({ ...database, server });
    } finally {
      await server.stop();
    }
  });
}

test('what a command writes in several steps is told of, whoever looks in between', async () => {
  await onScene(async ({ server, proxy, receiver, uri }) => {
    const client = await merchant(server, ['--webhook-url', receiver.url('/hook')]);
    const ids: string[] = [];
    while (ids.length < 6) ids.push(text(await charge(client, 10_000), 'id'));
    proxy.latency(FAR_MS);
    for (const id of ids) await cliJson(server, ['send', id, 'PAY'], { MONGODB_URI: uri });
    const paid = (): unknown[] =>
      receiver.requests.filter(({ headers }) => headers['x-event'] === 'pix-in.paid');
    await until(() => paid().length >= ids.length, TOLD_MS, 'a webhook for each');
    assert.is(paid().length, ids.length);
    await expectVerified(server);
  });
});

test('what two try again at once, from two machines, goes out once', async () => {
  await onScene(async ({ server, proxy, receiver, uri, direct }) => {
    const COUNT = 100;
    let isBack = false;
    receiver.answer('/hook', () => ({ status: isBack ? 200 : 404 }));
    const client = await merchant(server, ['--webhook-url', receiver.url('/hook')]);
    await Promise.all(Array.from({ length: COUNT }, () => charge(client, 10_000)));
    await withDb(direct, async (db) => {
      const rejected = (): Promise<number> =>
        db.collection('deliveries').countDocuments({ status: 'rejected' });
      await until(async () => (await rejected()) === COUNT, TOLD_MS, 'all are rejected');
      [isBack, receiver.requests.length] = [true, 0];
      proxy.latency(FAR_MS / 5);
      const retry = ['deliveries', 'retry', '--url', receiver.url('/hook')];
      const far = cliJson(server, [...retry, '--by', 'Far'], { MONGODB_URI: uri });
      await sleep(600);
      const both = await Promise.all([far, cliJson(server, [...retry, '--by', 'Near'])]);
      await until(() => receiver.requests.length >= COUNT, TOLD_MS, 'all come');
      await sleep(2_000);
      assert.is(receiver.requests.length, COUNT, 'each once');
      const told = both.flatMap((each) => list(each, 'retried'));
      assert.is(new Set(told).size + told.length, 2 * COUNT, 'each is told of once');
      assert.is(
        await db.collection('deliveries').countDocuments({ status: 'delivered', attempts: { $size: 2 } }),
        COUNT,
      );
    });
    assert.equal(list(await cliJson(server, ['attention', '--kind', 'rejected']), 'items'), []);
  });
});

test('a dead delivery stays on the list while its own end can’t be written', async () => {
  await onProxiedDatabase(async ({ proxy, receiver, uri, direct }) => {
    const server = await startOn(uri);
    try {
      receiver.answer('/hook', () => ({ status: 500 }));
      const client = await merchant(server, ['--webhook-url', receiver.url('/hook')]);
      const [isEnd, saysDead] = [command('update', 'deliveries'), including('dead')];
      const trap = proxy.cutBefore((message) => isEnd(message) && saysDead(message), 1_000);
      await charge(client, 10_000);
      await until(() => trap.cuts > 0, 40_000, 'the delivery dies');
      await withDb(direct, async (db) => {
        const items = (): Promise<number> => db.collection('attention').countDocuments({ kind: 'dead' });
        // The review of what is listed comes every five seconds.
        await sleep(7_000);
        assert.is(await items(), 1, 'while it can’t be written');
        trap.disarm();
        await until(
          async () => (await db.collection('deliveries').countDocuments({ status: 'dead' })) === 1,
          TOLD_MS,
        );
        assert.is(await items(), 1);
      });
      const [item = null] = list(await cliJson(server, ['attention', '--kind', 'dead']), 'items');
      assert.is(at(item, 'code'), 'DELIVERY_DEAD');
    } finally {
      await server.stop();
    }
  });
});

test.run();
