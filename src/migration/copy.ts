/**
 * Copies an account's journal and the progress of its deliveries. What is copied is closed: no timer, order or
 * delivery of it is due in the target, so nobody there acts on an account that isn't whole.
 *
 * 1. The progress comes first: whoever finds a delivery's entry in the target finds that it was delivered.
 * 2. Batches come in order, each as it is, to the byte; one that the target has already is passed over.
 * 3. Records are projected again, each from the one before: the last few thousand are kept, others are read
 *    back from the target, which has them as of the batch before.
 */
import type { Batch, TransactionRecord } from '../engine/journal.ts';
import { lookupsOf } from '../engine/lookups.ts';
import { project } from '../engine/project.ts';
import { contentOf } from '../engine/store/content.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';
import { MigrationRefused } from './refused.ts';
import { chunks, journalOf, type Stores } from './stores.ts';

const MOST_RECORDS = 2_000;
const AT_ONCE = 100;

/** The target has a batch of its own where the source has another. */
export function otherJournal(account: string, seq: number): MigrationRefused {
  return new MigrationRefused(
    'TARGET_CONFLICT',
    `the target has another journal for ${account} (batch ${seq} differs): both stay as they are`,
  );
}

class JournalCopy {
  readonly #stores: Stores;
  readonly #account: string;
  /** Records as of the last batch, the longest unused first. */
  readonly #records = new Map<string, TransactionRecord>();

  constructor(stores: Stores, account: string) {
    this.#stores = stores;
    this.#account = account;
  }

  async append(batch: Batch): Promise<void> {
    await this.#load(batch);
    const changed = new Map<string, TransactionRecord>();
    for (const entry of batch.entries) {
      if (entry.transaction === null) continue;
      const before = changed.get(entry.transaction) ?? this.#records.get(entry.transaction) ?? null;
      changed.set(entry.transaction, project(before, this.#account, batch.seq, entry));
    }
    const { outcome } = await this.#stores.target.journal.append({
      batch,
      content: contentOf(batch),
      records: [...changed.values()],
      lookups: batch.entries.flatMap(lookupsOf),
      due: [],
      attention: [],
      withdrawn: [],
      claimUntil: 0,
      imported: true,
    });
    if (outcome === 'stale') throw otherJournal(this.#account, batch.seq);
    this.#keep(changed);
  }

  /** Reads back the records that the batch changes and that aren't kept any more. */
  async #load({ seq, entries }: Batch): Promise<void> {
    const missing = new Set<string>();
    const created = new Set<string>();
    for (const { transaction, from } of entries) {
      if (transaction === null || this.#records.has(transaction) || created.has(transaction)) continue;
      if (from === null) created.add(transaction);
      else missing.add(transaction);
    }
    if (missing.size === 0) return;
    const ids = [...missing];
    const { transactions } = await this.#stores.target.journal.read(this.#account, {
      transactions: ids,
      lookups: [],
    });
    for (const [index, id] of ids.entries()) {
      const record = transactions[index] ?? null;
      if (record === null) throw new Error(`the target lacks the record of ${id} before batch ${seq}`);
      this.#records.set(id, record);
    }
  }

  #keep(changed: ReadonlyMap<string, TransactionRecord>): void {
    for (const [id, record] of changed) {
      this.#records.delete(id);
      this.#records.set(id, record);
    }
    for (const id of this.#records.keys()) {
      if (this.#records.size <= MOST_RECORDS) return;
      this.#records.delete(id);
    }
  }
}

/** Copies the batches that the target doesn't have yet; `onPage` hears up to which number it is. */
export async function copyJournal(
  stores: Stores,
  account: string,
  onPage: (seq: number) => void,
): Promise<void> {
  const copy = new JournalCopy(stores, account);
  const { seq } = await stores.target.journal.head(account);
  for await (const page of journalOf(stores.source, account, seq + 1)) {
    for (const batch of page) await copy.append(batch);
    onPage(page.at(-1)?.seq ?? seq);
  }
}

/** The records of a transaction's deliveries that the target lacks. */
async function lacking(
  { source, target }: Stores,
  transaction: string,
  mayBeAhead: boolean,
): Promise<readonly DeliveryRecord[]> {
  const records = await source.journal.deliveries(transaction);
  if (!mayBeAhead || records.length === 0) return records;
  const there = new Map((await target.journal.deliveries(transaction)).map((record) => [record.id, record]));
  return records.filter(({ id, attempts }) => attempts.length > (there.get(id)?.attempts.length ?? -1));
}

/**
 * Copies the progress of the account's deliveries. Where the target `mayBeAhead`, since a run before this one has
 * made them due there, what it has stays unless there were more attempts here.
 */
export async function copyProgress(stores: Stores, account: string, mayBeAhead: boolean): Promise<void> {
  for await (const page of journalOf(stores.source, account)) {
    const created = page.flatMap(({ entries }) =>
      entries.flatMap(({ transaction, from }) =>
        transaction !== null && from === null ? [transaction] : [],
      ),
    );
    for (const transactions of chunks(created, AT_ONCE)) {
      const records = await Promise.all(transactions.map((id) => lacking(stores, id, mayBeAhead)));
      for (const part of chunks(records.flat(), AT_ONCE)) {
        await stores.target.due.settle(part.map((record) => ({ claim: null, next: null, record })));
      }
    }
  }
}
