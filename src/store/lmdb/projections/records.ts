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

/** A record, and the row of the batch that alone has made it; null where it has more of them. */
interface Kept {
  record: TransactionRecord;
  number: number | null;
}

/** Records that were written and are kept in memory: most are asked for again soon, or never. */
const RECENT = 8_000;
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

function codingOn(log: Log): Coding<Kept> {
  return {
    encode: ({ record, number }) => (number === null ? JSON.stringify(record) : ROW + number),
    decode: (text, id) => {
      if (!text.startsWith(ROW)) return { record: JSON.parse(text), number: null };
      const number = Number(text.slice(ROW.length));
      return { record: madeByOne(log, number, id), number };
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
