/**
 * Charges that wait at the bank under ids of ours and were never made here: a request ended between the bank's answer
 * and our commit. Nobody has seen their codes, and they expire.
 */
import type { JournalReads } from '../../../engine/store.ts';
import { turn } from '../../../waiting.ts';
import { recordAt, transactionIdOf } from '../callbacks/incoming.ts';
import type { BankCharge } from '../charges.ts';
import type { BankConnection } from '../connection.ts';
import type { Window } from '../payments.ts';
import { CallFailed } from '../wire/outcome.ts';
import { walk } from './windows.ts';

/** A charge that waits at the bank alone. */
export interface UnseenCharge {
  txid: string;
  /** Cents; null where the bank doesn't say. */
  amount: number | null;
}

type Journal = Pick<JournalReads, 'transaction'>;

async function unseenAmong(journal: Journal, items: readonly BankCharge[]): Promise<UnseenCharge[]> {
  await turn();
  const waiting = items.filter(({ status }) => status === 'ATIVA');
  const ours = waiting.flatMap(({ txid, amount }) =>
    txid === null || transactionIdOf(txid) === null ? [] : [{ txid, amount }],
  );
  const records = await Promise.all(ours.map(({ txid }) => recordAt(journal, txid)));
  return ours.filter((_, index) => records[index] === null);
}

/** Those that were made within a span; null where the bank doesn't list them: harmless as they are, nothing fails. */
export async function unseenCharges(
  { charges }: Pick<BankConnection, 'charges'>,
  journal: Journal,
  span: Window,
): Promise<UnseenCharge[] | null> {
  // A list that shifts is read again: what comes twice is one.
  const found = new Map<string, UnseenCharge>();
  try {
    await walk<BankCharge>(span, {
      list: (window) => charges.list(window),
      look: async (items) => {
        for (const each of await unseenAmong(journal, items)) found.set(each.txid, each);
      },
      moved: async () => {},
    });
  } catch (error) {
    if (error instanceof CallFailed) return null;
    throw error;
  }
  return [...found.values()];
}
