/** The database's clock is set while several processes have claims: what is in hand stays with who has it. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { BankOrder } from '../../src/engine/journal.ts';
import { type Claim, dueAgain } from '../../src/engine/store/due.ts';
import { type Store, StoreUnavailable } from '../../src/engine/store.ts';
import { cashoutCreated, chargeCreated, grow } from '../store/contract/builders.ts';
import { first, same } from '../store/contract/harness.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { sleep, until } from '../support/wait.ts';
import { onDatabase, ownServer } from './own-server.ts';
import { collection } from './stage.ts';

const HOUR_MS = 3_600_000;
const LEASE_MS = 2_000;
const URLS = ['https://example.com/hook'];

const suite = fixtureSuite('a clock that is set', async (defer) => ownServer(defer));
const { test } = suite;

/** An order to the bank and a delivery that are claimed with their transactions. */
async function inHand(store: Store, at: number): Promise<Claim[]> {
  const cashout = cashoutCreated(at, { orders: [{ kind: 'payout' }] });
  const charge = chargeCreated(at, { urls: URLS });
  const { claims } = await grow(store, randomUUID(), [cashout, charge], { claimUntil: at });
  return claims.filter(({ due }) => due.kind !== 'timer');
}

for (const [name, ms] of [
  ['back by an hour', -HOUR_MS],
  ['forward by an hour', HOUR_MS],
] as const)
  test(`${name}: no other process takes what one has in hand`, (server) =>
    onDatabase(server, async (database) => {
      let offset = 0;
      const now = (): number => Date.now() + offset;
      const [owner, other] = [
        await database.open('owner', { now, leaseMs: LEASE_MS }),
        await database.open('other', { now, leaseMs: LEASE_MS }),
      ];
      for (const store of [owner, other]) await store.due.beat(now());
      const claims = await inHand(owner, now());
      assert.is(claims.length, 2);
      const taken = async (): Promise<Claim[]> => [
        ...(await other.due.claim('bank', now(), 10)),
        ...(await other.due.claim('delivery', now(), 10)),
      ];
      same(await taken(), []);
      offset = ms;
      // Each follows the clock at a look of its own; the other one is first.
      await other.due.rewind(now());
      for (const end = performance.now() + 2 * LEASE_MS; performance.now() < end; await sleep(100)) {
        same(await taken(), [], 'they are in hand');
        await Promise.all([owner, other].map((store) => store.due.beat(now())));
      }
      same(await owner.due.holds(claims), [true, true]);
      same(await owner.due.settle(claims.map((claim) => ({ claim, next: null }))), [true, true]);
    }));

test('back by an hour: what a process had in hand that dies then comes free by itself', (server) =>
  onDatabase(server, async (database) => {
    let offset = 0;
    const now = (): number => Date.now() + offset;
    const dead = await database.open('dead', { now, leaseMs: LEASE_MS });
    const heir = await database.open('heir', { now, leaseMs: LEASE_MS });
    for (const store of [dead, heir]) await store.due.beat(now());
    const [claim] = await inHand(dead, now());
    offset = -HOUR_MS;
    await heir.due.rewind(now());
    let taken: Claim[] = [];
    for (const end = performance.now() + 3 * LEASE_MS; performance.now() < end && taken.length === 0; ) {
      taken = await heir.due.claim('bank', now(), 10);
      await heir.due.beat(now());
      await sleep(100);
    }
    assert.is(taken.length, 1);
    // Whoever was taken for dead by mistake finds that out.
    assert.ok(claim !== undefined);
    same(await dead.due.holds([claim]), [false]);
  }));

test('back by an hour: what fails then is not made up for with the time of then', (server) =>
  onDatabase(server, async (database) => {
    let offset = 0;
    const now = (): number => Date.now() + offset;
    const store = await database.open('a', { now });
    const timers = [{ name: 'EXPIRE', at: new Date(now() + HOUR_MS).toISOString() }];
    await grow(store, randomUUID(), [chargeCreated(now(), { timers, urls: ['https://shop.example/hook'] })]);
    offset = -HOUR_MS;
    const errorCode = 11_601;
    for (const collection of ['deliveries', 'transactions', 'targets', 'processes']) {
      await database.fail({ commands: ['update'], collection, times: 1, errorCode });
      const outcome = await store.due.rewind(now()).then(
        () => 'done',
        (error: unknown) => error,
      );
      assert.instance(outcome, StoreUnavailable, collection);
      // The statements beside it are under way still, and are not to meet the next error.
      await sleep(500);
    }
    assert.is(await store.due.rewind(now()), 0, 'whoever asks again does so with the time of now');
  }));

test('what another took over is not in hand, though no time has passed by the clock of its former owner', (server) =>
  onDatabase(server, async (database) => {
    const other = await database.open('b', { leaseMs: LEASE_MS });
    let stoodStill: number | null = null;
    const store = await database.open('a', { leaseMs: LEASE_MS, now: () => stoodStill ?? other.now() });
    const claim = (await inHand(store, store.now())).filter(({ due }) => due.kind === 'bank');
    stoodStill = store.now();
    let taken: Claim[] = [];
    await until(
      async () => {
        await other.due.beat(other.now());
        taken = await other.due.claim('bank', other.now(), 10);
        return taken.length > 0;
      },
      LEASE_MS + 10_000,
      'the claim',
    );
    same(await store.due.holds(claim), [false]);
    same(await other.due.holds(taken), [true]);
  }));

/** How many orders to the bank are due just before a time, and at it. */
async function dueAt({ due }: Store, at: number): Promise<number[]> {
  return [(await due.claim('bank', at - 1, 10)).length, (await due.claim('bank', at, 10)).length];
}

const DAY_MS = 24 * HOUR_MS;

test('what the bank does in a day stays so where the clock is set back, and follows it', (server) =>
  onDatabase(server, async (database) => {
    let offset = 0;
    const startedAt = Date.now();
    const now = (): number => startedAt + offset;
    const store = await database.open('a', { now });
    const orders: BankOrder[] = [{ kind: 'wake', step: 0, at: new Date(now() + DAY_MS).toISOString() }];
    await grow(store, randomUUID(), [chargeCreated(now(), { orders })]);
    offset = -2_000;
    assert.is(await store.due.rewind(now()), 1);
    assert.is(await store.due.rewind(now()), 0);
    same(await dueAt(store, now() + DAY_MS), [0, 1]);
  }));

test('an order that is put off is as far ahead as the clock that it was put off by says', (server) =>
  onDatabase(server, async (database) => {
    let offset = HOUR_MS;
    const startedAt = Date.now();
    const now = (): number => startedAt + offset;
    const store = await database.open('a', { now });
    await grow(store, randomUUID(), [cashoutCreated(now(), { orders: [{ kind: 'payout' }] })]);
    const claim = first(await store.due.claim('bank', now(), 10));
    const tenMinutes = 600_000;
    const next = dueAgain(claim.due, now() + tenMinutes, 1);
    await store.due.settle([{ claim, next, clock: now() }]);
    offset = 0;
    assert.is(await store.due.rewind(now()), 1);
    same(await dueAt(store, now() + tenMinutes), [0, 1]);
  }));

test('an order that a former build has put off, or made, is due now where it lies far ahead', (server) =>
  onDatabase(server, async (database) => {
    const store = await database.open('a');
    const orders: BankOrder[] = [{ kind: 'wake', step: 0, at: new Date(store.now() + DAY_MS).toISOString() }];
    const charges = [chargeCreated(store.now(), { orders }), chargeCreated(store.now() + 1, { orders })];
    await grow(store, randomUUID(), charges);
    const transactions = collection(database.db, 'transactions');
    const [put, made] = charges.map(({ transaction }) => ({ _id: transaction }));
    const due = new Date(store.now() + 2 * DAY_MS);
    await transactions.updateOne({ ...put }, { $set: { 'orders.0.due': due } });
    await transactions.updateOne({ ...made }, { $unset: { 'orders.0.reckoned': '' } });
    assert.is(await store.due.rewind(store.now()), 2);
    assert.is((await store.due.claim('bank', store.now(), 10)).length, 2);
  }));

suite.run();
