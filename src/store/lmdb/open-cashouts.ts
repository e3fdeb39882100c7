/**
 * Cashouts that may still be open, found by when they were created. Each group of writes makes one row of those
 * that it opens; ids of cashouts that came to their end stay in it until `tidy`.
 */
import type { Entry, TransactionRecord } from '../../engine/journal.ts';
import type { Append } from '../../engine/store.ts';
import type { Environment } from './environment.ts';
import type { OpenKey, Tables } from './tables.ts';
import type { WriteGroup } from './write-queue.ts';

/** How long a cashout must be open before `tidy` looks at it. */
const TIDY_AFTER_MS = 60_000;

export interface OpenCashoutsOptions {
  incarnation: string;
  now(): number;
}

function opensCashout({ type, from }: Entry): boolean {
  return type === 'cashout' && from === null;
}

export class OpenCashouts {
  readonly #tables: Tables;
  readonly #options: OpenCashoutsOptions;
  /** Ids of the cashouts that the present group opens. */
  #opened: string[] = [];
  #rows = 0;

  constructor({ tables, queue }: Environment, options: OpenCashoutsOptions) {
    this.#tables = tables;
    this.#options = options;
    queue.onStart((group) => this.#startGroup(group));
  }

  #startGroup(group: WriteGroup): void {
    this.#opened = [];
    group.last.push(() => {
      if (this.#opened.length === 0) return;
      const key: OpenKey = [this.#options.now(), this.#rowId()];
      group.promises.push(this.#tables.open.put(key, JSON.stringify(this.#opened)));
    });
  }

  #rowId(): string {
    this.#rows += 1;
    return `${this.#options.incarnation}.${this.#rows.toString(36)}`;
  }

  /** Puts the cashouts that an append opens into the present group's row. */
  issue({ batch }: Append): void {
    for (const entry of batch.entries) if (opensCashout(entry)) this.#opened.push(entry.transaction ?? '');
  }

  #record(id: string): TransactionRecord | null {
    const text = this.#tables.transactions.get(id);
    return text === undefined ? null : JSON.parse(text);
  }

  /** Cashouts that aren't final and changed last before this time (ISO), in the order of their creation. */
  find(before: string, limit: number): TransactionRecord[] {
    const found: TransactionRecord[] = [];
    for (const { value } of this.#tables.open.getRange({ end: [Date.parse(before) + 1, ''] })) {
      for (const id of JSON.parse(value) as string[]) {
        const record = this.#record(id);
        if (record === null || record.final || record.updatedAt >= before) continue;
        found.push(record);
        if (found.length === limit) return found;
      }
    }
    return found;
  }

  /** Takes ids out that are of no use any more. */
  tidy(now: number): Promise<unknown> {
    return this.#tables.gate.write(() => Promise.all(this.#tidyRows(now - TIDY_AFTER_MS)));
  }

  #tidyRows(before: number): Promise<boolean>[] {
    const { open } = this.#tables;
    const writes: Promise<boolean>[] = [];
    for (const { key, value } of open.getRange({ end: [before, ''] })) {
      const ids: string[] = JSON.parse(value);
      const kept = ids.filter((id) => this.#record(id)?.final === false);
      if (kept.length === 0) writes.push(open.remove(key));
      else if (kept.length < ids.length) writes.push(open.put(key, JSON.stringify(kept)));
    }
    return writes;
  }
}
