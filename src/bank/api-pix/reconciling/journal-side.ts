/** The journal's side of a reconciliation: what was booked of the bank's money in a span, account by account. */
import type { Batch, Entry } from '../../../engine/journal.ts';
import { accountsIn, firstSince } from '../../../engine/store/walks.ts';
import type { JournalReads } from '../../../engine/store.ts';
import { turn } from '../../../waiting.ts';
import type { Window } from '../payments.ts';
import { DAY_MS } from './windows.ts';

/** A payment or transfer as it was booked. */
export interface Booked {
  kind: 'payment' | 'sending' | 'return';
  endToEndId: string | null;
  transactionId: string;
  /** Cents. */
  amount: number;
}

const BATCHES = 100;
/** What the bank told late was booked within so long of its time. */
const BOOKED_WITHIN_MS = 3 * DAY_MS;

/** The sum that an entry moved at the bank, cents: what came in is positive. */
function atBank({ postings }: Entry): number {
  return -postings.filter(({ leg }) => leg === 'bank').reduce((sum, { amount }) => sum + amount, 0);
}

/** The bank's time of a payment or transfer, ours where it doesn't tell one; ms. */
function timeOf({ at, message: { data } }: Entry): number {
  const { paidAt } = data as { paidAt?: unknown };
  return Date.parse(typeof paidAt === 'string' ? paidAt : at);
}

function endToEndIdOf({ message: { data } }: Entry): string | null {
  const { endToEndId } = data as { endToEndId?: unknown };
  return typeof endToEndId === 'string' ? endToEndId : null;
}

function bookedBy(entry: Entry): Booked | null {
  const amount = atBank(entry);
  const { transaction, type, snapshot } = entry;
  if (amount === 0 || transaction === null || snapshot === null) return null;
  const { endToEndId, reference } = snapshot.context as { endToEndId?: string; reference?: string };
  const isPayment = type === 'pix-in' && amount > 0;
  const isSending = type === 'cashout' && amount < 0;
  const id = (type === 'cashout' ? reference : endToEndId) ?? endToEndIdOf(entry);
  const kind = isPayment ? 'payment' : isSending ? 'sending' : 'return';
  return { kind, endToEndId: id, transactionId: transaction, amount: Math.abs(amount) };
}

/** What was booked within a span, as far as these batches go. */
function* bookedBetween(batches: readonly Batch[], { from, to }: Window): Generator<Booked> {
  for (const entry of batches.flatMap(({ entries }) => entries)) {
    const booked = bookedBy(entry);
    if (booked === null) continue;
    const at = timeOf(entry);
    if (at >= from && at <= to) yield booked;
  }
}

/** What was booked of a span by the bank's time, or by ours where the bank's isn't known. */
export async function* bookedIn(journal: JournalReads, span: Window): AsyncGenerator<Booked> {
  for await (const account of accountsIn(journal)) {
    const batchAt = async (seq: number): Promise<Batch | undefined> =>
      (await journal.batches(account, [seq]))[0];
    const { seq: last } = await journal.head(account);
    for (let seq = await firstSince(batchAt, last, span.from); ; ) {
      // A data folder gives them at once, be it a busy account's of days.
      await turn();
      const batches = await journal.batchesFrom(account, seq, BATCHES);
      yield* bookedBetween(batches, span);
      const end = batches.at(-1);
      if (end === undefined || Date.parse(end.at) > span.to + BOOKED_WITHIN_MS) break;
      seq = end.seq + 1;
    }
  }
}
