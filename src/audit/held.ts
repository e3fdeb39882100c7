/** A transaction in hand while the log is read, and what is stored of it. */
import type { TransactionRecord } from '../engine/journal.ts';
import type { LogReads } from '../engine/store/log.ts';
import { compareDeliveries, compareRefusals, expect, isEqual, NotSound } from './compare.ts';
import type { Open } from './open-transactions.ts';
import type { AuditReads } from './patience.ts';

export interface Held {
  account: string;
  open: Open;
  /** Null where it wasn't read: a batch began it, and no other was met yet. */
  stored: TransactionRecord | null;
  /** Of its last batch. */
  row: number;
}

interface Reads {
  journal: AuditReads;
  log: LogReads;
}

/** The stored record; `made` where a batch has made it that was read just now, and null where more of it must come. */
async function recordOf(
  { open: { record }, stored, row }: Held,
  { journal, log }: Reads,
  isAllRead: boolean,
): Promise<TransactionRecord | 'made' | null> {
  if (stored !== null) return stored;
  if (record.seqs.length === 1 && record.refusals === undefined) {
    const madeBy = log.madeBy(record.id);
    expect(madeBy === row || madeBy === 'whole');
    if (madeBy === row) return 'made';
    if (!isAllRead) return null;
  }
  const whole = await journal.transaction(record.id);
  expect(whole !== null);
  return whole;
}

/**
 * Whether it is as it is stored, and nothing more of it comes: its record, and what is stored beside that. `isAllRead`: no
 * batch is left that could be of it.
 * @throws NotSound where it never will be
 */
export async function isAsStored(held: Held, reads: Reads, isAllRead: boolean): Promise<boolean> {
  const { record, deliveries, refused } = held.open;
  const stored = await recordOf(held, reads, isAllRead);
  if (stored === null) return false;
  if (stored !== 'made' && (record.seqs.at(-1) !== stored.seqs.at(-1) || !isEqual(stored, record)))
    return false;
  const report = (): never => {
    throw new NotSound();
  };
  const beside = { journal: reads.journal, account: held.account, report };
  await compareDeliveries(beside, record, deliveries);
  await compareRefusals(beside, record, refused);
  return true;
}
