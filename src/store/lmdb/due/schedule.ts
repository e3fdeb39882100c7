/**
 * What is due, and who has it in hand. What is due soon is in memory; what is due later lies in rows of the due index,
 * and is read when its time comes. One process works on the folder: claims are its memory's alone, and end with it.
 */
import {
  type Claim,
  claimOn,
  DUE_KINDS,
  type Due,
  type DueKind,
  type Reckoned,
} from '../../../engine/store/due.ts';
import { Named, Numbered } from '../../../passing.ts';
import { endOf, keyOf, ordered } from '../projections/keys.ts';
import type { Table } from '../projections/table.ts';
import { Heap } from './heap.ts';
import { atOf, intoRows, readRow, rowKey, rowText, type StoredRow, type Thing } from './rows.ts';

/** What is due within so many ms is kept in memory from its beginning. */
const NEAR_MS = 5_000;
/** So many things of a kind are in memory at the most, besides those in hand. */
const MOST_NEAR = 50_000;
/** The most things that are read from rows at a time. */
const PAGE = 1_000;

/** What is due instead of a thing: the same where it is as it should be, null where it isn't due any more. */
export type Revision = (thing: Reckoned) => Reckoned | null;

type ByKind<Value> = Record<DueKind, Value>;

function isEarlier(a: Thing, b: Thing): boolean {
  return a.due.at === b.due.at ? a.order < b.order : a.due.at < b.due.at;
}

function byKind<Value>(make: (kind: DueKind) => Value): ByKind<Value> {
  return { bank: make('bank'), timer: make('timer'), delivery: make('delivery') };
}

export class Schedule {
  readonly #table: Table;
  readonly #now: () => number;
  /** What is in nobody's hands, and things that have ended meanwhile. */
  readonly #near: ByKind<Heap<Thing>>;
  /** The time of the first row of which nothing is in memory, ms. */
  readonly #unread: ByKind<number>;
  /** The time of the first thing that is neither near nor in a row that can be read, ms. */
  readonly #unwritten: ByKind<number>;
  /** Things that lie in no row yet, by id. */
  #fresh = new Map<string, Thing>();
  /** Rows of which something is in memory, by key. */
  readonly #rows = new Named<StoredRow>();
  #underWay: StoredRow[] = [];
  /** Rows of which nothing is left. */
  #gone = new Set<string>();
  #goneUnderWay: ReadonlySet<string> = new Set();
  /** By the number that is the claim's token. */
  readonly #held = new Numbered<Thing>();
  readonly #incarnation: string;
  #ids = 0;
  #things = 0;
  readonly #nextOrder = (): number => ++this.#things;

  /** `incarnation` names this run of this process. */
  constructor(table: Table, incarnation: string, now: () => number) {
    this.#table = table;
    this.#incarnation = incarnation;
    this.#now = now;
    this.#near = byKind(() => new Heap(isEarlier));
    this.#unread = byKind((kind) => this.#firstRow(kind));
    this.#unwritten = byKind(() => Number.POSITIVE_INFINITY);
  }

  #firstRow(kind: DueKind): number {
    for (const key of this.#table.keys({ start: keyOf(kind, ''), end: endOf(kind), limit: 1 }))
      return atOf(kind, key);
    return Number.POSITIVE_INFINITY;
  }

  /** How many changes wait to be written. */
  get waiting(): number {
    return this.#fresh.size + this.#gone.size;
  }

  /** An id that nothing has been named by. */
  newId(): string {
    this.#ids += 1;
    return `${this.#incarnation}.${this.#ids.toString(36)}`;
  }

  /** Adds a due thing; `made` is the clock by which it was reckoned, ms. */
  add(id: string, due: Due, made: number): Thing {
    const near = this.#near[due.kind];
    const isNear = due.at <= this.#now() + NEAR_MS && near.size < MOST_NEAR;
    const order = this.#nextOrder();
    const thing = { id, due, made, order, row: null, claim: 0, hasEnded: false, isNear };
    this.#fresh.set(id, thing);
    if (isNear) near.push(thing);
    else this.#unwritten[due.kind] = Math.min(this.#unwritten[due.kind], due.at);
    return thing;
  }

  /** As `add`, in our hands from its beginning. */
  addHeld(id: string, due: Due, made: number): Claim {
    const order = this.#nextOrder();
    const thing = { id, due, made, order, row: null, claim: 0, hasEnded: false, isNear: true };
    this.#fresh.set(id, thing);
    return this.#hold(thing);
  }

  #hold(thing: Thing): Claim {
    thing.claim = this.#held.put(thing);
    return claimOn(thing.due, String(thing.claim));
  }

  /** Takes due things in hand, earliest first. */
  claim(kind: DueKind, now: number, limit: number): Claim[] {
    const near = this.#near[kind];
    const claims: Claim[] = [];
    while (claims.length < limit) {
      const first = this.#first(kind);
      const until = Math.min(now, first?.due.at ?? Number.POSITIVE_INFINITY);
      if (this.#unwritten[kind] <= until) this.#bringNear(kind, until);
      else if (this.#unread[kind] <= until) this.#read(kind, until);
      else if (first === undefined || first.due.at > now) break;
      else {
        near.pop();
        claims.push(this.#hold(first));
      }
    }
    return claims;
  }

  /** The earliest that is in memory and in nobody's hands. */
  #first(kind: DueKind): Thing | undefined {
    const near = this.#near[kind];
    while (near.first !== undefined && (near.first.hasEnded || near.first.claim !== 0)) near.pop();
    return near.first;
  }

  /** What isn't written yet is taken from memory: the clock went faster than the writing, or too much was near. */
  #bringNear(kind: DueKind, until: number): void {
    const underWay = this.#underWay.flatMap(({ things }) => things);
    this.#unwritten[kind] = Number.POSITIVE_INFINITY;
    for (const thing of [...underWay, ...this.#fresh.values()]) {
      if (thing.isNear || thing.hasEnded || thing.due.kind !== kind) continue;
      if (thing.due.at <= until) this.#keepNear(thing);
      else this.#unwritten[kind] = Math.min(this.#unwritten[kind], thing.due.at);
    }
  }

  #keepNear(thing: Thing): void {
    thing.isNear = true;
    this.#near[thing.due.kind].push(thing);
  }

  /** Reads rows of times up to this one, as many as make a page. */
  #read(kind: DueKind, until: number): void {
    const range = { start: keyOf(kind, ordered(this.#unread[kind])), end: endOf(kind) };
    let read = 0;
    for (const { key, value } of this.#table.rows(range)) {
      const at = atOf(kind, key);
      if (at > until || read >= PAGE) {
        this.#unread[kind] = at;
        return;
      }
      if (this.#rows.has(key) || this.#isGone(key)) continue;
      const row = readRow(kind, key, value, this.#nextOrder);
      this.#rows.set(key, row);
      for (const thing of row.things) this.#near[kind].push(thing);
      read += row.things.length;
    }
    this.#unread[kind] = Number.POSITIVE_INFINITY;
  }

  #isGone(key: string): boolean {
    return this.#gone.has(key) || this.#goneUnderWay.has(key);
  }

  holds({ token }: Claim): boolean {
    return this.#held.get(Number(token)) !== null;
  }

  /** Ends a claim: the thing is in nobody's hands, and comes no more in this process; null: it isn't ours. */
  letGo({ token }: Claim): Thing | null {
    const thing = this.#held.take(Number(token));
    if (thing !== null) thing.claim = 0;
    return thing;
  }

  end(thing: Thing): void {
    if (thing.hasEnded) return;
    thing.hasEnded = true;
    this.#leave(thing);
  }

  #leave(thing: Thing): void {
    this.#fresh.delete(thing.id);
    const { row } = thing;
    thing.row = null;
    if (row === null) return;
    row.left -= 1;
    if (row.left > 0) return;
    this.#rows.delete(row.key);
    this.#gone.add(row.key);
  }

  /** Ends an order to the bank, whether it was written or not. */
  forget(at: number, id: string): void {
    const key = rowKey('bank', at, id);
    const thing = this.#fresh.get(id) ?? this.#rows.get(key)?.things[0];
    if (thing === undefined) this.#gone.add(key);
    else this.end(thing);
  }

  /** When the earliest thing of each kind fell due that is due by now and in nobody's hands, ms. */
  oldest(now: number): Partial<ByKind<number>> {
    const oldest: Partial<ByKind<number>> = {};
    for (const kind of DUE_KINDS) {
      const at = Math.min(this.#unread[kind], this.#first(kind)?.due.at ?? Number.POSITIVE_INFINITY);
      if (at <= now) oldest[kind] = at;
    }
    return oldest;
  }

  /** What is in memory and in nobody's hands. */
  #free(): Thing[] {
    const stored = this.#rows.values().flatMap(({ things }) => things);
    return [...this.#fresh.values(), ...stored].filter(({ hasEnded, claim }) => !hasEnded && claim === 0);
  }

  /** Revises what is in memory; how many things were changed, or ended. */
  reviseNear(revision: Revision): number {
    let count = 0;
    for (const thing of this.#free()) {
      const after = revision(thing);
      if (after?.due === thing.due) continue;
      count += 1;
      this.end(thing);
      if (after !== null) this.add(thing.id, after.due, after.made);
    }
    return count;
  }

  /** Revises a row of which nothing is in memory; how many things were changed, or ended. */
  reviseRow({ key, things }: StoredRow, revision: Revision): number {
    const revised = things.map((thing) => ({ ...thing, after: revision(thing) }));
    const count = revised.filter(({ due, after }) => after?.due !== due).length;
    if (count === 0) return 0;
    this.#gone.add(key);
    for (const { id, after } of revised) if (after !== null) this.add(id, after.due, after.made);
    return count;
  }

  /** Rows of a kind behind a key, of which nothing is in memory. */
  storedRows(kind: DueKind, from: string, limit: number): StoredRow[] {
    const rows: StoredRow[] = [];
    for (const { key, value } of this.#table.rows({ start: from, end: endOf(kind) })) {
      if (key === from || this.#rows.has(key) || this.#isGone(key)) continue;
      rows.push(readRow(kind, key, value, this.#nextOrder));
      if (rows.length === limit) break;
    }
    return rows;
  }

  issue(): void {
    this.#underWay = intoRows(this.#fresh.values(), () => this.newId());
    this.#fresh = new Map();
    this.#goneUnderWay = this.#gone;
    this.#gone = new Set();
    for (const row of this.#underWay) this.#rows.set(row.key, row);
    for (const key of this.#goneUnderWay) this.#table.remove(key);
    for (const row of this.#underWay) this.#table.put(row.key, rowText(row));
  }

  written(): void {
    for (const row of this.#underWay) {
      if (row.left === 0) continue;
      if (row.things.some(({ isNear, hasEnded }) => isNear || hasEnded)) {
        // The row stays in memory, where it isn't read again: all that is left of it must be there.
        for (const thing of row.things) if (!thing.isNear && !thing.hasEnded) this.#keepNear(thing);
        continue;
      }
      this.#rows.delete(row.key);
      this.#unread[row.kind] = Math.min(this.#unread[row.kind], row.at);
    }
    this.#underWay = [];
    this.#goneUnderWay = new Set();
    for (const kind of DUE_KINDS) this.#unwritten[kind] = Number.POSITIVE_INFINITY;
    for (const { isNear, due } of this.#fresh.values())
      if (!isNear) this.#unwritten[due.kind] = Math.min(this.#unwritten[due.kind], due.at);
  }
}
