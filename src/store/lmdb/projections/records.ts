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

/** A record, or the number of the row of the batch that alone has made it. */
type Kept = TransactionRecord | number;

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

function coding(): Coding<Kept> {
  return {
    encode: (kept) => (typeof kept === 'number' ? ROW + kept : JSON.stringify(kept)),
    decode: (text) => (text.startsWith(ROW) ? Number(text.slice(ROW.length)) : JSON.parse(text)),
  };
}

export class Records {
  readonly #overlay: Overlay<Kept>;
  readonly #log: Log;

  /** `recent`: how many that were written or read are kept in memory. */
  constructor(table: Table, log: Log, recent: number) {
    this.#overlay = new Overlay({ table, coding: coding(), recent });
    this.#log = log;
  }

  get waiting(): number {
    return this.#overlay.waiting;
  }

  get(id: string): TransactionRecord | null {
    const kept = this.#overlay.get(id);
    return typeof kept === 'number' ? madeByOne(this.#log, kept, id) : kept;
  }

  /** Whether there is a record, be it one that can't be read. */
  has(id: string): boolean {
    return this.#overlay.has(id);
  }

  *behind(after: string): Generator<TransactionRecord> {
    for (const [id, kept] of this.#overlay.range(after, ALL[1]))
      if (id !== after) yield typeof kept === 'number' ? madeByOne(this.#log, kept, id) : kept;
  }

  /** How many records there are, be they such that can't be read. */
  count(): number {
    return this.#overlay.count();
  }

  /** `number` is the row of the batch that changed it last. */
  put(record: TransactionRecord, number: number): void {
    const isMadeByOne = record.seqs.length === 1 && record.refusals === undefined;
    this.#overlay.put(record.id, isMadeByOne ? number : record);
  }

  /** As `put`, of a record whose row isn't known. */
  putWhole(record: TransactionRecord): void {
    this.#overlay.put(record.id, record);
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
