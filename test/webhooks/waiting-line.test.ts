/** What is to wait behind a target while the store is away, in simulated time. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../scripts/simulation/random.ts';
import { World } from '../../scripts/simulation/world.ts';
import { Room } from '../../src/engine/claims/room.ts';
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

/** Puts as many behind a target as are a case where it hangs, and lets them go; the items, with how many waited then. */
async function itemsOf(
  before: (target: TargetState, pass: (ms: number) => Promise<void>) => Promise<void>,
  after: (target: TargetState) => void,
): Promise<string[]> {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const charges = Array.from({ length: 1_200 }, () => chargeCreated(START, { urls: [TARGET.url] }));
  await grow(store, TARGET.account, charges);
  const claims = await store.due.claim('delivery', START, charges.length);
  const giveBack = world.install();
  const told: string[] = [];
  const tell = async (what: string): Promise<void> => {
    told.push(`${what} at ${await store.backlog.total()}`);
  };
  try {
    const targets = new Targets(now);
    const target = targets.of(TARGET.account, TARGET.url);
    const line = new WaitingLine({
      ...{ backlog: store.backlog, targets, room: new Room(charges.length), now, start: async () => {} },
      attention: { note: () => tell('noted'), withdraw: () => tell('withdrawn') },
      onTrouble: (error) => assert.unreachable(String(error)),
    });
    const flow = async (): Promise<void> => {
      await before(target, pause);
      for (const claim of claims) line.put(target, claim);
      await line.allPut();
      after(target);
      await line.lookNow(target);
    };
    void flow();
    while (await world.turn());
    assert.is(await store.backlog.total(), 0);
    return told;
  } finally {
    giveBack();
  }
}

test('many that wait behind a target that answers are nobody’s case', async () => {
  const told = await itemsOf(
    async (target) => {
      target.attempted(null);
      target.choked();
    },
    () => {},
  );
  assert.equal(
    told.filter((each) => each.startsWith('noted')),
    [],
  );
});

test('behind one whose attempts time out they are, until one is answered', async () => {
  const told = await itemsOf(
    async (target, pass) => {
      target.attempted('TIMEOUT');
      await pass(1_000);
      target.attempted('TIMEOUT');
    },
    (target) => target.attempted(null),
  );
  assert.equal(told, ['noted at 1200', 'withdrawn at 1199']);
});

test('that it can not be noted holds up nothing that goes behind a target, and it is noted with the next put', async () => {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const other = { account: TARGET.account, url: 'https://other.example/hook' };
  const charges = Array.from({ length: 1_203 }, () => chargeCreated(START, { urls: [TARGET.url] }));
  await grow(store, TARGET.account, charges);
  const claims = await store.due.claim('delivery', START, charges.length);
  const giveBack = world.install();
  const [troubles, noted]: [unknown[], number[]] = [[], []];
  try {
    const targets = new Targets(now);
    const room = new Room(charges.length);
    room.occupy(charges.length);
    let fails = true;
    const line = new WaitingLine({
      ...{ backlog: store.backlog, targets, room, now, start: async () => {} },
      attention: {
        note: async () => {
          if (fails) throw new Error('the store is away');
          noted.push(await store.backlog.total());
        },
        withdraw: async () => {},
      },
      onTrouble: (error) => troubles.push(error),
    });
    const [hanging, fair] = [TARGET, other].map(({ account, url }) => targets.of(account, url));
    if (hanging === undefined || fair === undefined) throw new Error('no targets');
    const flow = async (): Promise<void> => {
      hanging.attempted('TIMEOUT');
      await pause(1_000);
      hanging.attempted('TIMEOUT');
      for (const claim of claims.slice(0, 1_201)) line.put(hanging, claim);
      fair.choked();
      for (const claim of claims.slice(1_201, 1_202)) line.put(fair, claim);
      await line.allPut();
      assert.is(world.now - START, 1_000);
      assert.is(await store.backlog.total(), 1_202);
      fails = false;
      for (const claim of claims.slice(1_202)) line.put(hanging, claim);
      await line.close();
    };
    const done = flow();
    while (await world.turn());
    await done;
    assert.equal([troubles.length > 0, noted, room.free], [true, [1_203], charges.length]);
  } finally {
    giveBack();
  }
});

test('however many looks are asked for at once, no more targets are looked after than may be', async () => {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const giveBack = world.install();
  let [claimed, taken] = [0, 0];
  try {
    const many = Object.assign(Object.create(store.backlog), {
      claimLooks: async (_now: number, limit: number): Promise<unknown[]> => {
        await pause(20);
        return Array.from({ length: limit }, () => ({ ...TARGET, url: `${TARGET.url}/${claimed++}` }));
      },
      // None of them ends.
      take: () => {
        taken += 1;
        return new Promise(() => {});
      },
    });
    const line = new WaitingLine({
      ...{ backlog: many, targets: new Targets(now), room: new Room(10_000), now, start: async () => {} },
      attention: { note: async () => {}, withdraw: async () => {} },
      onTrouble: (error) => assert.unreachable(String(error)),
    });
    for (let each = 0; each < 5; each++) void line.look();
    void pause(10).then(() => line.look());
    while (await world.turn());
    assert.equal([claimed, taken], [192, 192]);
  } finally {
    giveBack();
  }
});

test('looks that take so long that they are due again are in no other’s way', async () => {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const giveBack = world.install();
  const urls = Array.from({ length: 188 }, (_, nth) => `${TARGET.url}/${nth}`);
  const dueAt = new Map(urls.map((url) => [url, START]));
  const looked: string[] = [];
  try {
    const store188 = Object.assign(Object.create(store.backlog), {
      // As stores do: those that have been due longest first, each due again fifteen seconds later.
      claimLooks: async (at: number, limit: number): Promise<unknown[]> => {
        await pause(1);
        const due = [...dueAt].filter(([, look]) => look <= at).sort(([, a], [, b]) => a - b);
        const claimed = due.slice(0, limit).map(([url]) => url);
        for (const url of claimed) dueAt.set(url, at + 15_000);
        return claimed.map((url) => ({ ...TARGET, url }));
      },
      take: ({ url }: { url: string }) => {
        looked.push(url);
        return new Promise(() => {});
      },
    });
    const line = new WaitingLine({
      ...{ backlog: store188, targets: new Targets(now), room: new Room(10_000), now, start: async () => {} },
      attention: { note: async () => {}, withdraw: async () => {} },
      onTrouble: (error) => assert.unreachable(String(error)),
    });
    const flow = async (): Promise<void> => {
      await pause(1);
      await line.look();
      await pause(20_000);
      dueAt.set('new', now());
      await line.look();
    };
    void flow();
    while (await world.turn());
    assert.equal(looked, [...urls, 'new']);
  } finally {
    giveBack();
  }
});

test('looks that are being claimed while the line closes are given back, for others to have at once', async () => {
  const world = new World(new Random(1), START);
  const now = (): number => world.now;
  const giveBack = world.install();
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const given: number[] = [];
  let [claimedAt, closedAt] = [0, 0];
  try {
    const slow = Object.assign(Object.create(store.backlog), {
      claimLooks: async (): Promise<unknown[]> => {
        await pause(20);
        claimedAt = now() - START;
        return [TARGET];
      },
      lookAgain: async (_target: unknown, at: number): Promise<void> => {
        given.push(at - START);
      },
    });
    const line = new WaitingLine({
      ...{ backlog: slow, targets: new Targets(now), room: new Room(10), now, start: async () => {} },
      attention: { note: async () => {}, withdraw: async () => {} },
      onTrouble: (error) => assert.unreachable(String(error)),
    });
    void line.look();
    const flow = async (): Promise<void> => {
      await pause(5);
      await line.close();
      closedAt = now() - START;
    };
    void flow();
    while (await world.turn());
    assert.ok(claimedAt > 5);
    assert.equal([given, closedAt], [[claimedAt], claimedAt]);
  } finally {
    giveBack();
  }
});

test('a single attempt that times out beside others that are answered is none', async () => {
  const told = await itemsOf(
    async (target, pass) => {
      target.attempted('TIMEOUT');
      await pass(500);
      target.attempted(null);
      target.attempted('TIMEOUT');
      await pass(900);
    },
    (target) => target.attempted(null),
  );
  assert.equal(told, ['withdrawn at 1199']);
});

test.run();
