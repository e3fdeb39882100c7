/**
 * A table of the projections with what isn't written to it yet. What was put is found at once; it is written later, in
 * the order of its keys and together with all else that changed meanwhile.
 *
 * 1. What is put is newer than what is under way to the table, and that is newer than the table.
 * 2. A value that was put is handed out again as it is. Nobody changes it: it is frozen, or its type is for reading alone.
 */
import { textOf } from '../../../errors.ts';
import { frozen } from './frozen.ts';
import { ALL, compareKeys } from './keys.ts';
import type { Table } from './table.ts';

/** How values are kept as texts. */
export interface Coding<Value> {
  encode(value: Value): string;
  decode(text: string, key: string): Value;
  /** The value as it may be handed out again and again. */
  shared(value: Value): Value;
}

export const TEXT: Coding<string> = {
  encode: (text) => text,
  decode: (text) => text,
  shared: (text) => text,
};

/** Values that are plain JSON; `name`: what they are, for who can't read one. */
export function json<Value>(name: string): Coding<Value> {
  const decode = (text: string, key: string): Value => {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`${name} ${key} can't be read: ${textOf(error)}`);
    }
  };
  return { encode: (value) => JSON.stringify(value), decode, shared: frozen };
}

/** Null: taken out. */
type Change<Value> = Value | null;

export interface OverlayOptions<Value> {
  table: Table;
  coding: Coding<Value>;
  /** How many values that were written or read are kept in memory: the process that has the folder alone writes. */
  recent?: number;
  /** The table has no key under which something is put, unless a change of it waits: taken out again, it was never there. */
  areNew?: boolean;
}

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();

export class Overlay<Value> {
  readonly #table: Table;
  readonly #coding: Coding<Value>;
  readonly #mostRecent: number;
  readonly #areNew: boolean;
  /** Keys in `#fresh` that the table doesn't have. */
  #new = new Set<string>();
  #fresh = new Map<string, Change<Value>>();
  #underWay: ReadonlyMap<string, Change<Value>> = NOTHING;
  /** The longest kept first. */
  readonly #recent = new Map<string, Value>();

  constructor({ table, coding, recent = 0, areNew = false }: OverlayOptions<Value>) {
    this.#table = table;
    this.#coding = coding;
    this.#mostRecent = recent;
    this.#areNew = areNew;
  }

  /** How many changes wait to be written. */
  get waiting(): number {
    return this.#fresh.size;
  }

  get(key: string): Value | null {
    // A question to all accounts is a hundred thousand of these: what is empty isn't asked.
    for (const some of [this.#fresh, this.#underWay, this.#recent])
      if (some.size > 0) {
        const value = some.get(key);
        if (value !== undefined) return value;
      }
    const text = this.#table.get(key);
    if (text === undefined) return null;
    const value = this.#coding.decode(text, key);
    if (this.#mostRecent > 0) this.#keepAlone(key, this.#coding.shared(value));
    return value;
  }

  /** Whether there is a value, be it one that can't be read. */
  has(key: string): boolean {
    const change = this.#fresh.get(key) ?? this.#underWay.get(key);
    if (this.#fresh.get(key) === null) return false;
    return change === null ? false : change !== undefined || this.#table.has(key);
  }

  /** How many values there are, be they such that can't be read; goes through all keys. */
  count(): number {
    let count = 0;
    for (const _key of this.#table.keys({ start: ALL[0] })) count += 1;
    for (const [key, change] of new Map([...this.#underWay, ...this.#fresh])) {
      const isStored = this.#table.has(key);
      if (change === null) count -= isStored ? 1 : 0;
      else count += isStored ? 0 : 1;
    }
    return count;
  }

  put(key: string, value: Value): void {
    if (this.#areNew && !this.#fresh.has(key) && !this.#underWay.has(key)) this.#new.add(key);
    this.#fresh.set(key, this.#coding.shared(value));
  }

  remove(key: string): void {
    if (this.#new.delete(key)) this.#fresh.delete(key);
    else this.#fresh.set(key, null);
  }

  /** What lies between two keys, the second one left out, in their order. */
  *range(start: string, end: string): Generator<[key: string, value: Value]> {
    for (const { key, value, text } of this.#between(start, end))
      yield [key, value ?? this.#coding.decode(text, key)];
  }

  /** The keys of that, be it values that can't be read. */
  *keys(start: string, end: string): Generator<string> {
    for (const { key } of this.#between(start, end)) yield key;
  }

  /** `value` is what waits to be written; where nothing does, `text` is what lies in the table. */
  *#between(start: string, end: string): Generator<{ key: string; value: Value | null; text: string }> {
    const changes = this.#changesIn(start, end);
    let next = 0;
    for (const { key, value: text } of this.#table.rows({ start, end })) {
      for (
        let change = changes[next];
        change !== undefined && compareKeys(change[0], key) < 0;
        change = changes[next]
      ) {
        next += 1;
        if (change[1] !== null) yield { key: change[0], value: change[1], text: '' };
      }
      const change = changes[next];
      if (change === undefined || change[0] !== key) {
        yield { key, value: null, text };
        continue;
      }
      next += 1;
      if (change[1] !== null) yield { key, value: change[1], text: '' };
    }
    for (const [key, value] of changes.slice(next)) if (value !== null) yield { key, value, text: '' };
  }

  #changesIn(start: string, end: string): [string, Change<Value>][] {
    const changes = new Map<string, Change<Value>>();
    for (const some of [this.#underWay, this.#fresh])
      for (const [key, value] of some)
        if (compareKeys(key, start) >= 0 && compareKeys(key, end) < 0) changes.set(key, value);
    return [...changes].sort(([a], [b]) => compareKeys(a, b));
  }

  /** Issues what waits, within a transaction; `written` follows once that has come to its end. */
  issue(): void {
    const changes = this.#fresh;
    this.#underWay = changes;
    this.#fresh = new Map();
    this.#new.clear();
    for (const key of [...changes.keys()].sort()) {
      const value = changes.get(key) ?? null;
      if (value === null) this.#table.remove(key);
      else this.#table.put(key, this.#coding.encode(value));
    }
  }

  /** What was issued lies in the table. */
  written(): void {
    if (this.#mostRecent > 0) this.#keep(this.#underWay);
    this.#underWay = NOTHING;
  }

  #keepAlone(key: string, value: Value): void {
    this.#recent.set(key, value);
    this.#dropOldest();
  }

  #keep(changes: ReadonlyMap<string, Change<Value>>): void {
    for (const [key, value] of changes)
      if (value === null) this.#recent.delete(key);
      else this.#recent.set(key, value);
    this.#dropOldest();
  }

  #dropOldest(): void {
    for (const key of this.#recent.keys()) {
      if (this.#recent.size <= this.#mostRecent) return;
      this.#recent.delete(key);
    }
  }
}
