/**
 * A store that is away is asked again for a while: a change of the primary in the middle throws nothing away that
 * was read before.
 */
import { type JournalReads, StoreUnavailable, StoreUnusable } from '../engine/store.ts';
import { again, type Soon } from '../waiting.ts';

/** What verify and rebuild ask a journal. */
export type AuditReads = Pick<
  JournalReads,
  | 'log'
  | 'head'
  | 'read'
  | 'transaction'
  | 'batches'
  | 'storedOtherwise'
  | 'entries'
  | 'refusals'
  | 'batchesFrom'
  | 'accountIds'
  | 'records'
  | 'lookups'
  | 'deliveries'
  | 'waiting'
>;

const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Does the work again while the store is away. @throws StoreUnavailable after `patienceMs` of that; StoreUnusable at once */
export function patiently<Result>(work: () => Soon<Result>, patienceMs = PATIENCE_MS): Promise<Result> {
  const until = performance.now() + patienceMs;
  return again(work, (error, attempt) => {
    if (!(error instanceof StoreUnavailable) || error instanceof StoreUnusable) return null;
    if (performance.now() > until) return null;
    return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  });
}

/** The same reads, each tried again while the store is away. */
export function patientReads(journal: AuditReads, patienceMs = PATIENCE_MS): AuditReads {
  const wait = <Result>(work: () => Soon<Result>): Promise<Result> => patiently(work, patienceMs);
  return {
    ...(journal.log === undefined ? {} : { log: journal.log }),
    head: (account) => wait(() => journal.head(account)),
    read: (account, wants) => wait(() => journal.read(account, wants)),
    transaction: (id) => wait(() => journal.transaction(id)),
    batches: (account, seqs) => wait(() => journal.batches(account, seqs)),
    storedOtherwise: (account, seqs) =>
      wait(async () => (await journal.storedOtherwise?.(account, seqs)) ?? []),
    entries: (account, transaction, seqs) => wait(() => journal.entries(account, transaction, seqs)),
    refusals: (transaction, after, limit) => wait(() => journal.refusals(transaction, after, limit)),
    batchesFrom: (account, from, limit) => wait(() => journal.batchesFrom(account, from, limit)),
    accountIds: (after, limit) => wait(() => journal.accountIds(after, limit)),
    records: (after, limit) => wait(() => journal.records(after, limit)),
    lookups: (account, after, limit) => wait(() => journal.lookups(account, after, limit)),
    deliveries: (transaction) => wait(() => journal.deliveries(transaction)),
    waiting: (wanted, after, before, limit) => wait(() => journal.waiting(wanted, after, before, limit)),
  };
}
