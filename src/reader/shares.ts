/**
 * Verifying in several threads: each reads the whole log, and judges a share of the accounts.
 *
 * 1. All of them read the store as it is at one row of the log, on which they agree when they have opened it.
 * 2. They meet at two places, where each says a number and goes on once all have: it hears the numbers of all.
 * 3. Where one fails, the others are told to stop, and nobody waits for it any more.
 */
import { MOST_DIFFERENCES, type VerifyReport } from '../audit/verify.ts';
import { type Later, later } from '../waiting.ts';
import type { Place, Progress } from './tasks.ts';

/** Where so many meet: each place once. */
export class Meeting {
  readonly #of: number;
  readonly #places = new Map<Place, { said: number[]; all: Later<number[]> }>();

  constructor(of: number) {
    this.#of = of;
  }

  /** Resolves with the numbers of all once the last one is there. @throws what `end` was called with */
  at(place: Place, number: number): Promise<number[]> {
    const { said, all } = this.#place(place);
    said.push(number);
    if (said.length === this.#of) all.resolve(said);
    return all.promise;
  }

  /** Nobody waits any more. */
  end(error: Error): void {
    for (const place of ['opened', 'compared'] as const) this.#place(place).all.reject(error);
  }

  #place(place: Place): { said: number[]; all: Later<number[]> } {
    const known = this.#places.get(place) ?? { said: [], all: later<number[]>() };
    this.#places.set(place, known);
    return known;
  }
}

/** How far all shares have come, as each tells it. */
export class SharedProgress {
  readonly #shares: Progress[];

  constructor(of: number) {
    this.#shares = Array.from({ length: of }, () => ({ accounts: 0, entries: 0 }));
  }

  /** What all have done, once a share has come this far. */
  told(share: number, progress: Progress): Progress {
    this.#shares[share] = progress;
    const sum = (name: keyof Progress): number => this.#shares.reduce((all, each) => all + each[name], 0);
    return { accounts: sum('accounts'), entries: sum('entries') };
  }
}

function byAccount<Item extends { account: string }>(items: Item[]): Item[] {
  return items.sort((a, b) => (a.account < b.account ? -1 : Number(a.account > b.account)));
}

/** The report of all shares. */
export function together(reports: readonly VerifyReport[]): VerifyReport {
  const sum = (name: 'accounts' | 'batches' | 'entries'): number =>
    reports.reduce((all, each) => all + each[name], 0);
  const heads = reports.some((report) => report.heads !== undefined)
    ? { heads: byAccount(reports.flatMap((report) => report.heads ?? [])) }
    : {};
  return {
    ok: reports.every(({ ok }) => ok),
    accounts: sum('accounts'),
    batches: sum('batches'),
    entries: sum('entries'),
    differences: byAccount(reports.flatMap(({ differences }) => differences)).slice(0, MOST_DIFFERENCES),
    ...heads,
  };
}
