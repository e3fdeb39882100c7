/**
 * Records as they are kept: the numbers of the rows of the log whose batches have made them, from which they are made
 * again; one that many batches have changed, or that has refused messages, is whole.
 */
import type { TransactionRecord } from '../../../engine/journal.ts';
import { project } from '../../../engine/project.ts';
import { RecordUnreadable } from '../../../engine/store.ts';
import { textOf } from '../../../errors.ts';
import type { Log } from '../log/log.ts';
import { ALL } from './keys.ts';
import { type Coding, Overlay } from './overlay.ts';
import type { Table } from './table.ts';

/** Begins no JSON. */
const ROWS = '@';
/** A record that more batches have made is kept whole: each row that it is made again from takes longer to read than that. */
const MOST_ROWS = 8;

/** @throws Error where the log doesn't have it */
function made(log: Log, rows: readonly number[], id: string): TransactionRecord {
  let record: TransactionRecord | null = null;
  for (const number of rows) {
    const batch = log.batch(number);
    if (batch === null) throw new Error(`row ${number} of the log has no batch`);
    const entries = batch.entriesOf(id);
    if (entries.length === 0) throw new Error(`row ${number} of the log tells nothing of ${id}`);
    const { account, seq } = batch.number;
    for (const entry of entries) record = project(record, account, seq, entry);
  }
  if (record === null) throw new Error(`no row of the log has made ${id}`);
  return record;
}

/** A record as it is kept. */
interface Kept {
  /** The rows of the batches that have made it, in order. */
  readonly madeBy: readonly number[] | 'whole';
  /** @throws Error where it can't be read */
  read(): TransactionRecord;
  /** Whose one is that can't be read; null where that can't be told. */
  account(): string | null;
  text(): string;
}

/** A record's JSON begins so: it tells whose one is that ends in nothing that can be read. */
const BEGINNING = /^\{"id":"[^"\\]*","account":"([^"\\]*)",/;

/** One that is kept as it is; one that was read stays a text until somebody asks for it. */
class Whole implements Kept {
  readonly madeBy = 'whole';
  #kept: TransactionRecord | string;

  constructor(kept: TransactionRecord | string) {
    this.#kept = kept;
  }

  read(): TransactionRecord {
    if (typeof this.#kept === 'string') this.#kept = JSON.parse(this.#kept) as TransactionRecord;
    return this.#kept;
  }

  account(): string | null {
    return BEGINNING.exec(this.text())?.[1] ?? null;
  }

  text(): string {
    return typeof this.#kept === 'string' ? this.#kept : JSON.stringify(this.#kept);
  }
}

/**
 * One that its batches make again: their rows, until somebody asks, and the record itself where somebody will soon. Most
 * are asked for again much later, or never, and what lives until it is written costs more to keep than to make again.
 */
class Made implements Kept {
  readonly madeBy: readonly number[];
  readonly #log: Log;
  readonly #id: string;
  #record: TransactionRecord | null;

  constructor(log: Log, rows: readonly number[], id: string, record: TransactionRecord | null = null) {
    this.madeBy = rows;
    this.#log = log;
    this.#id = id;
    this.#record = record;
  }

  read(): TransactionRecord {
    this.#record ??= made(this.#log, this.madeBy, this.#id);
    return this.#record;
  }

  /** As the first of its batches says that can be read. */
  account(): string | null {
    for (const number of this.madeBy)
      try {
        const batch = this.#log.batch(number);
        if (batch !== null) return batch.number.account;
      } catch {
        // Another of its batches may tell.
      }
    return null;
  }

  text(): string {
    return ROWS + this.madeBy.join();
  }
}

function codingOn(log: Log): Coding<Kept> {
  return {
    encode: (kept) => kept.text(),
    decode: (text, id) =>
      text.startsWith(ROWS)
        ? new Made(log, text.slice(ROWS.length).split(',').map(Number), id)
        : new Whole(text),
    shared: (kept) => kept,
  };
}

export class Records {
  readonly #overlay: Overlay<Kept>;
  readonly #log: Log;

  /** `recent`: how many that were written or read are kept in memory. */
  constructor(table: Table, log: Log, recent: number) {
    this.#overlay = new Overlay({ table, coding: codingOn(log), recent });
    this.#log = log;
  }

  get waiting(): number {
    return this.#overlay.waiting;
  }

  /** @throws RecordUnreadable */
  get(id: string): TransactionRecord | null {
    const kept = this.#overlay.get(id);
    return kept === null ? null : this.#read(id, kept);
  }

  #read(id: string, kept: Kept): TransactionRecord {
    try {
      return kept.read();
    } catch (error) {
      throw new RecordUnreadable(textOf(error), id, kept.account());
    }
  }

  /**
   * The rows of the batches that have made a record, in order; `whole` where it is kept as it is, be it one that can't be
   * read; null where there is none.
   */
  madeBy(id: string): readonly number[] | 'whole' | null {
    return this.#overlay.get(id)?.madeBy ?? null;
  }

  /** The JSON of a record, or what lies in its place; null where there is none. @throws RecordUnreadable */
  textOf(id: string): string | null {
    const kept = this.#overlay.get(id);
    if (kept === null) return null;
    return kept.madeBy === 'whole' ? kept.text() : JSON.stringify(this.#read(id, kept));
  }

  /** Whether there is a record, be it one that can't be read. */
  has(id: string): boolean {
    return this.#overlay.has(id);
  }

  /** @throws RecordUnreadable */
  *behind(after: string): Generator<TransactionRecord> {
    for (const [id, kept] of this.#overlay.range(after, ALL[1])) if (id !== after) yield this.#read(id, kept);
  }

  /** How many records there are, be they such that can't be read. */
  count(): number {
    return this.#overlay.count();
  }

  /** `number` is the row of the batch that changed it last; `isAwaited`: somebody asks for it soon. */
  put(record: TransactionRecord, number: number, isAwaited: boolean): void {
    const { id } = record;
    const rows = this.#rowsOf(record, number);
    this.#overlay.put(
      id,
      rows === null ? new Whole(record) : new Made(this.#log, rows, id, isAwaited ? record : null),
    );
  }

  /** The rows that a record which was just changed is made by; null where it is to be kept whole. */
  #rowsOf({ id, seqs, refusals }: TransactionRecord, number: number): readonly number[] | null {
    if (refusals !== undefined || seqs.length > MOST_ROWS) return null;
    if (seqs.length === 1) return [number];
    const before = this.#overlay.get(id)?.madeBy ?? 'whole';
    return before === 'whole' || before.length !== seqs.length - 1 ? null : [...before, number];
  }

  /** As `put`, of a record whose row isn't known. */
  putWhole(record: TransactionRecord): void {
    this.#overlay.put(record.id, new Whole(record));
  }

  remove(id: string): void {
    this.#overlay.remove(id);
  }

  issue(): void {
    this.#overlay.issue();
  }

  written(): void {
    this.#overlay.written();
  }
}
