/**
 * The journal of the embedded store and its projections. An append is issued within a group of writes, under the
 * condition that its sequence number is free; it is waited for to its end.
 */
import { ZERO_BALANCES } from '../../domain/money.ts';
import { type Batch, type Head, type TransactionRecord, ZERO_HASH } from '../../engine/journal.ts';
import type { LookupName, LookupPage, LookupRow } from '../../engine/store/lookups.ts';
import type { Restoration } from '../../engine/store/restoration.ts';
import {
  type Append,
  type AppendResult,
  type BankWait,
  type ChangePlace,
  type DeliveryRecord,
  hasFailed,
  type Journal,
  type NumberedEntry,
  type Reads,
  type Wants,
} from '../../engine/store.ts';
import { issueAttention } from './attention.ts';
import { issueRestoration } from './audit/restoration.ts';
import { batchValue, parseBatch, parseEntriesOf, parseHead } from './batch-value.ts';
import type { DueRows, Issued } from './due/rows.ts';
import type { Environment } from './environment.ts';
import { fitsKey, type Tables } from './tables.ts';
import type { Waits } from './waits.ts';

const LAST = Number.MAX_SAFE_INTEGER;
const MAX_REMEMBERED = 50_000;

/** The time by which an append was decided, ms; 0 where its account's time is ahead of the clock. */
function clockOf({ batch, due }: Append): number {
  return due.some(({ ahead }) => ahead !== undefined) ? 0 : Date.parse(batch.at);
}

export class LmdbJournal implements Journal {
  readonly #environment: Environment;
  /** For what is issued within a group. */
  readonly #tables: Tables;
  readonly #dueRows: DueRows;
  readonly #waits: Waits;
  /** The last batch of accounts that this process appended. */
  readonly #appended = new Map<string, number>();

  constructor(environment: Environment, dueRows: DueRows, waits: Waits) {
    this.#environment = environment;
    this.#tables = environment.tables;
    this.#dueRows = dueRows;
    this.#waits = waits;
  }

  restore(restoration: Restoration): Promise<number> {
    const { account, upTo } = restoration;
    return this.#environment.transaction((tables) => {
      const newer = tables.journal.getRange({ start: [account, upTo + 1], end: [account, LAST] });
      const later = [...newer].map(({ value }) => parseBatch(value));
      return issueRestoration(tables, this.#waits, restoration, later);
    });
  }

  append(append: Append): Promise<AppendResult> {
    return this.#environment.watch.follow(this.#append(append));
  }

  #append(append: Append): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      let applied = false;
      let issued: Issued | null = null;
      this.#environment.queue.add({
        issue: (group) => {
          if (this.#wasFirst(append.batch)) return;
          const written = this.#issue(append);
          this.#waits.issue(append);
          issued = this.#dueRows.issue(append.due, append.claimUntil, clockOf(append));
          group.promises.push(
            written.then((result) => {
              applied = result;
            }),
          );
        },
        done: () => {
          if (applied) {
            this.#remember(append.batch);
            return resolve({ outcome: 'appended', claims: issued?.claims ?? [] });
          }
          this.#appended.delete(append.batch.account);
          const outcome = this.#outcomeOfKnown(append.batch);
          if (issued === null) return resolve(outcome);
          // Another process was first between the look and the write: nothing of this one may stay.
          this.#dueRows.retract(issued).then(() => resolve(outcome), reject);
        },
        reject,
      });
    });
  }

  /** Whether the number is taken, or the batch before is missing. */
  #wasFirst({ account, seq }: Batch): boolean {
    // The batch before is this process's own, so it is there; whether another process was first with this number,
    // the condition of the write tells.
    if (this.#appended.get(account) === seq - 1) return false;
    const { journal } = this.#tables;
    return journal.doesExist([account, seq]) || (seq > 1 && !journal.doesExist([account, seq - 1]));
  }

  #remember({ account, seq }: Batch): void {
    if (this.#appended.size >= MAX_REMEMBERED) this.#appended.clear();
    this.#appended.set(account, seq);
  }

  #outcomeOfKnown({ account, seq, id }: Batch): AppendResult {
    const stored = this.#tables.journal.get([account, seq]);
    if (stored !== undefined && parseBatch(stored).id === id) return { outcome: 'appended', claims: [] };
    return { outcome: 'stale' };
  }

  /** Issues the batch and its projections, all or nothing; false where the sequence number is taken. */
  #issue(append: Append): Promise<boolean> {
    const { journal, transactions, lookups, refusals } = this.#tables;
    const { account, seq, entries } = append.batch;
    return journal.ifNoExists([account, seq], () => {
      void journal.put([account, seq], batchValue(append));
      for (const record of append.records) void transactions.put(record.id, JSON.stringify(record));
      for (const { name, key, value } of append.lookups) void lookups.put([account, name, key], value);
      for (const { transaction, refusal } of entries)
        if (transaction !== null && refusal !== null) void refusals.put([transaction, seq], '');
      issueAttention(this.#tables, append);
    });
  }

  async head(account: string): Promise<Head> {
    const { journal } = this.#environment.fresh();
    const range = { start: [account, LAST], end: [account, 0], reverse: true, limit: 1 };
    for (const key of journal.getKeys(range)) {
      const value = journal.getBinary(key);
      if (value !== undefined) return parseHead(key[1], value);
    }
    return { seq: 0, at: '', balances: { ...ZERO_BALANCES }, hash: ZERO_HASH };
  }

  async read(account: string, wants: Wants): Promise<Reads> {
    const { transactions, lookups } = this.#environment.fresh();
    return {
      transactions: wants.transactions.map((id) => {
        const text = transactions.get(id);
        const record: TransactionRecord | null = text === undefined ? null : JSON.parse(text);
        return record?.account === account ? record : null;
      }),
      lookups: wants.lookups.map(({ name, key }) => lookups.get([account, name, key]) ?? null),
    };
  }

  async transaction(id: string): Promise<TransactionRecord | null> {
    const { transactions } = this.#environment.fresh();
    const text = fitsKey(id) ? transactions.get(id) : undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    const { journal } = this.#environment.fresh();
    return seqs.flatMap((seq) => {
      const value = journal.get([account, seq]);
      return value === undefined ? [] : [parseBatch(value)];
    });
  }

  async entries(account: string, transaction: string, seqs: readonly number[]): Promise<NumberedEntry[]> {
    const { journal } = this.#environment.fresh();
    return [...seqs]
      .sort((a, b) => a - b)
      .flatMap((seq) => {
        const value = journal.getBinary([account, seq]);
        return value === undefined ? [] : parseEntriesOf(transaction, value).map((entry) => ({ seq, entry }));
      });
  }

  async refusals(transaction: string, after: number, limit: number): Promise<number[]> {
    const { refusals } = this.#environment.fresh();
    const range = refusals.getKeys({ start: [transaction, after + 1], end: [transaction, LAST], limit });
    return [...range].map(([, seq]) => seq);
  }

  async batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    const { journal } = this.#environment.fresh();
    const range = journal.getRange({ start: [account, from], end: [account, LAST], limit });
    return [...range].map(({ value }) => parseBatch(value));
  }

  async accountIds(after: string, limit: number): Promise<string[]> {
    const { journal, accounts } = this.#environment.fresh();
    const ids = new Set<string>([...accounts.getKeys({ start: after, limit: limit + 1 })]);
    // Skips from account to account, whatever the length of their journals.
    for (let last = after, found = 0; found < limit; found++) {
      const [key]: [string, number][] = [...journal.getKeys({ start: [last, LAST], limit: 1 })];
      if (key === undefined) break;
      last = key[0];
      ids.add(last);
    }
    ids.delete(after);
    return [...ids].sort().slice(0, limit);
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    const range = this.#environment.fresh().transactions.getRange({ start: after, limit: limit + 1 });
    return [...range]
      .filter(({ key }) => key !== after)
      .slice(0, limit)
      .map(({ value }) => JSON.parse(value));
  }

  async lookups(account: string, after: string | null, limit: number): Promise<LookupPage> {
    const { lookups } = this.#environment.fresh();
    const [afterName, afterKey]: [string, string] = after === null ? ['', ''] : JSON.parse(after);
    const rows: LookupRow[] = [];
    for (const { key, value } of lookups.getRange({ start: [account, afterName, afterKey] })) {
      const [owner, name, own] = key;
      if (owner !== account) break;
      if (after !== null && name === afterName && own === afterKey) continue;
      rows.push({ name: name as LookupName, key: own, value });
      if (rows.length === limit) return { rows, next: JSON.stringify([name, own]) };
    }
    return { rows, next: null };
  }

  async deliveries(transaction: string): Promise<DeliveryRecord[]> {
    const { deliveries } = this.#environment.fresh();
    const records: DeliveryRecord[] = [];
    for (const { key, value } of deliveries.getRange({ start: [transaction, ''] })) {
      if (key[0] !== transaction) break;
      records.push(JSON.parse(value));
    }
    return records;
  }

  async waiting(
    wait: BankWait,
    after: ChangePlace | null,
    before: string,
    limit: number,
  ): Promise<TransactionRecord[]> {
    this.#environment.fresh();
    return this.#waits.find(wait, after, before, limit);
  }

  async failedDeliveries(after: DeliveryRecord | null, limit: number): Promise<DeliveryRecord[]> {
    const { deliveries } = this.#environment.fresh();
    const failed: DeliveryRecord[] = [];
    for (const { value } of deliveries.getRange({
      start: after === null ? ['', ''] : [after.transaction, after.id],
    })) {
      const record: DeliveryRecord = JSON.parse(value);
      if (!hasFailed(record) || record.id === after?.id) continue;
      failed.push(record);
      if (failed.length === limit) break;
    }
    return failed;
  }
}
