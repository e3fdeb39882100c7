/**
 * Rows of the due index: things due about the same time that were written together. A row is never later than what
 * lies in it, and goes once all of that has ended. Things of a row that is read again after a crash may have been done
 * already, but for orders to the bank, which have rows of their own.
 */
import type { Due, DueKind } from '../../../engine/store/due.ts';
import { keyOf, ordered } from '../projections/keys.ts';

/** A due thing from its beginning to its end. */
export interface Thing {
  readonly id: string;
  due: Due;
  /** The clock by which it was reckoned, ms since 1970. */
  made: number;
  /** Of things that are due at the same time the one of the lower number comes first. */
  order: number;
  /** The row that it lies in; null while it wasn't written. */
  row: StoredRow | null;
  /** In whose hands it is; 0: nobody's. */
  claim: number;
  hasEnded: boolean;
  /** Whether it is in memory until its end; others are found in their rows when their time comes. */
  isNear: boolean;
}

/** A row whose things are in memory. */
export interface StoredRow {
  key: string;
  at: number;
  kind: DueKind;
  things: Thing[];
  /** How many of its things have not ended. */
  left: number;
}

/** A row as it is written. */
interface RowText {
  made: number;
  things: [id: string, due: Due][];
}

/** Things due within the same so many ms share a row. */
const BUCKET_MS = 1_000;
/** A row takes about a page of the file: for more lmdb has to look for free ones that follow each other. */
const MOST_THINGS = 24;

export function rowKey(kind: DueKind, at: number, id: string): string {
  return keyOf(kind, ordered(at), id);
}

/** The time in a row's key, ms. */
export function atOf(kind: DueKind, key: string): number {
  return Number(key.slice(kind.length + 1, key.lastIndexOf(' ')));
}

function bucket(ms: number): number {
  return Math.floor(ms / BUCKET_MS) * BUCKET_MS;
}

/** Puts things into rows; `newId` names a row that no other has been named by. */
export function intoRows(things: Iterable<Thing>, newId: () => string): StoredRow[] {
  const rows: StoredRow[] = [];
  /** Rows that take more, by what their things have in common. */
  const open = new Map<string, StoredRow>();
  for (const thing of things) {
    const { id, due, made, isNear } = thing;
    const { kind } = due;
    // An order that has ended must not come again with another's row.
    const isAlone = kind === 'bank';
    const at = isAlone ? due.at : Math.max(0, bucket(due.at));
    const name = isAlone ? id : `${kind} ${at} ${bucket(made)} ${isNear}`;
    let row = open.get(name);
    if (row === undefined || row.things.length === MOST_THINGS) {
      row = { key: rowKey(kind, at, isAlone ? id : newId()), at, kind, things: [], left: 0 };
      open.set(name, row);
      rows.push(row);
    }
    row.things.push(thing);
    row.left += 1;
    thing.row = row;
  }
  return rows;
}

export function rowText({ things }: StoredRow): string {
  const made = Math.max(...things.map((thing) => thing.made));
  return JSON.stringify({ made, things: things.map(({ id, due }) => [id, due]) } satisfies RowText);
}

/** A row with its things, as they are read; `order` gives each its number. */
export function readRow(kind: DueKind, key: string, text: string, order: () => number): StoredRow {
  const { made, things }: RowText = JSON.parse(text);
  const row: StoredRow = { key, at: atOf(kind, key), kind, things: [], left: things.length };
  row.things = things.map(([id, due]) => ({
    ...{ id, due, made, order: order(), row, claim: 0 },
    ...{ hasEnded: false, isNear: true },
  }));
  return row;
}
