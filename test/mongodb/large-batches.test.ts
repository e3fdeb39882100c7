/** What comes at once for one account, whose webhook URLs are as many and as long as they may be: all of it is done. */
import { MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import { callBack } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, newEndToEndId, transfer } from '../support/flows.ts';
import { type JsonObject, list, text, whole } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { callbackSecret } from '../support/signature.ts';
import { startOn } from './stage.ts';

interface Scene {
  server: Server;
  client: Merchant;
  /** How many batches the account's journal has, and the largest one's bytes. */
  journal(): Promise<{ count: number; largest: number }>;
}

const { test, run } = fixtureSuite<Scene>('large batches', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  const database = await freshDatabase();
  defer(() => database.drop());
  const server = await startOn(database.uri, { BANK_CALLBACK_SECRET: callbackSecret });
  defer(() => server.stop());
  const mongo = await new MongoClient(database.uri).connect();
  defer(() => mongo.close());
  const urls = Array.from({ length: 10 }, (_, n) => [
    '--webhook-url',
    receiver.url(`/${n}`.padEnd(2_000, 'x')),
  ]);
  const client = await merchant(server, ['--balance', '5000000', ...urls.flat()]);
  const journal = async () => {
    const $group = { _id: null, count: { $sum: 1 }, largest: { $max: { $bsonSize: '$$ROOT' } } };
    const stages = [{ $match: { account: client.accountId } }, { $group }];
    const [found] = await mongo.db().collection('journal').aggregate(stages).toArray();
    return found as { count: number; largest: number };
  };
  return { server, client, journal };
});

const COUNT = 250;

/** Tells the bank's messages in one callback; how often each result comes. */
async function tellAll(server: Server, messages: readonly JsonObject[]): Promise<Record<string, number>> {
  const reply = await callBack(server.root, messages);
  assert.is(reply.status, 200);
  const results: Record<string, number> = {};
  for (const each of list(reply.body)) {
    const result = text(each, 'result');
    results[result] = (results[result] ?? 0) + 1;
  }
  return results;
}

test('charges that come at once are all created, and payments of one callback all booked', async ({
  server,
  client,
  journal,
}) => {
  const charges = await Promise.all(Array.from({ length: COUNT }, () => charge(client, 10_000)));
  const before = await client.balance();
  const data = () => ({ endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() });
  const messages = charges.map((each) => {
    const transactionId = text(each, 'id');
    return { id: `pay ${transactionId}`, transactionId, type: 'PAY', data: data() };
  });
  assert.equal(await tellAll(server, messages), { applied: COUNT });
  const net = charges.reduce<number>((sum, each) => sum + whole(each, 'fee.netAmount'), 0);
  assert.is(await client.balance(), before + net);
  assert.ok((await journal()).largest < 2_100_000);
});

test('results that come before their starts, with two events each, are all booked', async ({
  server,
  client,
  journal,
}) => {
  const ids: string[] = [];
  while (ids.length < 100) {
    const some = await Promise.all(Array.from({ length: 20 }, () => transfer(client, 1_007)));
    ids.push(...some.map((each) => text(each, 'id')));
  }
  const { count } = await journal();
  const messages = ids.map((transactionId) => {
    const data = { endToEndId: newEndToEndId(), paidAt: new Date().toISOString() };
    return { id: `settle ${transactionId}`, transactionId, type: 'SETTLE', data };
  });
  assert.equal(await tellAll(server, messages), { applied: 100 });
  assert.ok((await journal()).count - count >= 3, 'they need more batches than one');
  assert.equal(list(await cliJson(server, ['attention']), 'items'), []);
});

run();
