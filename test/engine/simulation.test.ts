/** Short runs of the simulator, and whether its auditor finds what must not be. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT } from '../../scripts/simulation/accounts.ts';
import { Model } from '../../scripts/simulation/model.ts';
import { Simulation } from '../../scripts/simulation/simulation.ts';
import type { Summary } from '../../scripts/simulation/summary.ts';
import { type Batch, type Entry, ZERO_HASH } from '../../src/engine/journal.ts';
import { contentOf, sha256 } from '../../src/engine/store/content.ts';

const s = suite('simulation');

const STEPS = 2_000;

const summaries: Summary[] = [];

for (const seed of [1, 2, 3, 4]) {
  s(`seed ${seed}: faults, crashes, clocks that step and URLs that hang break nothing`, async () => {
    summaries.push(await new Simulation(seed, STEPS, { bank: 'sandbox' }).run());
  });
}

s('in these runs enough happened, and enough went wrong, to find something', () => {
  const sum = (count: (summary: Summary) => number): number =>
    summaries.reduce((total, summary) => total + count(summary), 0);
  assert.is(summaries.length, 4);
  assert.ok(sum(({ operations }) => operations) > 1_500);
  assert.ok(sum(({ transactions }) => transactions) > 200);
  assert.ok(sum(({ deliveries }) => deliveries) > 400);
  assert.ok(sum(({ crashes }) => crashes) > 8);
  assert.ok(sum(({ clockSteps }) => clockSteps) > 10);
  assert.ok(sum(({ timeouts }) => timeouts) > 80);
  assert.ok(sum(({ faults }) => faults['after append'] ?? 0) > 3);
});

s('the same seed does the same to the byte, and another seed does not', async () => {
  for (const bank of ['sandbox', 'api-pix'] as const) {
    const run = (seed: number): Promise<Summary> => new Simulation(seed, 600, { bank }).run();
    const [once, again] = [await run(7), await run(7)];
    assert.equal(again, once);
    assert.is(once.bank, bank);
    assert.is.not((await run(8)).head, once.head);
  }
});

s('the seed decides whose bank it is, where nobody else does', async () => {
  const banks = new Set<string>();
  for (let seed = 1; seed <= 8; seed++) banks.add((await new Simulation(seed, 1).run()).bank);
  assert.equal([...banks].sort(), ['api-pix', 'sandbox']);
});

s('the timers of this process are its own again after a run', async () => {
  const real = [setTimeout, clearTimeout, setImmediate, performance.now];
  await new Simulation(9, 20).run();
  assert.equal([setTimeout, clearTimeout, setImmediate, performance.now], real);
});

const simulation = new Simulation(10, 1_500, { bank: 'sandbox' });

/** Hashes that are right, so that what else is wrong must be found by itself. */
function chained(batches: readonly Batch[]): Batch[] {
  let previous = ZERO_HASH;
  return batches.map((batch) => {
    const next = { ...batch, previous };
    previous = sha256(contentOf(next));
    return { ...next, hash: previous };
  });
}

/** Audits the journal after a change to the first entry that it is meant for. */
function audit(matches: (entry: Entry) => boolean, change: (entry: Entry, batch: Batch) => void): void {
  const journal = structuredClone(simulation.journal());
  const batch = journal.find(({ entries }) => entries.some(matches));
  const entry = batch?.entries.find(matches);
  if (batch === undefined || entry === undefined) throw new Error('the journal has no such entry');
  change(entry, batch);
  const model = new Model(ACCOUNT, () => true, simulation.timeline);
  for (const each of chained(journal)) model.take(each);
}

const moved = (entry: Entry): boolean => entry.from !== null && entry.from !== entry.to;
/** Moves of which URLs are told: an account may have none for a while. */
const heard = (entry: Entry): boolean => moved(entry) && (entry.events[0]?.deliveries.length ?? 0) > 0;
const paid = (entry: Entry): boolean => moved(entry) && entry.to === 'paid' && entry.message.type === 'PAY';
// The clock's and the API's messages have no id of their own.
const told = (entry: Entry): boolean => moved(entry) && !['clock', 'api'].includes(entry.message.door);

const WRONG: [string, (entry: Entry) => boolean, (entry: Entry, batch: Batch) => void, RegExp][] = [
  ['a missing event', moved, (entry) => void entry.events.pop(), /events/],
  ['an event too many', moved, (entry) => void entry.events.push(...entry.events), /events/],
  ['a missing delivery', heard, (entry) => void entry.events[0]?.deliveries.pop(), /its URLs/],
  ['postings that do not sum to zero', paid, (entry) => void entry.postings.pop(), /sum to/],
  [
    'no postings where money moves',
    paid,
    (entry) => {
      entry.postings = [];
    },
    /moved 0/,
  ],
  [
    'a balance that is not the sum',
    moved,
    (_, batch) => {
      batch.balances = { ...batch.balances, available: batch.balances.available + 1 };
    },
    /balances/,
  ],
  [
    'a move that no table has',
    paid,
    (entry) => {
      entry.to = 'chargedback';
    },
    /took/,
  ],
  [
    'a move from where it is not',
    paid,
    (entry) => {
      entry.from = 'in_analysis';
    },
    /the entry says/,
  ],
  [
    'an entry applied twice',
    told,
    (entry, batch) => void batch.entries.push({ ...entry, from: entry.to }),
    /applied twice/,
  ],
  [
    'a gap',
    moved,
    (_, batch) => {
      batch.seq += 1;
    },
    /follows/,
  ],
  [
    'a time that goes back',
    moved,
    (entry, batch) => {
      batch.at = entry.at = '2020-01-01T00:00:00.000Z';
      for (const each of batch.entries) each.at = batch.at;
    },
    /back in time/,
  ],
];

s('the auditor agrees with a journal that is right', async () => {
  await simulation.run();
  audit(moved, () => {});
});

for (const [what, matches, change, message] of WRONG) {
  s(`the auditor finds ${what}`, () => {
    assert.throws(() => audit(matches, change), message);
  });
}

s('the auditor finds a changed batch by its hash alone', () => {
  const [first] = structuredClone(simulation.journal());
  if (first === undefined) throw new Error('the journal is empty');
  const model = new Model(ACCOUNT, () => true);
  assert.throws(() => model.take({ ...first, id: 'another' }), /hash/);
});

s('the auditor finds a key that is used twice and a cashout that nothing covers', () => {
  const isCashout = (entry: Entry): boolean => entry.type === 'cashout' && entry.message.type === 'CREATE';
  const key = (entry: Entry): string | null =>
    (entry.snapshot as { context: { idempotencyKey: string | null } } | null)?.context.idempotencyKey ?? null;
  const used = simulation
    .journal()
    .flatMap(({ entries }) => entries.filter(isCashout))
    .map(key)
    .find((each) => each !== null);
  assert.throws(
    () =>
      audit(
        (entry) => isCashout(entry) && key(entry) !== used,
        (entry) => {
          (entry.snapshot as { context: { idempotencyKey: unknown } }).context.idempotencyKey = used;
        },
      ),
    /belongs to/,
  );
  assert.throws(
    () =>
      audit(isCashout, (entry) => {
        const context = (entry.snapshot as { context: { amount: number } }).context;
        const more = 10_000_000;
        context.amount += more;
        for (const posting of entry.postings) {
          if (posting.leg === 'available') posting.amount -= more;
          if (posting.leg === 'clearing') posting.amount += more;
        }
      }),
    /below zero/,
  );
});

s('the auditor finds an expiry before its time', () => {
  const byClock = (entry: Entry): boolean => entry.to === 'expired' && entry.message.door === 'clock';
  const expired = simulation.journal().flatMap(({ entries }) => entries.find(byClock) ?? [])[0]?.transaction;
  assert.throws(
    () =>
      audit(
        ({ transaction, message }) => transaction === expired && message.type === 'CREATE',
        (entry) => {
          (entry.snapshot as { context: { expiresAt: string } }).context.expiresAt =
            '2030-01-01T00:00:00.000Z';
        },
      ),
    /before its time/,
  );
});

s.run();
