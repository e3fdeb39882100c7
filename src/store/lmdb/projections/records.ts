/**
 * Records as they are kept: one that a single batch has made is the number of that batch's row in the log, from which it
 * is made again; one that has changed is whole.
 */
import type { TransactionRecord } from '../../../engine/journal.ts';
import { project } from '../../../engine/project.ts';
import type { Log } from '../log/log.ts';
import { ALL } from './keys.ts';
import { type Coding, Overlay } from './overlay.ts';
import type { Table } from './table.ts';

/** Begins no JSON. */
const ROW = '@';

/** @throws Error where the log doesn't have it */
function madeByOne(log: Log, number: number, id: string): TransactionRecord {
  const batch = log.batch(number);
  if (batch === null) throw new Error(`row ${number} of the log has no batch`);
  const { account, seq } = batch.number;
  let record: TransactionRecord | null = null;
  for (const entry of batch.entriesOf(id)) record = project(record, account, seq, entry);
  if (record === null) throw new Error(`row ${number} of the log tells nothing of ${id}`);
  return record;
}

/** A record as it is kept. */
interface Kept {
  /** The row of the batch that alone has made it. */
  readonly madeBy: number | 'whole';
  /** @throws Error where it can't be read */
  read(): TransactionRecord;
  text(): string;
}

/** One that has changed since its first batch; one that was read stays a text until somebody asks for it. */
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

  text(): string {
    return typeof this.#kept === 'string' ? this.#kept : JSON.stringify(this.#kept);
  }
}

/**
 * One that a single batch has made: the row of that batch, until somebody asks, and the record itself where somebody will
 * soon. Most are asked for again much later, or never, and what lives until it is written costs more to keep than to make
 * again.
 */
class MadeByOne implements Kept {
  readonly madeBy: number;
  readonly #log: Log;
  readonly #id: string;
  #record: TransactionRecord | null;

  constructor(log: Log, number: number, id: string, record: TransactionRecord | null = null) {
    this.madeBy = number;
    this.#log = log;
    this.#id = id;
    this.#record = record;
  }

  read(): TransactionRecord {
    this.#record ??= madeByOne(this.#log, this.madeBy, this.#id);
    return this.#record;
  }

  text(): string {
    return ROW + this.madeBy;
  }
}

function codingOn(log: Log): Coding<Kept> {
  return {
    encode: (kept) => kept.text(),
    decode: (text, id) =>
      text.startsWith(ROW) ? new MadeByOne(log, Number(text.slice(ROW.length)), id) : new Whole(text),
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

  get(id: string): TransactionRecord | null {
    return this.#overlay.get(id)?.read() ?? null;
  }

  /**
   * The row of the batch that alone has made a record; `whole` where it is kept as it is, be it one that can't be read; null
   * where there is none.
   */
  madeBy(id: string): number | 'whole' | null {
    return this.#overlay.get(id)?.madeBy ?? null;
  }

  /** The JSON of a record, or what lies in its place; null where there is none. @throws as `madeByOne` */
  textOf(id: string): string | null {
    const kept = this.#overlay.get(id);
    if (kept === null) return null;
    return kept.madeBy === 'whole' ? kept.text() : JSON.stringify(kept.read());
  }

  /** Whether there is a record, be it one that can't be read. */
  has(id: string): boolean {
    return this.#overlay.has(id);
  }

  *behind(after: string): Generator<TransactionRecord> {
    for (const [id, kept] of this.#overlay.range(after, ALL[1])) if (id !== after) yield kept.read();
  }

  /** How many records there are, be they such that can't be read. */
  count(): number {
    return this.#overlay.count();
  }

  /** `number` is the row of the batch that changed it last; `isAwaited`: somebody asks for it soon. */
  put(record: TransactionRecord, number: number, isAwaited: boolean): void {
    const isMadeByOne = record.seqs.length === 1 && record.refusals === undefined;
    this.#overlay.put(
      record.id,
      isMadeByOne
        ? new MadeByOne(this.#log, number, record.id, isAwaited ? record : null)
        : new Whole(record),
    );
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
