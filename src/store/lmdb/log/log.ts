/**
 * The log of the embedded store: an LMDB environment of its own, whose rows are only ever added. A row is durable once
 * its group was written, and what the store says follows from the rows.
 */
import type { Database, RootDatabase } from 'lmdb';
import { OperatorError } from '../../../errors.ts';
import { inOneTransaction, openTables } from '../../environments/lmdb.ts';
import { type Room, roomFor } from '../../environments/room.ts';
import { LogGroup } from './group.ts';
import { type KeptBatch, KeptBatches } from './kept-batches.ts';
import { batchIn } from './rows.ts';

export const FORMAT = 1;

/** What is known of the folder as a whole, beside the rows. */
export interface LogState {
  /** The version of the rows. */
  format: typeof FORMAT;
  /** Names the projections that belong to the log. */
  generation: string;
  /** The boot of the machine under which the projections are written; null where the system doesn't tell. */
  boot: string | null;
  /** Whether the projections were closed and are on the disk. */
  clean: boolean;
  /** What earlier rows make due doesn't count: the folder was taken over from a former build. */
  dueFrom: number;
  /** The log was made of a former build's store, which may still be there. */
  madeOfFormer?: boolean;
}

const STATE = 'state';
/** What a group takes beside its rows: the way down to them, the state, the list of free pages. */
const TREE_BYTES = 65_536;
/**
 * Pages are filled up then, not split in halves, and lmdb refuses a row whose number isn't the largest. It takes
 * options here, against its types.
 */
const AT_THE_END = { append: true } as unknown as number;
const BEAT = 'beat';

export class Log {
  readonly path: string;
  readonly #root: RootDatabase;
  readonly #rows: Database<string, number>;
  readonly #state: Database<string, string>;
  /** Null where nothing is written. */
  readonly #room: Room | null;
  readonly #batches = new KeptBatches();
  #last: number;

  constructor(path: string, { readOnly = false }: { readOnly?: boolean } = {}) {
    const { root, tables, room } = openTables({ path, readOnly, maxDbs: 4 }, (environment) => ({
      rows: environment.openDB<string, number>({ name: 'rows', encoding: 'string' }),
      state: environment.openDB<string, string>({ name: 'state', encoding: 'string' }),
    }));
    this.path = path;
    this.#root = root;
    this.#rows = tables.rows;
    this.#state = tables.state;
    this.#room = room;
    this.#last = this.end();
    const { format = FORMAT } = this.state() ?? {};
    if (format === FORMAT) return;
    void this.close();
    throw new OperatorError(
      `${path} is of format ${format}, and this build knows ${FORMAT}: use the build that wrote it, or a newer one`,
    );
  }

  /** The number of the last row that was issued; 0 for an empty log. */
  get last(): number {
    return this.#last;
  }

  /** The number of the last row that can be read; 0 for an empty log. */
  end(): number {
    const [end = 0] = [...this.#rows.getKeys({ reverse: true, limit: 1 })];
    return end;
  }

  state(): LogState | null {
    // lmdb gives no database, against its types, where there is none to be read.
    const text = (this.#state as Database<string, string> | undefined)?.get(STATE);
    return text === undefined ? null : JSON.parse(text);
  }

  /** Resolves once it is durable. */
  async keepState(state: LogState): Promise<void> {
    await this.#state.put(STATE, JSON.stringify(state));
  }

  /** Resolves once the disk has taken a write, which nobody reads. */
  async beat(now: number): Promise<void> {
    await this.#state.put(BEAT, String(now));
  }

  /** Writes what `issue` puts into a group in one transaction; resolves once that is durable. */
  async write(group: LogGroup, issue: () => void): Promise<void> {
    const room = this.#room;
    if (room === null) throw new Error('the log is only read');
    const added = await inOneTransaction(this.#root, room, () => {
      issue();
      const { rows, last } = group;
      room.take(rows.reduce((sum, row) => sum + roomFor(row), TREE_BYTES));
      const first = last - rows.length + 1;
      return rows.map((row, place) => this.#rows.put(first + place, row, AT_THE_END));
    });
    if (added.includes(false)) throw new Error('the log has rows of somebody else');
  }

  /** A group of rows that follow each other. */
  begin(): LogGroup {
    return new LogGroup(() => {
      this.#last += 1;
      return this.#last;
    });
  }

  bytes(number: number): Buffer | undefined {
    return this.#rows.getBinary(number);
  }

  /** The batch in a row; null where there is none. */
  batch(number: number): KeptBatch | null {
    return this.#batches.of(number, () => {
      const row = this.bytes(number);
      return row === undefined ? null : batchIn(row);
    });
  }

  /** Rows behind a number, in order. */
  *after(number: number): Generator<{ number: number; text: string }> {
    for (const { key, value } of this.#rows.getRange({ start: number + 1, snapshot: false }))
      yield { number: key, text: value };
  }

  /** Rows from a number on backwards, that one first. */
  *before(number: number): Generator<{ number: number; text: string }> {
    for (const { key, value } of this.#rows.getRange({ start: number, reverse: true, snapshot: false }))
      yield { number: key, text: value };
  }

  /** What is read from now on has all that is durable by now. */
  renew(): void {
    this.#root.resetReadTxn();
  }

  /** @throws Error where the log can't be read. */
  check(): void {
    this.#state.doesExist(STATE);
  }

  async close(): Promise<void> {
    await this.#root.close();
    this.#room?.close();
  }
}
