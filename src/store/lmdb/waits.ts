/**
 * Transactions that wait for the bank, found by when they changed last. Each group of writes makes one row for those
 * that changed in the same millisecond; an id stays in its row, and is passed over, until `tidy` comes by.
 */

import { BANK_WAITS, waitOf } from '../../engine/attention.ts';
import type { TransactionRecord } from '../../engine/journal.ts';
import type { Append, BankWait, ChangePlace } from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import type { Tables, WaitKey } from './tables.ts';
import type { WriteGroup } from './write-queue.ts';

/** How old a row must be before `tidy` looks at it. */
const TIDY_AFTER_MS = 60_000;
/** Rows of what goes on waiting are looked at again after so long. */
const TIDY_AGAIN_MS = 600_000;
/** The most ids that are looked at before others get their turn. */
const SLICE = 1_000;

export interface WaitsOptions {
  incarnation: string;
  now(): number;
}

/** Where `tidy` stands in the rows of a wait. */
interface Tidied {
  from: number;
  againAt: number;
}

export class Waits {
  readonly #tables: Tables;
  readonly #options: WaitsOptions;
  /** Ids of what the present group makes wait, by wait and time. */
  #waiting = new Map<string, { wait: BankWait; at: number; ids: string[] }>();
  #rows = 0;
  readonly #tidied = new Map<BankWait, Tidied>();

  constructor({ tables, queue }: Environment, options: WaitsOptions) {
    this.#tables = tables;
    this.#options = options;
    queue.onStart((group) => this.#startGroup(group));
  }

  #startGroup(group: WriteGroup): void {
    this.#waiting = new Map();
    const waiting = this.#waiting;
    group.last.push(() => {
      for (const { wait, at, ids } of waiting.values()) {
        group.promises.push(this.#tables.waits.put(this.#newKey(wait, at), JSON.stringify(ids)));
      }
    });
  }

  /** Puts what an append makes wait, or has changed while it waits, into the present group's rows. */
  issue({ batch, records }: Append): void {
    for (const record of records) {
      const wait = waitOf(record);
      if (wait === null || record.updatedAt !== batch.at) continue;
      const at = Date.parse(record.updatedAt);
      const name = `${wait} ${at}`;
      const row = this.#waiting.get(name);
      if (row === undefined) this.#waiting.set(name, { wait, at, ids: [record.id] });
      else row.ids.push(record.id);
    }
  }

  /** Puts records that wait, and that no row names, into rows of their own, within a transaction; how many. */
  restore(records: readonly TransactionRecord[]): number {
    const { waits } = this.#tables;
    const unnamed = records.flatMap((record) => {
      const wait = waitOf(record);
      if (wait === null) return [];
      const at = Date.parse(record.updatedAt);
      const rows = [...waits.getRange({ start: [wait, at, ''], end: [wait, at + 1, ''] })];
      const isNamed = rows.some(({ value }) => (JSON.parse(value) as string[]).includes(record.id));
      return isNamed ? [] : [{ wait, at, id: record.id }];
    });
    for (const { wait, at, id } of unnamed) void waits.put(this.#newKey(wait, at), JSON.stringify([id]));
    return unnamed.length;
  }

  #newKey(wait: BankWait, at: number): WaitKey {
    this.#rows += 1;
    return [wait, at, `${this.#options.incarnation}.${this.#rows.toString(36)}`];
  }

  /** The record that still waits since then; null where it went on. */
  #waitingSince(id: string, wait: BankWait, at: number): TransactionRecord | null {
    const text = this.#tables.transactions.get(id);
    if (text === undefined) return null;
    const record: TransactionRecord = JSON.parse(text);
    return waitOf(record) === wait && Date.parse(record.updatedAt) === at ? record : null;
  }

  /** What waits and changed last before this time (ISO), behind a place, oldest change first. */
  find(wait: BankWait, after: ChangePlace | null, before: string, limit: number): TransactionRecord[] {
    const start: WaitKey = [wait, after === null ? 0 : Date.parse(after.updatedAt), ''];
    const end: WaitKey = [wait, Date.parse(before), ''];
    const found: TransactionRecord[] = [];
    let same = new Map<string, TransactionRecord>();
    let at = start[1];
    const takeSame = (): void => {
      const sorted = [...same.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      same = new Map();
      const isFirst = after !== null && at === start[1];
      found.push(...sorted.filter(({ id }) => !isFirst || id > after.id));
    };
    for (const { key, value } of this.#tables.waits.getRange({ start, end })) {
      if (key[1] !== at) {
        takeSame();
        at = key[1];
        if (found.length >= limit) break;
      }
      for (const id of JSON.parse(value) as string[]) {
        const record = this.#waitingSince(id, wait, at);
        if (record !== null) same.set(id, record);
      }
    }
    takeSame();
    return found.slice(0, limit);
  }

  /** Takes ids out that wait no more; between slices others get their turn. */
  async tidy(now: number): Promise<void> {
    for (const wait of BANK_WAITS) {
      const tidied = this.#tidied.get(wait) ?? { from: 0, againAt: now + TIDY_AGAIN_MS };
      if (now >= tidied.againAt) Object.assign(tidied, { from: 0, againAt: now + TIDY_AGAIN_MS });
      this.#tidied.set(wait, tidied);
      while (await this.#tidySlice(wait, tidied, now - TIDY_AFTER_MS)) await new Promise(setImmediate);
    }
  }

  /** False once there are no rows left to look at. */
  async #tidySlice(wait: BankWait, tidied: Tidied, before: number): Promise<boolean> {
    const { gate, waits } = this.#tables;
    const range = waits.getRange({ start: [wait, tidied.from, ''], end: [wait, before, ''] });
    const changes: { key: WaitKey; ids: string[] }[] = [];
    let looked = 0;
    for (const { key, value } of range) {
      if (looked >= SLICE && key[1] !== tidied.from) break;
      tidied.from = key[1];
      const ids: string[] = JSON.parse(value);
      looked += ids.length;
      const kept = ids.filter((id) => this.#waitingSince(id, wait, key[1]) !== null);
      if (kept.length < ids.length) changes.push({ key, ids: kept });
    }
    if (looked < SLICE) tidied.from = Math.max(tidied.from, before);
    const write = ({ key, ids }: { key: WaitKey; ids: string[] }): Promise<boolean> =>
      ids.length === 0 ? waits.remove(key) : waits.put(key, JSON.stringify(ids));
    if (changes.length > 0) await gate.write(() => Promise.all(changes.map(write)));
    return looked >= SLICE;
  }
}
