/**
 * The rows of the due index that groups of writes make, and take away.
 *
 * 1. A row's key is never earlier than what lies in it: nothing is claimed before its time.
 * 2. A row goes once all that lies in it is settled.
 */
import type { Claim, Due, DueKind } from '../../../engine/store/due.ts';
import type { Environment } from '../environment.ts';
import type { DueKey, DueRow, Tables } from '../tables.ts';
import type { WriteGroup } from '../write-queue.ts';
import { HeldRows } from './held-rows.ts';

/** Things due within the same so many ms share a row, due at the end of that time. */
const BUCKET_MS = 8;

/** A row that the present group makes. */
interface NewRow {
  key: DueKey;
  row: DueRow;
}

/** Where one thing lies in a new row. */
interface Slot {
  newRow: NewRow;
  index: number;
}

/** The due things of one append or settlement: their places, and the claims on them. */
export interface Issued {
  claims: Claim[];
  slots: Slot[];
}

export interface DueRowsOptions {
  /** Names this run of this process. */
  incarnation: string;
  now(): number;
}

export class DueRows {
  readonly held: HeldRows;
  readonly #tables: Tables;
  readonly #incarnation: string;
  readonly #now: () => number;
  #group: WriteGroup | null = null;
  #newRows = new Map<string, NewRow>();
  #rows = 0;

  constructor({ tables, queue }: Environment, { incarnation, now }: DueRowsOptions) {
    this.held = new HeldRows(tables.beats, incarnation);
    this.#tables = tables;
    this.#incarnation = incarnation;
    this.#now = now;
    queue.onStart((group) => this.#startGroup(group));
  }

  #startGroup(group: WriteGroup): void {
    this.#group = group;
    this.#newRows = new Map();
    const rows = this.#newRows;
    this.held.dropIfFenced();
    group.last.push(() => {
      for (const { key, row } of rows.values())
        group.promises.push(this.#tables.due.put(key, JSON.stringify(row)));
    });
  }

  newKey(kind: DueKind, at: number): DueKey {
    this.#rows += 1;
    return [kind, at, `${this.#incarnation}.${this.#rows.toString(36)}`];
  }

  /**
   * Puts things into the present group's rows; those due by `claimUntil` are claimed at once. `decidedAt` is the clock by
   * which they were reckoned, in ms.
   */
  issue(due: readonly Due[], claimUntil: number, decidedAt = 0): Issued {
    const claims: Claim[] = [];
    const slots: Slot[] = [];
    for (const item of due) {
      const own = item.at <= claimUntil;
      const newRow = this.#newRow(item, own, decidedAt);
      const index = newRow.row.items.push(item) - 1;
      slots.push({ newRow, index });
      if (own) claims.push(this.held.hold(newRow.key, index, item));
    }
    return { claims, slots };
  }

  /** The present group's row for things of a kind and time, ours or free. */
  #newRow({ kind, at: itemAt }: Due, own: boolean, decidedAt: number): NewRow {
    const at = Math.ceil(itemAt / BUCKET_MS) * BUCKET_MS;
    const name = `${kind}${own ? '!' : '?'}${at}`;
    let newRow = this.#newRows.get(name);
    if (newRow === undefined) {
      const owner = own ? this.#incarnation : null;
      // The clock may have been set back between the decision and this.
      const made = Math.max(this.#now(), decidedAt);
      newRow = { key: this.newKey(kind, at), row: { owner, items: [], made } };
      this.#newRows.set(name, newRow);
    }
    return newRow;
  }

  /** Ends a claim within the present group; false where it isn't ours any more. */
  release(claim: Claim): boolean {
    const gone = this.held.letGo(claim);
    if (typeof gone !== 'boolean') this.#group?.promises.push(this.#tables.due.remove(gone));
    return gone !== false;
  }

  /** Takes out again what a stale append put into its group's rows. */
  async retract({ claims, slots }: Issued): Promise<void> {
    for (const claim of claims) this.held.letGo(claim);
    const rows = new Set(slots.map(({ newRow }) => newRow));
    // The other things of a row keep their indexes, so that claims on them keep theirs.
    for (const { newRow, index } of slots) newRow.row.items[index] = null;
    const { due, gate } = this.#tables;
    const write = ({ key, row }: NewRow): Promise<boolean> =>
      row.items.every((item) => item === null) ? due.remove(key) : due.put(key, JSON.stringify(row));
    await gate.write(() => Promise.all([...rows].map(write)));
  }
}
