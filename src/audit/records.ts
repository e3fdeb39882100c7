/** The walk over all stored records: those that no journal explains are found. */
import type { TransactionRecord } from '../engine/journal.ts';
import { RecordUnreadable } from '../engine/store.ts';
import { turn } from '../waiting.ts';
import { faultOf } from './compare.ts';
import type { AuditReads } from './patience.ts';

const PAGE = 1_000;

/** What a replay found of an account. */
export interface Replayed {
  /** Up to which batch. */
  seq: number;
  /** Transactions that the journal begins by then and that have a record. */
  recorded: number;
}

/** Accounts that the walk is about. */
export interface Walked {
  replayed: ReadonlyMap<string, Replayed>;
  /** Whether a record of an account that wasn't replayed is to be explained all the same. */
  isOurs(account: string): boolean;
}

/** What the walk finds. */
export interface RecordFaults {
  unexplained(account: string, what: string): void;
  /** `account`: null where it isn't known. */
  unreadable(account: string | null, what: string): void;
}

/** Whether the journal tells of the record's beginning. */
export async function isExplained(
  journal: Pick<AuditReads, 'batches'>,
  record: TransactionRecord,
): Promise<boolean> {
  try {
    const batches = await journal.batches(record.account, record.seqs.slice(0, 1));
    return batches.some(({ entries }) => entries.some(({ transaction }) => transaction === record.id));
  } catch (error) {
    faultOf(error);
    return false;
  }
}

/**
 * Visits every record in the order of the ids; false where one can't be read. The walk ends at one of which the store
 * can't even say which it is.
 */
export async function eachRecord(
  journal: Pick<AuditReads, 'records'>,
  visit: (record: TransactionRecord) => void | Promise<void>,
  unreadable: RecordFaults['unreadable'],
): Promise<boolean> {
  let last = '';
  let limit = PAGE;
  let isWhole = true;
  const ends = (what: string): false => {
    unreadable(null, `the record after "${last}" ${what}`);
    return false;
  };
  for (;;) {
    let records: TransactionRecord[];
    try {
      records = await journal.records(last, limit);
    } catch (error) {
      const fault = faultOf(error);
      if (limit > 1) {
        // Smaller pages come as near as the port allows to the record that can't be read.
        limit = Math.ceil(limit / 10);
        continue;
      }
      if (!(error instanceof RecordUnreadable) || error.id <= last) return ends(`can't be read: ${fault}`);
      unreadable(error.account, `the record ${error.id} can't be read: ${fault}`);
      isWhole = false;
      last = error.id;
      limit = PAGE;
      continue;
    }
    for (const record of records) {
      // Each id is greater than the one before, or there would be no end.
      if (typeof record?.id !== 'string' || record.id <= last) return ends(`says that it is ${record?.id}`);
      last = record.id;
      await visit(record);
    }
    if (records.length < limit) return isWhole;
    await turn();
  }
}

/**
 * Reports records that no journal explains. Those of a replayed account are counted: every transaction that its
 * journal begins was found to have one, so none is too many where there are as many. Only where there are more,
 * each of the account's is looked for in its journal.
 * @throws StoreUnavailable
 */
export async function checkRecords(
  journal: AuditReads,
  { replayed, isOurs }: Walked,
  { unexplained, unreadable }: RecordFaults,
): Promise<void> {
  const counts = new Map<string, number>();
  const explain = async (record: TransactionRecord): Promise<void> => {
    if (await isExplained(journal, record)) return;
    unexplained(record.account, `no journal tells of the record ${record.id}`);
  };
  const isCounted = ({ account, seqs }: TransactionRecord): boolean =>
    (seqs?.[0] ?? Number.POSITIVE_INFINITY) <= (replayed.get(account)?.seq ?? 0);
  const count = (record: TransactionRecord): void | Promise<void> => {
    const { account } = record;
    if (!replayed.has(account) && !isOurs(account)) return;
    if (isCounted(record)) counts.set(account, (counts.get(account) ?? 0) + 1);
    // A server may have created it while others were replayed.
    else return explain(record);
  };
  await eachRecord(journal, count, (account, what) => {
    if (account !== null && replayed.has(account)) counts.set(account, (counts.get(account) ?? 0) + 1);
    unreadable(account, what);
  });
  const full = new Set(
    [...counts].flatMap(([account, found]) =>
      found > (replayed.get(account)?.recorded ?? 0) ? [account] : [],
    ),
  );
  if (full.size === 0) return;
  const look = (record: TransactionRecord): void | Promise<void> =>
    full.has(record.account) && isCounted(record) ? explain(record) : undefined;
  await eachRecord(journal, look, () => {});
}
