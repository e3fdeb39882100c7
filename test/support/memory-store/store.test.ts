import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StoreUnavailable } from '../../../src/engine/store.ts';
import { appendAfter, chargeCreated, grow, headAfter, iso } from '../../store/contract/builders.ts';
import { storeContract } from '../../store/contract/contract.ts';
import { first, harnessOn, START, type StoreHarness, same } from '../../store/contract/harness.ts';
import { FaultPlan, type Faults } from './faults.ts';
import { MemoryState } from './state.ts';
import { MemoryStore } from './store.ts';

const silentAfterMs = 10_000;
async function startMemory(): Promise<StoreHarness> {
  const state = new MemoryState();
  return harnessOn(
    async (incarnation, now) => new MemoryStore({ state, incarnation, now, silentAfterMs }),
    async () => {},
  );
}

storeContract('memory', startMemory, { silentAfterMs });

const test = suite('memory: faults');

function faulty(faults: Faults, state = new MemoryState()): MemoryStore {
  return new MemoryStore({ state, incarnation: randomUUID(), now: () => START, silentAfterMs, faults });
}

async function isUnavailable(operation: Promise<unknown>): Promise<void> {
  const error = await operation.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, StoreUnavailable);
}

test('a failing method changes nothing, so many times', async () => {
  const plan = new FaultPlan();
  const store = faulty(plan);
  const account = randomUUID();
  const append = appendAfter(account, await store.journal.head(account), [chargeCreated(START)]);
  plan.fail('append', 2);
  await isUnavailable(store.journal.append(append));
  await isUnavailable(store.journal.append(append));
  assert.is((await store.journal.head(account)).seq, 0);
  assert.is((await store.journal.append(append)).outcome, 'appended');
});

test('a lost answer leaves the append stored, and its claims to be asked for', async () => {
  const plan = new FaultPlan();
  const store = faulty(plan);
  const account = randomUUID();
  const entry = chargeCreated(START, { timers: [{ name: 'EXPIRE', at: iso(START) }] });
  const append = appendAfter(account, await store.journal.head(account), [entry], { claimUntil: START });
  plan.loseAnswer('append');
  await isUnavailable(store.journal.append(append));
  same(await store.journal.head(account), headAfter(append));
  const again = await store.journal.append(append);
  assert.is(again.outcome === 'appended' && again.claims.length, 1);
});

test('an append is told to be stale once, and stores nothing', async () => {
  const plan = new FaultPlan();
  const store = faulty(plan);
  const account = randomUUID();
  const append = appendAfter(account, await store.journal.head(account), [chargeCreated(START)]);
  plan.stale();
  same(await store.journal.append(append), { outcome: 'stale' });
  assert.is(await store.journal.transaction(first(append.records).id), null);
  assert.is((await store.journal.append(append)).outcome, 'appended');
});

test('a delayed call answers later, others at once', async () => {
  const plan = new FaultPlan();
  const store = faulty(plan);
  plan.delay('after', 30);
  const order: string[] = [];
  const slow = store.accounts.after('', 1).then(() => order.push('slow'));
  await store.ping().then(() => order.push('quick'));
  await slow;
  same(order, ['quick', 'slow']);
});

test('a hanging call waits until it is released, before or after its effect', async () => {
  for (const moment of ['before', 'after'] as const) {
    const plan = new FaultPlan();
    const store = faulty(plan);
    const account = randomUUID();
    const append = appendAfter(account, await store.journal.head(account), [chargeCreated(START)]);
    const release = plan.hang('append', moment);
    const running = store.journal.append(append);
    assert.is((await store.journal.head(account)).seq, moment === 'before' ? 0 : 1);
    release();
    assert.is((await running).outcome, 'appended');
    assert.is((await store.journal.append(append)).outcome, 'appended');
  }
});

test('close waits for what hangs', async () => {
  const plan = new FaultPlan();
  const state = new MemoryState();
  const store = faulty(plan, state);
  const account = randomUUID();
  const append = appendAfter(account, await store.journal.head(account), [chargeCreated(START)]);
  const release = plan.hang('append');
  const running = store.journal.append(append);
  const closing = store.close();
  await isUnavailable(store.ping());
  release();
  await closing;
  assert.is((await running).outcome, 'appended');
  assert.is((await faulty({}, state).journal.head(account)).seq, 1);
});

test('hooks see the method and its arguments', async () => {
  const seen: string[] = [];
  const store = faulty({
    before: (method, args) => {
      seen.push(`before ${method} ${args.length}`);
      return undefined;
    },
    after: (method) => {
      seen.push(`after ${method}`);
    },
  });
  await grow(store, randomUUID(), [chargeCreated(START)]);
  same(seen, ['before head 1', 'after head', 'before append 1', 'after append']);
});

test.run();
