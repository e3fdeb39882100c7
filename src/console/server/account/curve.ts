/**
 * How an account's balance went: the balance at so many times, each searched for in the journal, whose times never go
 * back. What several searches want is read together, and the searches go on side by side, so that a curve over a
 * million batches costs about twenty reads a point at most.
 */
import type { Batch } from '../../../engine/journal.ts';
import { balanceBefore, changeOf } from '../../../engine/statement/rows.ts';
import type { StoreReads } from '../../../engine/store.ts';
import { turn } from '../../../waiting.ts';
import type { Curve } from '../../shapes/account.ts';

export interface CurveWish {
  account: string;
  /** Times in ms since 1970. */
  from: number;
  to: number;
  points: number;
}

/** Points that are searched for side by side; each round of them lies over the whole window. */
const TOGETHER = 12;
/** No further round is begun after so long. */
const MOST_MS = 400;

/** What a batch tells of the balance, in a few numbers: a batch may be large. */
interface Steps {
  lastTime: number;
  /** Before its first entry. */
  before: number;
  /** The time (ms) of each entry that changed the balance, and the balance after it. */
  after: [time: number, balance: number][];
}

function stepsOf(batch: Batch): Steps {
  const before = balanceBefore(batch);
  const after: Steps['after'] = [];
  let balance = before;
  for (const entry of batch.entries) {
    const change = changeOf(entry);
    balance += change;
    if (change !== 0) after.push([Date.parse(entry.at), balance]);
  }
  return { lastTime: Date.parse(batch.entries.at(-1)?.at ?? batch.at), before, after };
}

function balanceAt({ before, after }: Steps, time: number): number {
  return after.findLast(([at]) => at <= time)?.[1] ?? before;
}

/** Between which batches the first one lies that has an entry after a time (ms). */
interface Search {
  time: number;
  low: number;
  high: number;
}

class Searches {
  readonly #reads: StoreReads;
  readonly #account: string;
  readonly #last: number;
  readonly #balance: number;
  readonly #known = new Map<number, Steps>();

  /** `last`: the newest batch's number; `balance`: after it. */
  constructor(reads: StoreReads, account: string, last: number, balance: number) {
    this.#reads = reads;
    this.#account = account;
    this.#last = last;
    this.#balance = balance;
  }

  /** The balance at each of the times (ms), in their order. */
  async balances(times: readonly number[]): Promise<number[]> {
    const searches = times.map((time): Search => ({ time, low: 1, high: this.#last + 1 }));
    for (;;) {
      const open = searches.filter(({ low, high }) => low < high);
      if (open.length === 0) break;
      await this.#read(open.map(({ low, high }) => Math.floor((low + high) / 2)));
      for (const search of open) this.#narrow(search);
    }
    await this.#read(searches.map(({ low }) => low).filter((seq) => seq <= this.#last));
    return searches.map(({ low, time }) => {
      const steps = this.#known.get(low);
      return steps === undefined ? this.#balance : balanceAt(steps, time);
    });
  }

  #narrow(search: Search): void {
    const middle = Math.floor((search.low + search.high) / 2);
    const steps = this.#known.get(middle);
    if (steps !== undefined && steps.lastTime > search.time) search.high = middle;
    else search.low = middle + 1;
  }

  async #read(seqs: readonly number[]): Promise<void> {
    const wanted = [...new Set(seqs)].filter((seq) => !this.#known.has(seq));
    if (wanted.length === 0) return;
    await turn();
    for (const batch of await this.#reads.journal.batches(this.#account, wanted))
      this.#known.set(batch.seq, stepsOf(batch));
  }
}

/** The curve with all its points, or with fewer, over the whole window, where time was up. */
export async function balanceCurve(
  reads: StoreReads,
  { account, from, to, points }: CurveWish,
): Promise<Curve> {
  const endsAt = performance.now() + MOST_MS;
  const { seq, balances } = await reads.journal.head(account);
  const searches = new Searches(reads, account, seq, balances.available);
  const times = Array.from({ length: points }, (_, index) =>
    points === 1 ? to : Math.round(from + ((to - from) * index) / (points - 1)),
  );
  const rounds = Math.ceil(points / TOGETHER);
  const found = new Map<number, number>();
  for (let round = 0; round < rounds; round++) {
    if (round > 0 && performance.now() > endsAt) break;
    const own = times.filter((_, index) => index % rounds === round);
    for (const [index, balance] of (await searches.balances(own)).entries())
      found.set(own[index] ?? 0, balance);
  }
  return {
    points: times.flatMap((time): Curve['points'] => {
      const balance = found.get(time);
      return balance === undefined ? [] : [[new Date(time).toISOString(), balance]];
    }),
    complete: times.every((time) => found.has(time)),
  };
}
