/**
 * The embedded store on LMDB: the default. Owns the data folder's environment and this incarnation's claims.
 *
 * - A batch and its projections are one conditional block of one LMDB transaction: all or nothing.
 * - An append resolves once its transaction is flushed to disk (I5). The first failed write is fatal.
 * - An append is waited for to its end. Whoever waits for another write is told after 5 s; the write goes on.
 * - Due things lie in rows of a group; a row belongs to one incarnation at a time and goes when all of its
 *   things are settled. A thing of a row that is taken over may have been done already: it is a hint.
 */

import type { Account } from '../../domain/account.ts';
import { ZERO_BALANCES } from '../../domain/money.ts';
import {
  type Batch,
  type BatchContent,
  batchFrom,
  type Entry,
  type Head,
  type TransactionRecord,
  ZERO_HASH,
} from '../../engine/journal.ts';
import {
  type AccountTable,
  type Append,
  type AppendResult,
  type Attention,
  type AttentionItem,
  type Claim,
  type DeliveryRecord,
  type DueIndex,
  type DueKind,
  type Journal,
  type LookupName,
  type LookupRow,
  type Reads,
  type Settlement,
  type Store,
  StoreUnavailable,
  type Wants,
} from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { type Issued, LmdbDue } from './due.ts';
import { closeTables, openTables, openToRead, type Tables } from './tables.ts';
import { type WriteGroup, WriteQueue } from './write-queue.ts';
import { WriteWatch } from './write-watch.ts';

export interface LmdbStoreOptions {
  /** The data folder; it must exist. */
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  now(): number;
  /** An incarnation without a heartbeat for so long has fallen silent. */
  silentAfterMs: number;
  /** Nothing will be written: opening doesn't wait for a writer then, even a frozen one. */
  readOnly?: boolean;
  /** A write or flush failed: the process must stop. */
  onFatal(error: Error): void;
}

const LAST = Number.MAX_SAFE_INTEGER;
/** How long a cashout must be open before `tidy` looks at it. */
const TIDY_AFTER_MS = 60_000;
const HASH_LENGTH = 64;
const LONGEST_ID = 200;
const MAX_REMEMBERED = 50_000;
const ENTRIES = ',"entries":[';

function journalValue({ batch, content }: Append): string {
  return batch.hash + content;
}

/** The head after a batch: what stands before the entries in the canonical order is parsed, not the entries. */
function headOf(seq: number, value: string): Head {
  const start = `${value.slice(HASH_LENGTH, value.indexOf(ENTRIES))}}`;
  const { at, balances } = JSON.parse(start) as Pick<Batch, 'at' | 'balances'>;
  return { seq, at, balances, hash: value.slice(0, HASH_LENGTH) };
}

function batchOf(value: string): Batch {
  return batchFrom(JSON.parse(value.slice(HASH_LENGTH)) as BatchContent, value.slice(0, HASH_LENGTH));
}

function openedCashouts(append: Append): string[] {
  const opened = (entry: Entry): boolean => entry.type === 'cashout' && entry.from === null;
  return append.batch.entries.filter(opened).map((entry) => entry.transaction ?? '');
}

function attentionValue(item: AttentionItem, done = false): string {
  return JSON.stringify({ item, done });
}

/** What may be looked for at all: LMDB's keys are bounded, and what callers name is not. */
function isId(text: string): boolean {
  return text.length <= LONGEST_ID;
}

class LmdbStore implements Store, Journal, DueIndex, Attention, AccountTable {
  readonly journal: Journal = this;
  readonly due: DueIndex = this;
  readonly attention: Attention = this;
  readonly accounts: AccountTable = this;
  readonly #tables: Tables;
  readonly #due: LmdbDue;
  readonly #queue: WriteQueue;
  readonly #options: LmdbStoreOptions;
  readonly #watch = new WriteWatch();
  /** The last batch of accounts that this process appended. */
  readonly #appended = new Map<string, number>();
  /** Cashouts that the group being issued opens. */
  #opened: string[] = [];
  #rows = 0;
  #closed = false;

  constructor(options: LmdbStoreOptions, tables: Tables) {
    this.#options = options;
    this.#tables = tables;
    this.#due = new LmdbDue(tables, options);
    this.#queue = new WriteQueue(
      () => this.#startGroup(),
      (issue) => this.#tables.root.batch(issue),
      tables.gate,
      (error) => this.#fatal(error),
    );
  }

  #fatal(error: Error): void {
    // lmdb tells the cause in a promise of its own.
    const cause = (error as Error & { commitError?: Promise<never> }).commitError;
    if (cause === undefined) this.#options.onFatal(error);
    else cause.catch((reason: unknown) => this.#options.onFatal(reason instanceof Error ? reason : error));
  }

  #startGroup(): WriteGroup {
    const group: WriteGroup = { promises: [], last: [] };
    this.#due.startGroup(group);
    this.#opened = [];
    group.last.push(() => {
      if (this.#opened.length === 0) return;
      const key: [number, string] = [this.#options.now(), this.#rowId()];
      group.promises.push(this.#tables.open.put(key, JSON.stringify(this.#opened)));
    });
    return group;
  }

  #rowId(): string {
    this.#rows += 1;
    return `${this.#options.incarnation}.${this.#rows.toString(36)}`;
  }

  /** The tables as they are now: without the reset, a read may be as old as the event loop's last turns. */
  #check(): Tables {
    if (this.#closed) throw new StoreUnavailable('the store is closed');
    this.#tables.root.resetReadTxn();
    return this.#tables;
  }

  async head(account: string): Promise<Head> {
    const { journal } = this.#check();
    for (const { key, value } of journal.getRange({
      start: [account, LAST],
      end: [account, 0],
      reverse: true,
      limit: 1,
    })) {
      return headOf(key[1], value);
    }
    return { seq: 0, at: '', balances: { ...ZERO_BALANCES }, hash: ZERO_HASH };
  }

  async read(account: string, wants: Wants): Promise<Reads> {
    const { transactions, lookups } = this.#check();
    return {
      transactions: wants.transactions.map((id) => {
        const text = transactions.get(id);
        const record: TransactionRecord | null = text === undefined ? null : JSON.parse(text);
        return record?.account === account ? record : null;
      }),
      lookups: wants.lookups.map(({ name, key }) => lookups.get([account, name, key]) ?? null),
    };
  }

  append(append: Append): Promise<AppendResult> {
    return this.#watch.follow(this.#append(append));
  }

  #append(append: Append): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      let appended: Promise<boolean> = Promise.resolve(false);
      let applied = false;
      let issued: Issued | null = null;
      this.#queue.add({
        issue: (group) => {
          if (this.#wasFirst(append.batch)) return;
          appended = this.#issue(append);
          this.#opened.push(...openedCashouts(append));
          issued = this.#due.issue(append.due, append.claimUntil);
          group.promises.push(
            appended.then((result) => {
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
          this.#due.retract(issued).then(() => resolve(outcome), reject);
        },
        reject,
      });
    });
  }

  /** Whether the number is taken, or the batch before is missing. */
  #wasFirst({ account, seq }: Batch): boolean {
    // What this process appended itself is there; whoever was first after it, the condition of the write tells.
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
    if (stored !== undefined && batchOf(stored).id === id) return { outcome: 'appended', claims: [] };
    return { outcome: 'stale' };
  }

  #issue(append: Append): Promise<boolean> {
    const { journal, transactions, lookups, attention } = this.#tables;
    const { account, seq } = append.batch;
    return journal.ifNoExists([account, seq], () => {
      void journal.put([account, seq], journalValue(append));
      for (const record of append.records) void transactions.put(record.id, JSON.stringify(record));
      for (const { name, key, value } of append.lookups) void lookups.put([account, name, key], value);
      // Neither `noOverwrite` nor a condition of its own holds inside a conditional block of lmdb 3.5.6.
      for (const item of append.attention) {
        const key: [string, string] = [item.id, item.kind];
        if (!attention.doesExist(key)) void attention.put(key, attentionValue(item));
      }
    });
  }

  async transaction(id: string): Promise<TransactionRecord | null> {
    const { transactions } = this.#check();
    const text = isId(id) ? transactions.get(id) : undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    const { journal } = this.#check();
    return seqs.flatMap((seq) => {
      const value = journal.get([account, seq]);
      return value === undefined ? [] : [batchOf(value)];
    });
  }

  async batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    const { journal } = this.#check();
    return [...journal.getRange({ start: [account, from], end: [account, LAST], limit })].map(({ value }) =>
      batchOf(value),
    );
  }

  async accountIds(): Promise<string[]> {
    const { journal, accounts } = this.#check();
    const ids = new Set<string>([...accounts.getKeys()]);
    let after: string | null = null;
    // Skips from account to account, whatever the length of their journals.
    for (;;) {
      const start: [string, number] | undefined = after === null ? undefined : [after, LAST];
      const [key]: [string, number][] = [
        ...journal.getKeys(start === undefined ? { limit: 1 } : { start, limit: 1 }),
      ];
      if (key === undefined) return [...ids].sort();
      ids.add(key[0]);
      after = key[0];
    }
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    const range = this.#check().transactions.getRange({ start: after, limit: limit + 1 });
    return [...range]
      .filter(({ key }) => key !== after)
      .slice(0, limit)
      .map(({ value }) => JSON.parse(value));
  }

  async lookups(account: string): Promise<LookupRow[]> {
    const { lookups } = this.#check();
    const rows: LookupRow[] = [];
    for (const { key, value } of lookups.getRange({ start: [account, '', ''] })) {
      if (key[0] !== account) break;
      rows.push({ name: key[1] as LookupName, key: key[2], value });
    }
    return rows;
  }

  async beat(now: number): Promise<void> {
    this.#check();
    await this.#watch.bound(this.#due.beat(now));
  }

  async claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    this.#check();
    return this.#watch.bound(this.#due.claim(kind, now, limit), (claims) => this.#due.drop(claims));
  }

  settle(settlements: Settlement[]): Promise<boolean[]> {
    const settled = new Promise<boolean[]>((resolve, reject) => {
      let results: boolean[] = [];
      this.#queue.add({
        issue: (group) => {
          const { deliveries } = this.#tables;
          results = settlements.map(({ claim, next, record, attention }) => {
            if (claim !== null && !this.#due.release(claim)) return false;
            if (next !== null) this.#due.issue([next], 0);
            if (record !== undefined) {
              group.promises.push(deliveries.put([record.transaction, record.id], JSON.stringify(record)));
            }
            // What happens again is news again, also where somebody was done with it.
            if (attention !== undefined) {
              const key: [string, string] = [attention.id, attention.kind];
              group.promises.push(this.#tables.attention.put(key, attentionValue(attention)));
            }
            return true;
          });
        },
        done: () => resolve(results),
        reject,
      });
    });
    return this.#watch.bound(settled);
  }

  /** An item that is known stays as it is, done or not. */
  #putAttention(item: AttentionItem): Promise<boolean> {
    // The option is there; lmdb's types don't know it.
    const options = { noOverwrite: true } as unknown as number;
    return this.#tables.attention.put([item.id, item.kind], attentionValue(item), options);
  }

  async park(claims: Claim[]): Promise<void> {
    this.#check();
    await this.#watch.bound(this.#due.park(claims));
  }

  async unpark(now: number): Promise<number> {
    this.#check();
    return this.#watch.bound(this.#due.unpark(now));
  }

  async deliveries(transaction: string): Promise<DeliveryRecord[]> {
    const records: DeliveryRecord[] = [];
    for (const { key, value } of this.#check().deliveries.getRange({ start: [transaction, ''] })) {
      if (key[0] !== transaction) break;
      records.push(JSON.parse(value));
    }
    return records;
  }

  async list(): Promise<AttentionItem[]> {
    const items: AttentionItem[] = [];
    for (const { value } of this.#check().attention.getRange()) {
      const { item, done } = JSON.parse(value) as { item: AttentionItem; done: boolean };
      if (!done) items.push(item);
    }
    return items.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
  }

  note(items: AttentionItem[]): Promise<void> {
    const noted = new Promise<void>((resolve, reject) => {
      this.#queue.add({
        issue: (group) => {
          for (const item of items) group.promises.push(this.#putAttention(item));
        },
        done: resolve,
        reject,
      });
    });
    return this.#watch.bound(noted);
  }

  /** A write that reads first, in one transaction; for what is rare. */
  async #transaction<Result>(body: (tables: Tables) => Result): Promise<Result> {
    return this.#watch.bound(this.#transact(this.#check(), body));
  }

  async #transact<Result>(tables: Tables, body: (tables: Tables) => Result): Promise<Result> {
    try {
      return await tables.gate.write(() => tables.root.transaction(() => body(tables)));
    } catch (error) {
      this.#fatal(asError(error));
      throw error;
    }
  }

  async dismiss(id: string): Promise<boolean> {
    if (!isId(id)) return false;
    return this.#transaction(({ attention }) => {
      let found = false;
      for (const { key, value } of [...attention.getRange({ start: [id, ''] })]) {
        if (key[0] !== id) break;
        const { item, done } = JSON.parse(value) as { item: AttentionItem; done: boolean };
        found ||= !done;
        void attention.put(key, attentionValue(item, true));
      }
      return found;
    });
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    const { attention } = this.#check();
    return ids.map((id) => {
      let dismissed = false;
      for (const { key, value } of attention.getRange({ start: [id, ''] })) {
        if (key[0] !== id) break;
        if (!(JSON.parse(value) as { done: boolean }).done) return false;
        dismissed = true;
      }
      return dismissed;
    });
  }

  async openCashouts(before: string, limit: number): Promise<TransactionRecord[]> {
    const { open } = this.#check();
    const found: TransactionRecord[] = [];
    for (const { value } of open.getRange({ end: [Date.parse(before) + 1, ''] })) {
      for (const id of JSON.parse(value) as string[]) {
        const record = await this.transaction(id);
        if (record === null || record.final || record.updatedAt >= before) continue;
        found.push(record);
        if (found.length === limit) return found;
      }
    }
    return found;
  }

  async tidy(now: number): Promise<void> {
    const { open, transactions, gate } = this.#check();
    const stillOpen = (id: string): boolean => {
      const text = transactions.get(id);
      return text !== undefined && !(JSON.parse(text) as TransactionRecord).final;
    };
    const write = (): Promise<unknown> => {
      const writes: Promise<unknown>[] = [];
      for (const { key, value } of open.getRange({ end: [now - TIDY_AFTER_MS, ''] })) {
        const ids = JSON.parse(value) as string[];
        const kept = ids.filter(stillOpen);
        if (kept.length === 0) writes.push(open.remove(key));
        else if (kept.length < ids.length) writes.push(open.put(key, JSON.stringify(kept)));
      }
      return Promise.all(writes);
    };
    await this.#watch.bound(gate.write(write));
  }

  async get(id: string): Promise<Account | null> {
    const { accounts } = this.#check();
    const text = isId(id) ? accounts.get(id) : undefined;
    return text === undefined ? null : JSON.parse(text);
  }

  async byClientId(clientId: string): Promise<Account | null> {
    const { clients } = this.#check();
    const id = isId(clientId) ? clients.get(clientId) : undefined;
    return id === undefined ? null : this.get(id);
  }

  async all(): Promise<Account[]> {
    return [...this.#check().accounts.getRange()].map(({ value }) => JSON.parse(value));
  }

  put(account: Account): Promise<boolean> {
    return this.#transaction(({ accounts, clients }) => {
      const text = accounts.get(account.id);
      const before: Account | null = text === undefined ? null : JSON.parse(text);
      if ((before?.version ?? 0) !== account.version - 1) return false;
      if (before !== null && before.clientId !== account.clientId) void clients.remove(before.clientId);
      void clients.put(account.clientId, account.id);
      void accounts.put(account.id, JSON.stringify(account));
      return true;
    });
  }

  async ping(): Promise<void> {
    this.#check().accounts.doesExist('');
    this.#watch.check();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#queue.close();
    await closeTables(this.#tables);
  }
}

/** Opens the embedded store in a folder. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const tables = options.readOnly === true ? await openToRead(options.folder) : null;
  return new LmdbStore(options, tables ?? (await openTables(options.folder)));
}
