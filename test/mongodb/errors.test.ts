/** What a server says after a commit: what passes is tried again, and what doesn't concerns nobody else. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { type Claim, isOf } from '../../src/engine/store/due.ts';
import { itemOf, type Store, StoreUnavailable } from '../../src/engine/store.ts';
import type { MongoStore } from '../../src/store/mongo/store.ts';
import {
  appendAfter,
  cashoutCreated,
  chargeCreated,
  deliveryRecord,
  grow,
  settings,
} from '../store/contract/builders.ts';
import { first, same, transactionsOf } from '../store/contract/harness.ts';
import { expectRejection } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { sleep, until } from '../support/wait.ts';
import { type OwnDatabase, onDatabase, ownServer, UNCONFIRMED } from './own-server.ts';

const INTERRUPTED = 11_601;
/** The driver repeats a read once. */
const NETWORK_TIMEOUT = 89;
const URLS = ['https://example.com/hook'];
const LEASE_MS = 1_500;

const suite = fixtureSuite('errors of a server', async (defer) => ownServer(defer));
const { test } = suite;

/** An order to the bank that is claimed with its cashout. */
async function claimedOrder(store: Store, at: number): Promise<Claim> {
  const cashout = cashoutCreated(at, { orders: [{ kind: 'payout' }] });
  const { claims } = await grow(store, randomUUID(), [cashout], { claimUntil: at });
  return first(claims.filter(({ due }) => due.kind === 'bank'));
}

/** Deliveries that are claimed with their charges, of one account. */
async function claimedDeliveries(store: Store, at: number, count: number): Promise<Claim[]> {
  const charges = Array.from({ length: count }, () => chargeCreated(at, { urls: URLS }));
  const { claims } = await grow(store, randomUUID(), charges, { claimUntil: at });
  return claims;
}

/** How many numbers of its own a process is done with, as it told at a heartbeat. */
async function projectedOf(store: Store & { now(): number }, { db }: OwnDatabase): Promise<number> {
  await store.due.beat(store.now());
  return (await db.collection('processes').findOne({}))?.projected;
}

test('a claim whose end is answered with a passing error once is ended', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const claim = await claimedOrder(store, store.now());
    await database.fail({
      commands: ['update'],
      collection: 'transactions',
      times: 1,
      errorCode: INTERRUPTED,
    });
    same(await store.due.settle([{ claim, next: null }]), [true]);
    const stored = await database.db.collection('transactions').findOne({});
    same(stored?.orders, []);
  }));

test('a batch whose projection is answered with a passing error once is answered as ever', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    await database.fail({
      commands: ['insert'],
      collection: 'transactions',
      times: 1,
      errorCode: INTERRUPTED,
    });
    const { append } = await grow(store, randomUUID(), [chargeCreated(store.now())]);
    same(await store.journal.transaction(first(append.records).id), first(append.records));
    assert.is(await projectedOf(store, database), 1);
  }));

for (const point of ['failAllInserts', 'failAllUpdates'])
  test(`what passes is tried again where a server says it of one write alone (${point})`, (server) =>
    onDatabase(server, async (database) => {
      const store = await database.open('a');
      const claim = await claimedOrder(store, store.now());
      await database.failPoint(point, 2);
      const account = randomUUID();
      const { append } = await grow(store, account, [chargeCreated(store.now())]);
      same(await store.journal.batches(account, [1, 2]), [append.batch]);
      same(await store.due.settle([{ claim, next: null }]), [true]);
      assert.is(await projectedOf(store, database), 2);
    }));

test('an order that a settlement makes due is there once, where its answer was lost', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const { due } = await claimedOrder(store, store.now());
    await database.fail({
      commands: ['update'],
      collection: 'transactions',
      times: 1,
      writeConcernError: UNCONFIRMED,
    });
    same(await store.due.settle([{ claim: null, next: { ...due, at: store.now() + 60_000 } }]), [true]);
    const stored = await database.db.collection('transactions').findOne({});
    assert.is(stored?.orders.length, 2, 'the one before, and the new one');
  }));

test('a settlement that is turned down for good concerns no other, and its claim comes free by itself', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a', { leaseMs: LEASE_MS });
    const at = store.now();
    const [bad, good, hung] = await claimedDeliveries(store, at, 3);
    if (!bad || !good || !hung) throw new Error('three are due');
    await database.takeOnly('deliveries', { $and: [{ status: { $ne: 'dead' } }, { parked: null }] });
    const ended = (claim: Claim, status: 'dead' | 'delivered') => {
      if (claim.due.kind !== 'delivery') throw new Error('a delivery');
      const { account, transaction, delivery } = claim.due;
      return {
        claim,
        next: null,
        record: { ...deliveryRecord(account, transaction, at, delivery), status },
      };
    };
    const refused = store.due.settle([ended(bad, 'dead')]).then(
      () => false,
      () => true,
    );
    const settled = store.due.settle([ended(good, 'delivered')]);
    assert.ok(await refused, 'the caller hears of it');
    same(await settled, [true]);
    await expectRejection(store.due.park([hung]));
    const again = await comesFree(store, 2);
    same(transactionsOf(again).sort(), transactionsOf([bad, hung]).sort());
  }));

test('what was taken from behind its URL comes free by itself, where its taker was told of an error', (server) =>
  onDatabase(server, async (database) => {
    const [store, other] = [
      await database.open('a', { leaseMs: LEASE_MS }),
      await database.open('b', { leaseMs: LEASE_MS }),
    ];
    const [claim] = await claimedDeliveries(store, store.now(), 1);
    if (claim === undefined || !isOf(claim, 'delivery')) throw new Error('a delivery is due');
    const target = { account: claim.due.account, url: first(URLS) };
    await store.backlog.put([{ target, claims: [claim], lookAt: store.now() }]);
    await database.fail({ commands: ['find'], collection: 'targets', times: 2, errorCode: NETWORK_TIMEOUT });
    await expectRejection(store.backlog.take(target, store.now(), 10));
    // The one that took it lives on, and keeps what it has in hand.
    same(transactionsOf(await comesFree(other, 1, [store, other])), transactionsOf([claim]));
  }));

/** What becomes claimable of deliveries by itself, while processes live on. */
async function comesFree(
  store: Store & { now(): number },
  count: number,
  living = [store],
): Promise<Claim[]> {
  const free: Claim[] = [];
  await until(
    async () => {
      await Promise.all(living.map(({ due, now }) => due.beat(now())));
      free.push(...(await store.due.claim('delivery', store.now(), 10)));
      return free.length >= count;
    },
    LEASE_MS + 10_000,
    'the claims',
  );
  return free;
}

test('a group that is larger than a command in bytes, but not in characters, is committed', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const text = '漢'.repeat(20_000);
    // What the driver would take for a reference lies there twice: readable, and as it was.
    const metadata = { $ref: text };
    const charges = (): ReturnType<typeof chargeCreated>[] =>
      Array.from({ length: 14 }, () => {
        const entry = chargeCreated(store.now());
        const { snapshot } = entry;
        const context = { ...snapshot?.context, metadata };
        return { ...entry, snapshot: snapshot && { ...snapshot, context } } as typeof entry;
      });
    const accounts = Array.from({ length: 11 }, () => randomUUID());
    const head = await store.journal.head(first(accounts));
    const appends = accounts.map((account, index) =>
      appendAfter(account, head, index === 10 ? [chargeCreated(store.now())] : charges()),
    );
    const characters = appends.reduce((sum, { content }) => sum + content.length, 0);
    assert.ok(characters < 3.2e6, `${characters} characters`);
    const results = await Promise.allSettled(appends.map((append) => store.journal.append(append)));
    same(
      results.map((result) => (result.status === 'fulfilled' ? result.value.outcome : String(result.reason))),
      accounts.map(() => 'appended'),
    );
    same(await store.journal.batches(first(accounts), [1]), [first(appends).batch]);
  }));

test('what ops take off an item once is off it once, where the answer was lost', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const about = { account: 'a', transaction: null, delivery: null, url: null };
    const note = {
      kind: 'rejected',
      id: 'x',
      code: null,
      data: { count: 5 },
      what: '5',
      next: 'look',
    } as const;
    await store.attention.note([itemOf(note, new Date(store.now()).toISOString(), about, null)]);
    await database.fail({
      commands: ['update'],
      collection: 'attention',
      times: 1,
      writeConcernError: UNCONFIRMED,
    });
    await store.attention.discount(note, 3);
    same(await database.db.collection('attention').countDocuments({ 'data.count': 2 }), 1);
  }));

test('a delivery that ops started again was started, where the answer was lost', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const claim = first(await claimedDeliveries(store, store.now(), 1));
    if (claim.due.kind !== 'delivery') throw new Error('a delivery');
    const { account, transaction, delivery } = claim.due;
    const record = {
      ...deliveryRecord(account, transaction, store.now(), delivery),
      status: 'dead' as const,
    };
    await store.due.settle([{ claim, next: null, record }]);
    await database.fail({
      commands: ['update'],
      collection: 'deliveries',
      times: 1,
      writeConcernError: UNCONFIRMED,
    });
    const pending = { ...record, status: 'pending' as const };
    const again = { claim: null, next: { ...claim.due, at: store.now() }, record: pending };
    same(await store.due.settle([again]), [true]);
    same(await store.due.settle([again]), [false], 'it was started by another by now');
  }));

test('a batch that is never taken is its own account’s concern', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const [bad, good] = [randomUUID(), randomUUID()];
    const head = await store.journal.head(bad);
    await database.takeOnly('journal', { account: { $ne: bad } });
    const appends = [bad, good].map((account) => appendAfter(account, head, [chargeCreated(store.now())]));
    const results = await Promise.allSettled(appends.map((append) => store.journal.append(append)));
    same(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    );
    await store.due.beat(store.now());
    await until(async () => (await projectedOf(store, database)) === 2, 10_000, 'the numbers');
  }));

test('a heartbeat and the renewal of leases wait for no connection of the others', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a', {
      options: '&maxPoolSize=1&waitQueueTimeoutMS=300',
      leaseMs: 2_000,
    });
    const claims = await claimedDeliveries(store, store.now(), 2);
    await database.fail({ commands: ['find'], collection: 'transactions', times: 1, blockTimeMS: 2_500 });
    const slow = store.journal.transaction(randomUUID());
    for (let beat = 0; beat < 5; beat += 1) {
      await sleep(450);
      await store.due.beat(store.now());
    }
    await slow;
    same(await store.due.claim('delivery', store.now(), 10), [], 'they are in hand');
    same(await store.due.settle(claims.map((claim) => ({ claim, next: null }))), [true, true]);
  }));

const ACCOUNT = settings();

/** What is written once, and asked for again by its caller, by what the operator would call it. */
const ONCE: Readonly<Record<string, (store: MongoStore) => Promise<unknown>>> = {
  'an account’s settings': (store) => store.accounts.put({ ...ACCOUNT, version: 2 }),
  'a mark': (store) => store.marks.swapMark('m', null, 'one'),
  'a heartbeat': (store) => store.due.beat(store.now()),
  'what is known of a journal': (store) => store.journals.keep(new Map([['x', { seq: 1, hash: 'y' }]])),
};

for (const [what, write] of Object.entries(ONCE))
  test(`${what}: where a server says of the write alone that it failed, its caller is told so`, (server) =>
    onDatabase(server, async (database) => {
      const store = await database.open('a');
      await store.accounts.put(ACCOUNT);
      await database.failPoint('failAllUpdates', 1);
      await expectRejection(write(store), StoreUnavailable);
      assert.is.not(await write(store), false, 'it was not written');
    }));

test('an item is forgotten, where a server says of that alone once that it failed', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const about = { account: 'a', transaction: null, delivery: null, url: null };
    const note = { kind: 'stuck', id: 'x', code: null, data: null, what: 'it hangs', next: 'look' } as const;
    await store.attention.note([itemOf(note, new Date(store.now()).toISOString(), about, null)]);
    await database.failPoint('failAllRemoves', 1);
    await store.attention.withdraw([note]);
    same(await store.attention.page({}, null, 9), []);
  }));

suite.run();
