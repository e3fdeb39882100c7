/** What the journal booked of the bank's money in a span: what a reconciliation holds against the bank's lists. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bookedIn } from '../../../src/bank/api-pix/reconciling/journal-side.ts';
import { DAY_MS } from '../../../src/bank/api-pix/reconciling/windows.ts';
import type { JournalReads } from '../../../src/engine/store.ts';
import {
  ACCOUNT,
  adjustment,
  charge,
  endToEndId,
  Ledger,
  message,
  START,
  transfer,
  uuid,
} from '../../engine/support.ts';

const test = suite('the journal’s side');

const SPAN = { from: START + DAY_MS, to: START + 2 * DAY_MS };

/** A ledger's entries, each as a batch of its own, of which a store gives two at a time. */
function journalOf({ entries }: Ledger): JournalReads {
  const batches = entries.map(({ entry }, index) => ({ seq: index + 1, at: entry.at, entries: [entry] }));
  const reads = {
    accountIds: async (after: string) => (after === '' ? [ACCOUNT] : []),
    head: async () => ({ seq: batches.length }),
    batches: async (_: string, seqs: number[]) => seqs.flatMap((seq) => batches[seq - 1] ?? []),
    batchesFrom: async (_: string, seq: number) => batches.slice(seq - 1, seq + 1),
  };
  return reads as unknown as JournalReads;
}

async function booked(ledger: Ledger): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { kind, endToEndId: id, transactionId, amount } of bookedIn(journalOf(ledger), SPAN))
    found.push([kind, id, transactionId, amount]);
  return found;
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** A charge that was paid at a time, by the bank, and told of at another. */
function paid(ledger: Ledger, n: number, paidAt: number | null, toldAt: number): void {
  ledger.commit(charge(uuid(n)));
  ledger.now = toldAt;
  const at = paidAt === null ? {} : { paidAt: iso(paidAt) };
  ledger.commit(message(uuid(n), 'PAY', { endToEndId: endToEndId(n), amount: 10_000, ...at }));
}

test('payments count by the bank’s time, the ends of the span too, and by ours where it tells none', async () => {
  const ledger = new Ledger();
  const { from, to } = SPAN;
  paid(ledger, 1, from - 1, from);
  paid(ledger, 2, from, from + 1_000);
  paid(ledger, 3, null, from + 2_000);
  paid(ledger, 4, to, to + 1_000);
  paid(ledger, 5, to + 1, to + 2_000);
  paid(ledger, 6, null, to + 3_000);
  // The bank told of it two days late.
  paid(ledger, 7, to - 1, to + 2 * DAY_MS);
  const payments = [2, 3, 4, 7].map((n) => ['payment', endToEndId(n), uuid(n), 10_000]);
  assert.equal(await booked(ledger), payments);
});

test('transfers and what came back of them count, and nothing that moved no money at the bank', async () => {
  const ledger = new Ledger();
  ledger.now = SPAN.from + 1;
  const [first, second] = [uuid(1), uuid(2)];
  ledger.commit(adjustment(100_000), transfer(first), transfer(second), charge(uuid(3)));
  ledger.commit(message(first, 'START', { endToEndId: endToEndId(1) }));
  ledger.commit(message(first, 'SETTLE', { endToEndId: endToEndId(1) }));
  ledger.commit(message(second, 'SETTLE', { endToEndId: endToEndId(2) }));
  ledger.commit(message(first, 'RETURN', { returnId: 'D1', amount: 300 }));
  const found = (await booked(ledger)) as unknown[][];
  assert.equal(
    found.map(([kind, , id, amount]) => [kind, id, amount]),
    [
      ['sending', first, 1_000],
      ['sending', second, 1_000],
      ['return', first, 300],
    ],
  );
  assert.equal(
    found.slice(0, 2).map(([, id]) => id),
    [endToEndId(1), endToEndId(2)],
  );
});

test('others have their turn within an account, however many batches of it are there at once', async () => {
  const ledger = new Ledger();
  ledger.now = SPAN.from;
  for (let n = 1; n <= 50; n++) paid(ledger, n, SPAN.from + n, SPAN.from + n);
  let turns = 0;
  let goesOn = true;
  const others = (): void => {
    turns += 1;
    if (goesOn) setImmediate(others);
  };
  setImmediate(others);
  assert.is((await booked(ledger)).length, 50);
  goesOn = false;
  // A hundred batches, two at a time.
  assert.ok(turns >= 49, `${turns} turns`);
});

test.run();
