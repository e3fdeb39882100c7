/**
 * Progress of deliveries, a row for each: [transaction, delivery] to its text, as the log has it. What was put is found at
 * once, and is written later. Nothing is read for a delivery that is delivered at once. An overlay would look for a
 * transaction's among all that waits, of every other one; here it has its own.
 */
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import { endOf, keyOf } from './keys.ts';
import type { Table } from './table.ts';

/** A delivery and its record as JSON. */
interface Progress {
  readonly id: string;
  text: string;
}

/** By transaction. */
type Changes = ReadonlyMap<string, readonly Progress[]>;

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

export class Deliveries {
  readonly #table: Table;
  #fresh = new Map<string, Progress[]>();
  #underWay: Changes = new Map();
  /** How many changes wait to be written. */
  waiting = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Those of a transaction that have made progress, by id. @throws Error where one can't be read */
  of(transaction: string): DeliveryRecord[] {
    const found = new Map<string, DeliveryRecord>();
    const range = { start: keyOf(transaction, ''), end: endOf(transaction) };
    for (const { key, value } of this.#table.rows(range))
      found.set(key.slice(transaction.length + 1), JSON.parse(value));
    for (const changes of [this.#underWay, this.#fresh])
      for (const { id, text } of changes.get(transaction) ?? []) found.set(id, JSON.parse(text));
    return [...found.values()].sort(byId);
  }

  /** Null: it has made no progress. @throws Error where it can't be read */
  get(transaction: string, delivery: string): DeliveryRecord | null {
    const text =
      this.#changeIn(this.#fresh, transaction, delivery) ??
      this.#changeIn(this.#underWay, transaction, delivery) ??
      this.#table.get(keyOf(transaction, delivery));
    return text === undefined ? null : JSON.parse(text);
  }

  #changeIn(changes: Changes, transaction: string, delivery: string): string | undefined {
    return changes.get(transaction)?.find(({ id }) => id === delivery)?.text;
  }

  /** `text` is the delivery's record as JSON. */
  put(transaction: string, delivery: string, text: string): void {
    const known = this.#fresh.get(transaction);
    const before = known?.find(({ id }) => id === delivery);
    if (before !== undefined) {
      before.text = text;
      return;
    }
    this.waiting += 1;
    if (known === undefined) this.#fresh.set(transaction, [{ id: delivery, text }]);
    else known.push({ id: delivery, text });
  }

  /** Issues what waits, within a transaction; `written` follows once that has come to its end. */
  issue(): void {
    const changes = this.#fresh;
    this.#underWay = changes;
    this.#fresh = new Map();
    this.waiting = 0;
    for (const transaction of [...changes.keys()].sort())
      for (const { id, text } of changes.get(transaction) ?? [])
        this.#table.put(keyOf(transaction, id), text);
  }

  /** What was issued lies in the table. */
  written(): void {
    this.#underWay = new Map();
  }
}
