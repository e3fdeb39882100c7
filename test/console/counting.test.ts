/** The start page's counts: in parts where they are long, and never of more than is known. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CausesPass, causesOf, listedBehind } from '../../src/console/server/now/causes.ts';
import { Kept } from '../../src/console/server/now/kept.ts';
import { Pass } from '../../src/console/server/now/pass.ts';
import { Rates } from '../../src/console/server/now/rates.ts';
import { itemFor } from '../../src/engine/attention/item.ts';
import type { AttentionItem, StoreReads } from '../../src/engine/store.ts';

const test = suite('counting');
const NOW = Date.parse('2026-11-23T12:00:00.000Z');
const iso = (nth: number): string => new Date(NOW - 86_400_000 + nth).toISOString();

function numbers(mostItems: number): Pass<{ n: number }, number, number> {
  return new Pass({
    begin: () => ({ n: 0 }),
    add: (sums) => {
      sums.n += 1;
    },
    isEmpty: ({ n }) => n === 0,
    first: 0,
    ...{ mostItems, mostMs: 60_000 },
  });
}

/** So many items, ten a page. */
function tens(count: number) {
  return async (place: number) => ({
    items: Array.from({ length: Math.min(10, count - place) }, (_, nth) => place + nth),
    next: place + 10 >= count ? null : place + 10,
  });
}

test('a long count goes on where it stood, and the one before is told meanwhile', async () => {
  const pass = numbers(20);
  const told = async (count: number, now: number): Promise<[number, boolean]> => {
    const { sums, complete } = await pass.goOn(tens(count), now);
    return [sums.n, complete];
  };
  assert.equal(await told(50, NOW), [20, false]);
  assert.equal(await told(50, NOW + 1_000), [40, false]);
  assert.equal(await told(50, NOW + 2_000), [50, true]);
  assert.equal(await told(70, NOW + 3_000), [50, true]);
  assert.equal(await told(70, NOW + 4_000), [50, true]);
  assert.equal(await told(70, NOW + 5_000), [50, true]);
  assert.equal(await told(70, NOW + 6_000), [70, true]);
  // A count that was left is not gone on with, and one that is old isn't told.
  assert.equal(await told(70, NOW + 7_000), [70, true]);
  assert.equal(await told(15, NOW + 60_000), [15, true]);
  assert.equal(await told(50, NOW + 900_000), [20, false]);
});

test('that there was nothing is not told once there is much', async () => {
  const pass = numbers(20);
  assert.is((await pass.goOn(tens(0), NOW)).complete, true);
  const { sums, complete } = await pass.goOn(tens(1_000), NOW + 1_000);
  assert.equal([sums.n, complete], [20, false]);
});

/** A list for ops that is read by its pages alone; how many items were read at most at once. */
function listOf(items: readonly AttentionItem[]) {
  const byKind = new Map<string, AttentionItem[]>();
  for (const item of [...items].sort((a, b) => (a.since < b.since ? -1 : 1))) {
    const own = byKind.get(item.kind);
    if (own === undefined) byKind.set(item.kind, [item]);
    else own.push(item);
  }
  let read = 0;
  const page: StoreReads['attention']['page'] = async (filter, after, limit) => {
    const own = byKind.get(filter.kind ?? '') ?? [];
    const from = after === null ? 0 : own.findIndex(({ id }) => id === after.id) + 1;
    const found = own.slice(from, from + limit);
    read += found.length;
    return found;
  };
  const accounts = { get: async () => null, byClientId: async () => null };
  const reads = { attention: { page, counts: async () => ({}) }, accounts } as unknown as StoreReads;
  return { reads, read: () => read };
}

function dead(nth: number, url: string): AttentionItem {
  const about = { account: 'acc_1', transaction: `tx${nth}`, delivery: `dlv_${nth}`, url };
  const data = { event: 'pix-in.paid', error: null, status: 503 };
  return itemFor('DELIVERY_DEAD', { id: `dlv_${nth}`, since: iso(nth), about, data });
}

test('a hundred thousand items are counted in bounded parts, and no cause is hidden behind them', async () => {
  const many = 100_000;
  const stuck = itemFor(
    'TRANSFER_STUCK',
    {
      id: 'tx',
      since: iso(many),
      about: { account: 'acc_2', transaction: 'tx' },
      data: { type: 'cashout', state: 'pending', bank: null },
    },
    700,
  );
  const { reads, read } = listOf([
    ...Array.from({ length: many }, (_, nth) => dead(nth, 'http://a/')),
    stuck,
  ]);
  const pass = new CausesPass();
  let parts = 0;
  for (let before = 0; ; before = read()) {
    const outcome = await pass.goOn((place) => listedBehind(reads, place), NOW + parts);
    parts += 1;
    assert.ok(read() - before <= 5_500, `${read() - before} were read at once`);
    const { causes, others } = await causesOf(reads, outcome.sums);
    assert.equal([causes[0]?.kind, others], ['stuck', 0]);
    if (!outcome.complete) continue;
    assert.equal(
      causes.map(({ kind, count, sum, since }) => [kind, count, sum, since]),
      [
        ['stuck', 1, 700, iso(many)],
        ['dead', many, null, iso(0)],
      ],
    );
    break;
  }
  assert.ok(parts >= 20);
});

/** Counts all, in however many parts. */
async function whole(reads: StoreReads): Promise<Parameters<typeof causesOf>[1]> {
  const pass = new CausesPass();
  for (;;) {
    const { sums, complete } = await pass.goOn((place) => listedBehind(reads, place), NOW);
    if (complete) return sums;
  }
}

test('of many causes the most urgent are shown, and the others are counted', async () => {
  const { reads } = listOf(Array.from({ length: 1_500 }, (_, nth) => dead(nth, `http://a/${nth}`)));
  const { causes, others } = await causesOf(reads, await whole(reads));
  assert.equal([causes.length, others], [30, 1_470]);
  assert.is(causes[0]?.sample.length, 1);
});

test('what an item tells is masked', async () => {
  const data = { transactionId: 'tx', message: 'PAY', messageId: 'm', content: '{"cpf":"123.456.789-09"}' };
  const { reads } = listOf([itemFor('TRANSACTION_UNKNOWN', { id: 'tx', since: iso(0), data })]);
  const { causes } = await causesOf(reads, await whole(reads));
  assert.is(causes.length, 1);
  assert.not.match(JSON.stringify(causes), '123.456.789-09');
});

test('an answer is made once for all who ask within a moment, and a failure is not kept', async () => {
  let time = 0;
  let made = 0;
  const kept = new Kept<number>(1_000, () => time);
  const make = async (): Promise<number> => ++made;
  assert.equal(await Promise.all([kept.get('a', make), kept.get('a', make)]), [1, 1]);
  time = 999;
  assert.is(await kept.get('a', make), 1);
  assert.is(await kept.get('b', make), 2);
  time = 2_000;
  assert.is(await kept.get('b', make), 3);
  time = 4_000;
  await kept.get('b', () => Promise.reject(new Error('away'))).catch(() => {});
  assert.is(await kept.get('b', make), 4);
});

test('messages are counted by the minute, from where the counting began', () => {
  const rates = new Rates();
  assert.equal(
    rates.perMinute(),
    Array.from({ length: 60 }, () => null),
  );
  assert.is(rates.firstAttempts(), null);
  const take = (second: number, entries: number, firsts: number): void =>
    rates.take(second * 1_000, { entries, firsts, firstsTaken: Math.floor(firsts / 2) });
  take(0, 100, 10);
  take(30, 110, 10);
  assert.equal(rates.perMinute().slice(-2), [null, 10]);
  take(90, 140, 30);
  // Of the last minute those since the count at 30 s; before that, what began within its minute.
  assert.equal(rates.perMinute().slice(-3), [null, 10, 30]);
  assert.equal(rates.firstAttempts(), { of: 20, taken: 10 });
  for (let second = 95; second <= 90 + 2 * 3_600; second += 5) take(second, 140 + second, 30);
  const whole = rates.perMinute();
  assert.is(whole.length, 60);
  assert.ok(
    whole.every((count) => count === 60),
    whole.join(' '),
  );
  assert.is(rates.firstAttempts(), null);
  // Another run of the process counts from nothing.
  take(10_000, 5, 1);
  assert.equal(rates.perMinute().slice(-1), [null]);
});

test.run();
