/**
 * Records as they are kept: one that a single batch has made is the number of that batch's row in the log, from which it
 * is made again; one that has changed is whole.
 */
import type { Entry, TransactionRecord } from '../../../engine/journal.ts';
import { project } from '../../../engine/project.ts';
import { parseBatch, parseEntriesOf, parseNumber } from '../log/batch-value.ts';
import type { Log } from '../log/log.ts';
import { batchIn } from '../log/rows.ts';
import { ALL } from './keys.ts';
import { type Coding, Overlay } from './overlay.ts';
import type { Table } from './table.ts';

/** A record, and the row of the batch that alone has made it; null where it has more of them. */
interface Kept {
  record: TransactionRecord;
  number: number | null;
}

/** Records that were written and are kept in memory: most are asked for again soon, or never. */
const RECENT = 8_000;
/** Begins no JSON. */
const ROW = '@';

function byTransaction(entries: readonly Entry[]): Map<string | null, Entry[]> {
  const all = new Map<string | null, Entry[]>();
  for (const entry of entries) {
    const known = all.get(entry.transaction);
    if (known === undefined) all.set(entry.transaction, [entry]);
    else known.push(entry);
  }
  return all;
}

/**
 * Records that are made again from one batch each. Neighbours lie in the same one, and it may be long: whoever asks for a
 * second record of a batch right after the first has all of it parsed, once.
 */
class MadeByOne {
  readonly #log: Log;
  /** The row that was asked for last. */
  #number = 0;
  /** The batch in it, and its entries by transaction; null where only one record was asked for. */
  #parsed: { account: string; seq: number; entries: ReadonlyMap<string | null, Entry[]> } | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  /** @throws Error where the log doesn't have it */
  record(number: number, id: string): TransactionRecord {
    const { account, seq, entries } = this.#read(number, id);
    let record: TransactionRecord | null = null;
    for (const entry of entries) record = project(record, account, seq, entry);
    if (record === null) throw new Error(`row ${number} of the log tells nothing of ${id}`);
    return record;
  }

  #read(number: number, id: string): { account: string; seq: number; entries: readonly Entry[] } {
    const isAgain = number === this.#number;
    if (!isAgain) this.#parsed = null;
    this.#number = number;
    if (this.#parsed === null) {
      const row = this.#log.bytes(number);
      const value = row === undefined ? null : batchIn(row);
      if (value === null) throw new Error(`row ${number} of the log has no batch`);
      if (!isAgain) return { ...parseNumber(value), entries: parseEntriesOf(id, value) };
      const { account, seq, entries } = parseBatch(value.toString('utf8'));
      this.#parsed = { account, seq, entries: byTransaction(entries) };
    }
    const { account, seq, entries } = this.#parsed;
    return { account, seq, entries: entries.get(id) ?? [] };
  }
}

function codingOn(log: Log): Coding<Kept> {
  const made = new MadeByOne(log);
  return {
    encode: ({ record, number }) => (number === null ? JSON.stringify(record) : ROW + number),
    decode: (text, id) => {
      if (!text.startsWith(ROW)) return { record: JSON.parse(text), number: null };
      const number = Number(text.slice(ROW.length));
      return { record: made.record(number, id), number };
    },
  };
}

export class Records {
  readonly #overlay: Overlay<Kept>;

  constructor(table: Table, log: Log) {
    this.#overlay = new Overlay({ table, coding: codingOn(log), recent: RECENT });
  }

  get waiting(): number {
    return this.#overlay.waiting;
  }

  get(id: string): TransactionRecord | null {
    return this.#overlay.get(id)?.record ?? null;
  }

  /** Whether there is a record, be it one that can't be read. */
  has(id: string): boolean {
    return this.#overlay.has(id);
  }

  *behind(after: string): Generator<TransactionRecord> {
    for (const [id, { record }] of this.#overlay.range(after, ALL[1])) if (id !== after) yield record;
  }

  /** How many records there are, be they such that can't be read. */
  count(): number {
    return this.#overlay.count();
  }

  /** `number` is the row of the batch that changed it last. */
  put(record: TransactionRecord, number: number): void {
    const isMadeByOne = record.seqs.length === 1 && record.refusals === undefined;
    this.#overlay.put(record.id, { record, number: isMadeByOne ? number : null });
  }

  /** As `put`, of a record whose row isn't known. */
  putWhole(record: TransactionRecord): void {
    this.#overlay.put(record.id, { record, number: null });
  }

  remove(id: string): void {
    this.#overlay.remove(id);
  }

  issue(): Promise<unknown>[] {
    return this.#overlay.issue();
  }

  written(): void {
    this.#overlay.written();
  }
}
