/**
 * Compares a transaction's stored record, and the progress of its deliveries, with what a replay gave. A server may
 * have gone on writing: what is newer than the replay is judged by its own history.
 */
import { isSameJson } from '../domain/canonical-json.ts';
import { type HistoryReads, historyOf, recordFrom, refusalsOf } from '../engine/history.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { textOf } from '../errors.ts';
import type { AuditReads } from './patience.ts';
import { isAwaited } from './waits.ts';

/** The stored side of a comparison. */
export interface Stored {
  journal: AuditReads;
  account: string;
  /** Called for each difference. */
  report(seq: number, what: string): void;
}

function differing(stored: TransactionRecord, record: TransactionRecord): string {
  const names = [...new Set([...Object.keys(stored), ...Object.keys(record)])] as (keyof TransactionRecord)[];
  return names.filter((name) => !isSameJson(stored[name] ?? null, record[name] ?? null)).join(', ');
}

/**
 * The fault of stored data, in words.
 * @throws StoreUnavailable: a store that is away says nothing about what it holds, and no report is better than a
 * wrong one
 */
export function faultOf(error: unknown): string {
  if (error instanceof StoreUnavailable) throw error;
  return textOf(error);
}

/** Whether a stored record is the replayed one, to the byte. */
export function isEqual(stored: TransactionRecord | null | undefined, record: TransactionRecord): boolean {
  return stored !== null && stored !== undefined && isSameJson(stored, record);
}

/**
 * Whether a stored record says what the replayed one does. Former builds counted no refused messages, and named their
 * batches among the others: the journal tells which those are.
 */
async function saysTheSame(
  journal: HistoryReads,
  stored: TransactionRecord,
  record: TransactionRecord,
): Promise<boolean> {
  if (isEqual(stored, record)) return true;
  const { seqs, refusals: counted = 0, ...rest } = stored;
  const { seqs: replayed, refusals: all = 0, ...replayedRest } = record;
  if (counted > all || !isSameJson(rest, replayedRest)) return false;
  const refused = (await journal.entries(stored.account, stored.id, seqs)).filter(
    ({ entry }) => entry.refusal !== null,
  );
  const named = new Set([...replayed, ...refused.map(({ seq }) => seq)]);
  const inOrder = [...named].sort((a, b) => a - b);
  return isSameJson(seqs, inOrder) && counted >= all - refused.length;
}

/** What is wrong with the stored record, replayed up to a batch; null where nothing is. */
export async function differenceOf(
  journal: HistoryReads,
  stored: TransactionRecord,
  record: TransactionRecord,
  seq: number,
): Promise<string | null> {
  if (await saysTheSame(journal, stored, record)) return null;
  const [refused = 0] = await journal.refusals(record.id, seq, 1);
  const newest = Math.max(stored.seqs.at(-1) ?? 0, refused);
  const known = new Set(stored.seqs);
  const goesOn = newest > seq && record.seqs.every((own) => known.has(own));
  if (!goesOn || stored.account !== record.account)
    return `its record differs in ${differing(stored, record)}`;
  const projected = await recordFrom(journal, stored);
  const isOwn = projected !== null && (await saysTheSame(journal, stored, projected));
  return isOwn ? null : 'its record differs from its history';
}

/** Refused messages that are in the journal and that nobody would find there. */
export async function compareRefusals(
  { journal, report }: Stored,
  record: TransactionRecord,
  refused: readonly number[],
): Promise<void> {
  const stored = refused.length === 0 ? null : await journal.transaction(record.id);
  if (stored === null) return;
  const listed = new Set([...stored.seqs, ...(await refusalsOf(journal, record.id))]);
  for (const seq of new Set(refused))
    if (!listed.has(seq)) report(seq, `no list has the refused message to ${record.id}`);
}

/** What the transaction waits for must lead to it, as long as its record is this one. */
export async function compareWaits({ journal, report }: Stored, record: TransactionRecord): Promise<void> {
  if (await isAwaited(journal, record)) return;
  if (!isEqual(await journal.transaction(record.id), record) || (await isAwaited(journal, record))) return;
  report(record.seqs.at(-1) ?? 0, `${record.id} waits, and isn't listed among what waits for that`);
}

/** Progress that no entry names, or that says that it is another's. */
export async function compareDeliveries(
  { journal, account, report }: Stored,
  record: TransactionRecord,
  deliveries: readonly string[],
): Promise<void> {
  const seq = record.seqs.at(-1) ?? 0;
  const progress = await journal.deliveries(record.id);
  let known = new Set(deliveries);
  if (progress.some(({ id }) => !known.has(id))) {
    // The server may have created it since.
    const stored = await journal.transaction(record.id);
    const events = (await historyOf(journal, stored ?? record)).flatMap(({ entry }) => entry.events);
    known = new Set(events.flatMap((event) => event.deliveries.map(({ id }) => id)));
  }
  for (const delivery of progress) {
    if (!known.has(delivery.id)) report(seq, `no entry names the delivery ${delivery.id} of ${record.id}`);
    else if (delivery.account !== account || delivery.transaction !== record.id) {
      report(seq, `the delivery ${delivery.id} of ${record.id} says that it is another's`);
    }
  }
}
