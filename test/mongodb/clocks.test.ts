/** Two server processes whose clocks are ten seconds apart, and both wrong: what is due goes by the database's. */
import type { Db, Document } from 'mongodb';
import * as assert from 'uvu/assert';
import { expectVerified, randomOf } from '../faults/scene.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, deliveries, reaches, tell, transfer } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { eachOf, sleep, until } from '../support/wait.ts';
import { elsewhere, flawsOf, held, journalOf, logLines, startOn, withDb } from './stage.ts';

const SEED = 20_260_306;
const AHEAD_MS = 7_000;
const BEHIND_MS = -3_000;
/** Looked for every 200 ms; measured by asking every 50; the rest is for a busy machine. */
const MOST_LATE_MS = 1_500;
/** What a measurement of a clock may be off by on a busy machine. */
const SAME_MS = 1_000;
/** Longer than a silence after which claims are taken over, shorter than an attempt may take. */
const SLOW_RECEIVER_MS = 7_000;

/** Sets a process's clock, and its threads', off by an environment variable. */
const PRELOAD = `
const off = Number(process.env.TEST_CLOCK_OFF_MS);
const Right = Date;
globalThis.Date = class Date extends Right {
  constructor(...args) {
    if (args.length === 0) super(Right.now() + off);
    else super(...args);
  }
  static now() {
    return Right.now() + off;
  }
};`;

function startOff(uri: string, offMs: number): Promise<Server> {
  const preload = `data:text/javascript,${encodeURIComponent(PRELOAD)}`;
  const entry = ['--import', preload, 'dist/src/main.js'];
  return startOn(uri, { TEST_CLOCK_OFF_MS: String(offMs), LOG_LEVEL: 'info' }, { entry });
}

interface Scene {
  ahead: Server;
  behind: Server;
  receiver: Receiver;
  db: Db;
}

async function onScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const [database, receiver] = await Promise.all([freshDatabase(), startReceiver()]);
  const ahead = await startOff(database.uri, AHEAD_MS);
  const behind = await startOff(database.uri, BEHIND_MS);
  try {
    await withDb(database.uri, (db) => body({ ahead, behind, receiver, db }));
    await expectVerified(ahead);
  } finally {
    await Promise.all([ahead.stop(), behind.stop(), receiver.close()]);
    await database.drop();
  }
}

const suite = fixtureSuite<Scene>('clocks of servers', (defer) => held(defer, onScene));
const { test } = suite;

/** How far the database's clock is from this process's, ms, and by how much that may be off. */
async function databaseOffset(db: Db): Promise<{ offset: number; uncertain: number }> {
  const before = Date.now();
  const { localTime } = await db.command({ hello: 1 });
  const after = Date.now();
  // Both clocks leave out parts of a millisecond.
  return { offset: localTime.getTime() - (before + after) / 2, uncertain: (after - before) / 2 + 1 };
}

/** When a transaction was first seen with a status, at the latest, by the database's clock, ms since 1970. */
async function seenAt(db: Db, id: string, status: string, timeoutMs: number): Promise<number> {
  const { offset, uncertain } = await databaseOffset(db);
  const isSo = async () =>
    (await db.collection<Document & { _id: string }>('transactions').findOne({ _id: id }))?.status === status;
  await until(isSo, timeoutMs, `${id} ${status}`);
  return Date.now() + offset + uncertain;
}

/** The server's own clock when it began to serve, as its log tells. */
function clockOf(server: Server): number {
  const line = logLines(server.stderr()).find(({ msg }) => msg === 'serving');
  return Date.parse(String(line?.time));
}

test('the clocks are as wrong as they should be, and answers go by the database', async ({
  ahead,
  behind,
  db,
}) => {
  const client = await merchant(ahead);
  const { offset } = await databaseOffset(db);
  const [early = 0, late = 0] = [ahead, behind].map(clockOf);
  // They were started one after the other.
  assert.ok(early - late > AHEAD_MS - BEHIND_MS - 8_000, `the clocks are ${early - late} ms apart`);
  for (const server of [ahead, behind]) {
    const created = await charge(elsewhere(server, client));
    const off = Date.parse(text(created, 'createdAt')) - (Date.now() + offset);
    assert.ok(Math.abs(off) < 1_000, `created ${off} ms off`);
  }
});

test('no charge expires before its time, nor much later, whoever created it', async ({
  ahead,
  behind,
  db,
}) => {
  const client = await merchant(ahead, ['--expires-in', '2']);
  const random = randomOf(SEED);
  const lateMs: number[] = [];
  const all = Array.from({ length: 24 }, (_, n) => elsewhere(n % 2 === 0 ? ahead : behind, client));
  await eachOf(all, all.length, async (at) => {
    await sleep(random() * 1_500);
    const created = await charge(at);
    const expiresAt = Date.parse(text(created, 'expiresAt'));
    const seen = await seenAt(db, text(created, 'id'), 'expired', 8_000);
    lateMs.push(seen - expiresAt);
    // What one member shows already, a majority may not hold yet, and servers answer by the majority.
    const after = await reaches(at, 'pix-in', text(created, 'id'), 'expired', 5_000);
    assert.ok(Date.parse(text(after, 'updatedAt')) >= expiresAt, `${text(after, 'updatedAt')} is early`);
  });
  lateMs.sort((a, b) => a - b);
  console.log(
    `${lateMs.length} charges seen expired ${Math.round(lateMs[0] ?? 0)} to ${Math.round(lateMs.at(-1) ?? 0)} ms after their time`,
  );
  assert.ok((lateMs[0] ?? 0) >= 0, `${lateMs[0]} ms: too early`);
  assert.ok((lateMs.at(-1) ?? 0) <= MOST_LATE_MS, `${lateMs.at(-1)} ms: too late`);
  assert.equal(flawsOf(await journalOf(db, client.accountId)), []);
});

test('in turns and at the same moment, times of an account’s entries never go back', async ({
  ahead,
  behind,
  receiver,
  db,
}) => {
  const client = await merchant(ahead, ['--balance', '10000000', '--webhook-url', receiver.url()]);
  const doors = [ahead, behind].map((server) => elsewhere(server, client));
  for (let round = 0; round < 15; round += 1) {
    const at = doors[round % 2] as Merchant;
    const id = text(await charge(at), 'id');
    const paid = await tell(doors[(round + 1) % 2] as Merchant, id, 'PAY');
    assert.is(paid.status, 200, paid.text);
    await Promise.all(doors.flatMap((door) => [transfer(door, 1_001), transfer(door, 1_001)]));
  }
  const journal = await journalOf(db, client.accountId);
  assert.equal(flawsOf(journal), []);
  const { offset } = await databaseOffset(db);
  const newest = journal.at(-1)?.at.getTime() - (Date.now() + offset);
  assert.ok(newest < 1_000, `the last entry is ${newest} ms ahead of the database`);
});

test('attempts at webhooks are dated and signed by the database, whoever makes them', async ({
  ahead,
  behind,
  receiver,
  db,
}) => {
  receiver.answer('/dated', (nth) => ({ status: nth <= 2 ? 500 : 200 }));
  const client = await merchant(ahead, ['--webhook-url', receiver.url('/dated')]);
  for (const server of [ahead, behind]) {
    const created = await charge(elsewhere(server, client));
    const isOver = async () =>
      text((await deliveries(client, text(created, 'id')))[0] ?? {}, 'status') === 'delivered';
    await until(isOver, 15_000, 'the delivery');
    const { offset, uncertain } = await databaseOffset(db);
    const latest = Date.now() + offset + uncertain + SAME_MS;
    const [delivery] = await deliveries(client, text(created, 'id'));
    const dated = list(delivery ?? {}, 'attempts').map((attempt) => Date.parse(text(attempt, 'at')));
    const id = text(created, 'id');
    const sent = receiver.at('/dated').filter(({ headers }) => headers['x-transaction-id'] === id);
    const signed = sent.map(({ headers }) => Number(headers['webhook-timestamp']) * 1_000);
    assert.ok(dated.length > 0 && signed.length > 0);
    // A signature's time is in whole seconds.
    const earliest = Date.parse(text(created, 'createdAt')) - SAME_MS - 1_000;
    for (const at of [...dated, ...signed]) {
      assert.ok(at >= earliest, `${new Date(at).toISOString()} is early`);
      assert.ok(at <= latest, `${new Date(at).toISOString()} is late`);
    }
  }
});

function timesOf(received: readonly Received[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { headers } of received) {
    const key = String(headers['idempotency-key']);
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  return times;
}

test('what a living process has claimed is not taken from it: each webhook goes out once', async ({
  ahead,
  behind,
  receiver,
  db,
}) => {
  receiver.answer('/slow', () => ({ delayMs: SLOW_RECEIVER_MS }));
  const [slow, quick] = await Promise.all(
    ['/slow', '/quick'].map((path) => merchant(ahead, ['--webhook-url', receiver.url(path)])),
  );
  const doors = (client: Merchant | undefined): Merchant[] =>
    [ahead, behind].map((server) => elsewhere(server, client as Merchant));
  await Promise.all(doors(slow).flatMap((door) => [charge(door), charge(door)]));
  for (let n = 0; n < 20; n += 1) await Promise.all(doors(quick).map((door) => charge(door, 10_001)));
  const events = 4 + 2 * 2 * 20;
  const own = { account: { $in: [slow?.accountId, quick?.accountId] }, status: 'delivered' };
  const isOver = async () => (await db.collection('deliveries').countDocuments(own)) === events;
  await until(isOver, SLOW_RECEIVER_MS + 8_000, 'the end of all deliveries');
  const received = [...receiver.at('/slow'), ...receiver.at('/quick')];
  const times = timesOf(received);
  console.log(`${times.size} events, ${received.length} requests`);
  assert.is(times.size, events);
  assert.equal([...new Set(times.values())], [1]);
});

suite.run();
