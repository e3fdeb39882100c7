/** Ends of claims: those that come together are told in one write, and whoever waits for them hears of it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Hands } from '../../src/engine/claims/hands.ts';
import { Settler } from '../../src/engine/claims/settler.ts';
import { claimOn, type Due } from '../../src/engine/store/due.ts';
import { type DueIndex, type Settlement, StoreUnavailable } from '../../src/engine/store.ts';
import { later, turn } from '../../src/waiting.ts';

const test = suite('engine/claims');

function claimed(name: string, account = 'acc_1') {
  const due: Due = {
    kind: 'timer',
    account,
    transaction: name,
    name: 'expiry',
    at: 0,
    tries: 0,
  };
  return claimOn(due, name);
}

function ended(name: string): Settlement {
  return { claim: claimed(name), next: null };
}

/** Keeps what is settled; `answer` decides what becomes of each write. */
function dueIndex(answer: () => Promise<void>) {
  const writes: string[][] = [];
  const due: Pick<DueIndex, 'settle' | 'park'> = {
    settle: async (settlements) => {
      writes.push(settlements.map(({ claim }) => claim?.due.transaction ?? ''));
      await answer();
      return settlements.map(() => true);
    },
    park: async () => assert.unreachable(),
  };
  return { due, writes };
}

test('what ends in one turn is one write, and each hears of it in order once it is done', async () => {
  const written = later<void>();
  const { due, writes } = dueIndex(() => written.promise);
  const settler = new Settler(due, () => assert.unreachable());
  const heard: string[] = [];
  for (const name of ['a', 'b', 'c'])
    settler.settleThen(ended(name), (isWritten) => heard.push(`${name} ${isWritten}`));
  await turn();
  await turn();
  assert.equal(writes, [['a', 'b', 'c']]);
  assert.equal(heard, []);
  written.resolve();
  await settler.idle();
  assert.equal(heard, ['a true', 'b true', 'c true']);
});

test('who waits for a write that fails for good hears that it did, and the next one is written', async () => {
  let fails = true;
  const { due, writes } = dueIndex(async () => {
    if (fails) throw new Error('no such disk');
  });
  const troubles: unknown[] = [];
  const settler = new Settler(due, (error) => troubles.push(error));
  const heard: boolean[] = [];
  settler.settleThen(ended('a'), (isWritten) => heard.push(isWritten));
  await settler.idle();
  fails = false;
  settler.settleThen(ended('b'), (isWritten) => heard.push(isWritten));
  assert.is(await settler.settle(ended('c')), true);
  assert.equal(heard, [false, true]);
  assert.equal(writes, [['a'], ['b', 'c']]);
  assert.is(troubles.length, 1);
});

test('a store that is away is told again, and nobody hears of it before', async () => {
  let tries = 0;
  const { due } = dueIndex(async () => {
    tries += 1;
    if (tries < 3) throw new StoreUnavailable('away');
  });
  const settler = new Settler(due, () => assert.unreachable());
  const heard: number[] = [];
  settler.settleThen(ended('a'), () => heard.push(tries));
  await settler.idle();
  assert.equal(heard, [3]);
});

test('idle waits for what came while a write was under way, too', async () => {
  const first = later<void>();
  let writes = 0;
  const { due } = dueIndex(async () => {
    writes += 1;
    if (writes === 1) await first.promise;
  });
  const settler = new Settler(due, () => assert.unreachable());
  const heard: string[] = [];
  settler.settleThen(ended('a'), () => heard.push('a'));
  await turn();
  await turn();
  settler.settleThen(ended('b'), () => heard.push('b'));
  const idle = settler.idle().then(() => heard.push('idle'));
  first.resolve();
  await idle;
  assert.equal(heard, ['a', 'b', 'idle']);
});

test('hands are free again one by one, and who gave them work hears once all of it is settled', async () => {
  const { due, writes } = dueIndex(async () => {});
  const settler = new Settler(due, () => assert.unreachable());
  const works = new Map(['a', 'b', 'c'].map((name) => [name, later<void>()]));
  const begun: string[] = [];
  const hands = new Hands<{ claim: ReturnType<typeof claimed> }>({
    settler,
    most: 3,
    atOnce: 2,
    now: () => 0,
    work: async ({ claim }) => {
      begun.push(claim.due.transaction);
      await works.get(claim.due.transaction)?.promise;
      return claim.due.transaction === 'b' ? 'kept' : { next: null };
    },
  });
  let isSettled = false;
  const taken = hands.take(['a', 'b', 'c'].map((name) => ({ claim: claimed(name) }))).then(() => {
    isSettled = true;
  });
  assert.is(hands.room.free, 0);
  assert.equal(begun, ['a', 'b']);
  works.get('b')?.resolve();
  await turn();
  assert.equal(begun, ['a', 'b', 'c']);
  assert.is(hands.room.free, 1);
  works.get('c')?.resolve();
  works.get('a')?.resolve();
  await hands.idle();
  assert.is(hands.room.free, 3);
  await taken;
  assert.ok(isSettled);
  assert.equal(writes.flat().sort(), ['a', 'c']);
  await hands.take([]);
  await hands.idle();
});

test('an account whose work hangs leaves a part of what is free to each that comes, and accounts take turns', async () => {
  const { due } = dueIndex(async () => {});
  const works = new Map<string, ReturnType<typeof later<void>>>();
  const begun: string[] = [];
  const hands = new Hands<{ claim: ReturnType<typeof claimed> }>({
    settler: new Settler(due, () => assert.unreachable()),
    most: 100,
    atOnce: 8,
    now: () => 0,
    work: async ({ claim }) => {
      const work = later<void>();
      works.set(claim.due.transaction, work);
      begun.push(claim.due.transaction);
      await work.promise;
      return { next: null };
    },
  });
  const take = (account: string, count: number): void => {
    const names = Array.from({ length: count }, (_, index) => `${account}${index + 1}`);
    void hands.take(names.map((name) => ({ claim: claimed(name, account) })));
  };
  const end = async (...names: string[]): Promise<string[]> => {
    for (const name of names) works.get(name)?.resolve();
    await turn();
    return begun.splice(0);
  };
  take('a', 20);
  assert.equal(begun.splice(0), ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  take('b', 4);
  take('c', 2);
  assert.equal(begun.splice(0), ['b1', 'b2']);
  assert.equal(await end('a1'), ['b3']);
  assert.equal(await end('a2'), ['c1']);
  assert.equal(await end('b1'), ['b4']);
  assert.equal(await end('a3', 'a4', 'b2'), ['c2', 'a7']);
  take('d', 1);
  assert.equal(await end(), ['d1']);
  while (hands.room.taken > 0) await end(...works.keys());
  await hands.idle();
});

/** Hands whose work ends when it is told to: the first so many of those that were begun. */
function heldHands(parts: { most: number; mostFresh: number; atOnce: number }) {
  const { due } = dueIndex(async () => {});
  const works: (() => void)[] = [];
  const begun = new Set<string>();
  const hands = new Hands<{ claim: ReturnType<typeof claimed> }>({
    settler: new Settler(due, () => assert.unreachable()),
    ...parts,
    now: () => 0,
    work: async ({ claim }) => {
      begun.add(claim.due.transaction);
      const work = later<void>();
      works.push(work.resolve);
      await work.promise;
      return { next: null };
    },
  });
  const end = async (count: number): Promise<void> => {
    for (const ended of works.splice(0, count)) ended();
    await turn();
  };
  const itemsOf = (account: string, count: number): { claim: ReturnType<typeof claimed> }[] =>
    Array.from({ length: count }, (_, index) => ({ claim: claimed(`${account}${index}`, account) }));
  const fresh = (account: string, count: number): boolean => {
    if (!hands.reserve(account, count)) return false;
    hands.fresh.release(count);
    void hands.take(itemsOf(account, count), true);
    return true;
  };
  /** As much as there is room for. */
  const swept = (accounts: readonly string[]): number => {
    const reserved = hands.room.reserveUpTo(accounts.length);
    hands.room.release(reserved);
    void hands.take(accounts.slice(0, reserved).flatMap((account) => itemsOf(account, 1)));
    return reserved;
  };
  return { hands, begun, end, fresh, swept };
}

test('what an account makes due leaves a third of the room for it to others, and all of the sweeps’ to them', async () => {
  const { hands, end, fresh, swept } = heldHands({ most: 60, mostFresh: 60, atOnce: 8 });
  const stored = Array.from({ length: 100 }, () => 'a');
  assert.equal([fresh('a', 41), fresh('a', 40), fresh('a', 1)], [false, true, false]);
  assert.ok(hands.reserve('a', 0), 'nothing needs no room');
  assert.equal([swept(stored), swept(stored)], [60, 0]);
  assert.equal([fresh('b', 14), fresh('b', 13), fresh('c', 4), fresh('c', 1)], [false, true, true, false]);
  assert.is(hands.fresh.free, 3);
  assert.ok(fresh('d', 1), 'who comes last finds room, too');
  while (hands.room.taken + hands.fresh.taken > 0) await end(8);
  assert.is(swept(stored), 60);
  assert.equal([fresh('a', 21), fresh('a', 20)], [false, true], 'what was claimed for it counts');
  while (hands.room.taken + hands.fresh.taken > 0) await end(8);
  await hands.idle();
});

test('the earliest that waits is told, wherever it waits', async () => {
  const { hands, end, fresh } = heldHands({ most: 60, mostFresh: 60, atOnce: 1 });
  const dueAt = (at: number) => {
    const { due, token } = claimed(`due ${at}`, 'a');
    return { claim: claimOn({ ...due, at }, token) };
  };
  void hands.take([500, 1_000, 7].map(dueAt));
  assert.is(hands.earliest, 7);
  assert.ok(fresh('b', 1));
  assert.is(hands.earliest, 0);
  while (hands.room.taken + hands.fresh.taken > 0) await end(1);
  assert.is(hands.earliest, Number.POSITIVE_INFINITY);
});

test('of four turns of an account one is for what is fresh, and each kind has those that the other doesn’t need', async () => {
  const { hands, begun, end, fresh } = heldHands({ most: 60, mostFresh: 60, atOnce: 1 });
  assert.ok(fresh('a', 4));
  void hands.take(Array.from({ length: 5 }, (_, nth) => ({ claim: claimed(`claimed${nth}`, 'a') })));
  while (hands.room.taken + hands.fresh.taken > 0) await end(1);
  assert.equal(
    [...begun],
    ['a0', 'claimed0', 'claimed1', 'claimed2', 'a1', 'claimed3', 'claimed4', 'a2', 'a3'],
  );
});

/**
 * How many rounds another's stored work waits to begin, behind how much that is stored, and its fresh work, while so many
 * accounts have more than can be worked on: in each round ten come, and up to eight end.
 */
async function roundsBehind(accounts: number): Promise<{ stored: number; behind: number; fresh: number }> {
  const { hands, begun, end, fresh, swept } = heldHands({ most: 150, mostFresh: 50, atOnce: 8 });
  const stored: string[] = [];
  const asked = 200;
  const waited = { stored: 0, behind: 0, fresh: 0 };
  for (let round = 0, made = 0; waited.stored === 0 || waited.fresh === 0; round += 1) {
    assert.ok(round < 1_000, `it waits on, with ${stored.length} in the store`);
    for (let each = 0; each < 10; each += 1, made += 1)
      if (!fresh(`a${made % accounts}_`, 1)) stored.push(`a${made % accounts}_`);
    if (round === asked) {
      waited.behind = stored.length;
      stored.push('stored');
      assert.ok(fresh('fresh', 1));
    }
    stored.splice(0, swept(stored));
    await end(8);
    if (waited.stored === 0 && begun.has('stored0')) waited.stored = round - asked;
    if (waited.fresh === 0 && begun.has('fresh0')) waited.fresh = round - asked + 1;
  }
  for (let left = 1; left > 0; left = hands.fresh.taken + hands.room.taken) await end(8);
  await hands.idle();
  return waited;
}

test('however many accounts have more than can be worked on, another’s stored work waits for what was due before', async () => {
  for (const accounts of [1, 2, 3, 20]) {
    const { stored, behind, fresh } = await roundsBehind(accounts);
    assert.ok(behind > 200);
    assert.ok(stored < behind / 5, `${stored} rounds behind ${behind} of ${accounts} accounts`);
    assert.ok(fresh < 10, `what is fresh: ${fresh} rounds behind ${accounts} accounts`);
  }
});

test('once it is closed nothing begins, what is under way comes to its end, and there is room for nothing', async () => {
  const { hands, begun, end, fresh, swept } = heldHands({ most: 60, mostFresh: 60, atOnce: 8 });
  assert.ok(fresh('a', 10));
  assert.is(swept(['b', 'e']), 2);
  assert.is(begun.size, 8);
  const closed = hands.close();
  assert.equal([fresh('c', 1), swept(['c'])], [false, 0]);
  // What was claimed by then.
  await hands.take([{ claim: claimed('late', 'd') }]);
  await end(8);
  await closed;
  assert.equal(
    [begun.size, hands.room.taken + hands.fresh.taken, hands.earliest],
    [8, 0, Number.POSITIVE_INFINITY],
  );
});

test('of those that are paced so many begin as are told to, accounts in turn, and none where none may', async () => {
  const { due } = dueIndex(async () => {});
  const works: (() => void)[] = [];
  const begun: string[] = [];
  const hands = new Hands<{ claim: ReturnType<typeof claimed> }>({
    settler: new Settler(due, () => assert.unreachable()),
    ...{ most: 100, atOnce: 4, isPaced: true, now: () => 0 },
    work: async ({ claim }) => {
      begun.push(claim.due.transaction);
      const work = later<void>();
      works.push(work.resolve);
      await work.promise;
      return { next: null };
    },
  });
  const items = (account: string, count: number): { claim: ReturnType<typeof claimed> }[] =>
    Array.from({ length: count }, (_, index) => ({ claim: claimed(`${account}${index + 1}`, account) }));
  const all = [hands.take(items('a', 6)), hands.take(items('b', 1))];
  assert.equal([begun, hands.earliest], [[], 0]);
  assert.equal([hands.begin(-1).length, hands.begin(3).length], [0, 3]);
  assert.equal(begun, ['a1', 'b1', 'a2']);
  assert.equal([hands.begin(3).length, hands.begin(3).length], [1, 0], 'as many as are worked on at once');
  for (const end of works.splice(0)) end();
  await turn();
  assert.is(begun.length, 4, 'none begins where others end');
  while (hands.earliest === 0) {
    void hands.begin(3);
    for (const end of works.splice(0)) end();
    await turn();
  }
  await Promise.all(all);
  assert.equal([hands.room.taken, hands.begin(1).length, hands.earliest], [0, 0, Number.POSITIVE_INFINITY]);
});

test.run();
