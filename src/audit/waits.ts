/**
 * What leads a search of all accounts to what waits for the bank or for ops. A store with one log tells that itself; any
 * other one is asked for what it lists.
 */
import { textOfTime, timeOfText } from '../domain/time.ts';
import { BANK_WAITS, END_OF_TIME, waitsFor } from '../engine/attention/stuck.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { type ChangePlace, StoreUnavailable, type Wait } from '../engine/store.ts';
import { turn } from '../waiting.ts';
import type { AuditReads } from './patience.ts';

const WAITS: readonly Wait[] = [...BANK_WAITS, 'protest'];
const PAGE = 500;
/** Ids that are the same but for their last character, which is a hexadecimal digit. */
const NEIGHBOURS = 16;

async function isListed(
  journal: AuditReads,
  { id, updatedAt }: TransactionRecord,
  wait: Wait,
): Promise<boolean> {
  // Right before its place.
  const after = { updatedAt, id: id.slice(0, -1) };
  const before = textOfTime(timeOfText(updatedAt) + 1);
  const found = await journal.waiting(wait, after, before, NEIGHBOURS);
  return found.some((record) => record.id === id);
}

/** Whether a transaction whose record this is is found by all that it waits for. @throws StoreUnavailable */
export async function isAwaited(journal: AuditReads, record: TransactionRecord): Promise<boolean> {
  if (journal.log !== undefined) return journal.log.isAwaited(record);
  for (const wait of WAITS)
    if (waitsFor(record, wait) && !(await isListed(journal, record, wait))) return false;
  return true;
}

/** Reports transactions that are listed among what waits and don't wait for that. @throws StoreUnavailable */
export async function checkListed(
  journal: AuditReads,
  report: (record: TransactionRecord, what: string) => void,
): Promise<void> {
  if (journal.log !== undefined) return;
  for (const wait of WAITS) {
    for await (const page of listed(journal, wait))
      for (const record of page)
        if (!waitsFor(record, wait))
          report(record, `${record.id} is listed among what waits (${wait}), and doesn't wait for that`);
  }
}

/**
 * All that is listed among what waits for that, in pages; up to what can't be read, of which the walk over all records
 * tells.
 */
async function* listed(journal: AuditReads, wait: Wait): AsyncGenerator<TransactionRecord[]> {
  for (let after: ChangePlace | null = null; ; ) {
    let page: TransactionRecord[];
    try {
      page = await journal.waiting(wait, after, END_OF_TIME, PAGE);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return;
    }
    yield page;
    if (page.length < PAGE) return;
    after = page.at(-1) ?? null;
    await turn();
  }
}
