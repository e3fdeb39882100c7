/**
 * Where accounts' batches lie in the log. A row of the table is a run of an account's batches that were written there
 * one after the other: [the number of the first batch] to their rows' numbers in the log.
 */
import { Lately } from '../../../passing.ts';
import { ordered } from './keys.ts';
import type { Table } from './table.ts';

/** A batch, by its number and that of its row in the log. */
export interface Place {
  seq: number;
  number: number;
}

interface Run {
  /** Sequence number of the first batch. */
  first: number;
  /** Numbers in the log, from the first on. */
  numbers: number[];
}

/** So many places that are put right share a row. */
const A_ROW = 256;
/** Who asks in order keeps the places of so many accounts at least, */
const RUNS_AHEAD = 10_000;
/** and of each about so many, from so many rows. */
const AHEAD = 64;
const ROWS_AHEAD = 32;

type Runs = ReadonlyMap<string, Run>;

function keyOf(account: string, seq: number): string {
  return `${account} ${ordered(seq)}`;
}

/** Places in rows, each of batches that follow each other. */
function runsOf(places: readonly Place[]): Run[] {
  const runs: Run[] = [];
  for (const { seq, number } of places) {
    const run = runs.at(-1);
    if (run !== undefined && run.numbers.length < A_ROW && seq === run.first + run.numbers.length)
      run.numbers.push(number);
    else runs.push({ first: seq, numbers: [number] });
  }
  return runs;
}

function numberIn(run: Run | undefined, seq: number): number | null {
  return run === undefined || seq < run.first ? null : (run.numbers[seq - run.first] ?? null);
}

export class Places {
  readonly #table: Table;
  #fresh = new Map<string, Run>();
  #underWay: Runs = new Map();
  /** Rows that are put right, by key; null: taken out. */
  #mended = new Map<string, string | null>();

  constructor(table: Table) {
    this.#table = table;
  }

  get waiting(): number {
    return this.#fresh.size + this.#mended.size;
  }

  /** The account's next batch lies there. */
  add(account: string, seq: number, number: number): void {
    const run = this.#fresh.get(account);
    if (run === undefined) this.#fresh.set(account, { first: seq, numbers: [number] });
    else run.numbers.push(number);
  }

  /** Where a batch lies; null where there is none. */
  of(account: string, seq: number): number | null {
    return numberIn(this.#runWith(account, seq), seq);
  }

  #runWith(account: string, seq: number): Run | undefined {
    for (const run of [this.#fresh.get(account), this.#underWay.get(account)])
      if (numberIn(run, seq) !== null) return run;
    return this.#storedRun(account, seq);
  }

  /** As `of`, for who asks of accounts' batches in their order: they are read ahead, while nobody puts places right. */
  inOrder(): (account: string, seq: number) => number | null {
    const runs = new Lately<Run>(RUNS_AHEAD);
    return (account, seq) => {
      const known = numberIn(runs.get(account), seq);
      if (known !== null) return known;
      const run = this.#storedFrom(account, seq);
      if (run === undefined) return this.of(account, seq);
      runs.set(account, run);
      return numberIn(run, seq);
    };
  }

  /** An account's last batch; null where it has none. */
  last(account: string): Place | null {
    const run =
      this.#fresh.get(account) ??
      this.#underWay.get(account) ??
      this.#storedRun(account, Number.MAX_SAFE_INTEGER);
    const number = run?.numbers.at(-1);
    return run === undefined || number === undefined
      ? null
      : { seq: run.first + run.numbers.length - 1, number };
  }

  #storedRun(account: string, seq: number): Run | undefined {
    const range = { start: keyOf(account, seq), end: keyOf(account, 0), reverse: true, limit: 1 };
    for (const { key, value } of this.#table.rows(range))
      return { first: Number(key.slice(account.length + 1)), numbers: JSON.parse(value) };
    return undefined;
  }

  /** The places of a batch and of some that follow it, which may lie in several rows; undefined where no row begins with it. */
  #storedFrom(account: string, seq: number): Run | undefined {
    const numbers: number[] = [];
    const range = {
      start: keyOf(account, seq),
      end: keyOf(account, Number.MAX_SAFE_INTEGER),
      limit: ROWS_AHEAD + 1,
    };
    let rows = 0;
    for (const { key, value } of this.#table.rows(range)) {
      const next = keyOf(account, seq + numbers.length);
      // Who asks for one batch finds it by the row that begins last before it: what another row hides isn't there.
      if (key < next) numbers.length = Number(key.slice(account.length + 1)) - seq;
      if (key !== next || numbers.length >= AHEAD || rows === ROWS_AHEAD) break;
      numbers.push(...(JSON.parse(value) as number[]));
      rows += 1;
    }
    return numbers.length === 0 ? undefined : { first: seq, numbers };
  }

  /** The first account behind this one that has batches; null where there is none. */
  accountAfter(account: string): string | null {
    let first: string | null = null;
    for (const runs of [this.#fresh, this.#underWay])
      for (const id of runs.keys()) if (id > account && (first === null || id < first)) first = id;
    for (const key of this.#table.keys({ start: keyOf(account, Number.MAX_SAFE_INTEGER), limit: 1 })) {
      const id = key.slice(0, key.lastIndexOf(' '));
      if (first === null || id < first) first = id;
    }
    return first;
  }

  /** Puts these in the place of all that is stored of an account; what isn't written yet stays. */
  replace(account: string, places: readonly Place[]): void {
    const range = { start: keyOf(account, 0), end: `${account}!` };
    for (const key of this.#table.keys(range)) this.#mended.set(key, null);
    for (const { first, numbers } of runsOf(places))
      this.#mended.set(keyOf(account, first), JSON.stringify(numbers));
  }

  issue(): void {
    const mended = this.#mended;
    this.#mended = new Map();
    this.#underWay = this.#fresh;
    this.#fresh = new Map();
    for (const [key, numbers] of mended)
      if (numbers === null) this.#table.remove(key);
      else this.#table.put(key, numbers);
    const added = [...this.#underWay]
      .map(([account, { first, numbers }]) => [keyOf(account, first), JSON.stringify(numbers)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [key, numbers] of added) this.#table.put(key, numbers);
  }

  written(): void {
    this.#underWay = new Map();
  }
}
