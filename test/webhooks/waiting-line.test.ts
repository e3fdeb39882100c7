/** What is to wait behind a target while the store is away, in simulated time. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../scripts/simulation/random.ts';
import { World } from '../../scripts/simulation/world.ts';
import { Room } from '../../src/engine/claims.ts';
import { pause } from '../../src/waiting.ts';
import { TargetState, Targets } from '../../src/webhooks/targets.ts';
import { WaitingLine } from '../../src/webhooks/waiting-line.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, START } from '../store/contract/harness.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('the waiting line');

const TARGET = { account: 'one', url: 'https://hangs.example/hook' };

test('what can not be put behind its target stays in line until the store takes it', async () => {
  const world = new World(new Random(1), START);
  const plan = new FaultPlan();
  const state = new MemoryState();
  const now = (): number => world.now;
  const store = new MemoryStore({ state, incarnation: 'a', now, silentAfterMs: 10_000, faults: plan });
  await grow(store, TARGET.account, [chargeCreated(START, { urls: [TARGET.url] })]);
  const claim = first(await store.due.claim('delivery', START, 1));
  const giveBack = world.install();
  try {
    const troubles: unknown[] = [];
    const room = new Room(10);
    room.occupy(1);
    const line = new WaitingLine({
      backlog: store.backlog,
      targets: new Targets(now),
      room,
      attention: { note: async () => {}, withdraw: async () => {} },
      now,
      start: async () => {},
      onTrouble: (error) => troubles.push(error),
    });
    const target = new TargetState(TARGET, now);
    target.choked();
    // More often than one write is tried again.
    plan.fail('put behind', 12);
    line.put(target, claim);
    for (let turns = 0; (await world.turn()) && turns < 1_000; turns++);
    assert.is(state.backlog.total(), 1);
    assert.is(troubles.length, 1);
    assert.is(room.free, 10);
  } finally {
    giveBack();
  }
});

test('whoever waits until what was in line is put behind its target waits for nothing that came later', async () => {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const charges = Array.from({ length: 100 }, () => chargeCreated(START, { urls: [TARGET.url] }));
  await grow(store, TARGET.account, charges);
  const claims = await store.due.claim('delivery', START, charges.length);
  const giveBack = world.install();
  try {
    const slow = Object.assign(Object.create(store.backlog), {
      put: async (waits: Parameters<typeof store.backlog.put>[0]): Promise<number[]> => {
        await pause(20);
        return store.backlog.put(waits);
      },
    });
    const line = new WaitingLine({
      backlog: slow,
      targets: new Targets(now),
      room: new Room(charges.length),
      attention: { note: async () => {}, withdraw: async () => {} },
      now,
      start: async () => {},
      onTrouble: (error) => assert.unreachable(String(error)),
    });
    const target = new TargetState(TARGET, now);
    target.choked();
    let putAt = 0;
    const flow = async (): Promise<void> => {
      for (const [index, claim] of claims.entries()) {
        line.put(target, claim);
        if (index === 10) void line.allPut().then(() => (putAt = world.now));
        await pause(5);
      }
    };
    void flow();
    while (await world.turn());
    assert.is(await store.backlog.total(), charges.length);
    // In line 50 ms after the first: the write under way, and its own.
    assert.ok(putAt > 0 && putAt - START <= 50 + 2 * 20, `${putAt - START} ms`);
  } finally {
    giveBack();
  }
});

test.run();
