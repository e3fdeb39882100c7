/** What came out of one row, and of several runs of it. */

export interface Line {
  name: string;
  /** By name and unit, such as `p99 ms`. */
  figures: Record<string, number>;
  notes: string[];
}

/** Of several runs. */
export interface Spread {
  median: number;
  least: number;
  most: number;
  /** In the order of the runs. */
  runs: number[];
}

export interface Summary {
  name: string;
  figures: Record<string, Spread>;
  /** Each once. */
  notes: string[];
}

function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value that a share of them is at most; 0 where there are none. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Answers of 400 and above, of counts by status. */
export function refusedOf(statuses: Readonly<Record<string, number>>): number {
  const refused = Object.entries(statuses).filter(([status]) => Number(status) >= 400);
  return refused.reduce((total, [, count]) => total + count, 0);
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const least = sorted[0] ?? Number.NaN;
  return { median: medianOf(sorted), least, most: sorted.at(-1) ?? Number.NaN, runs: [...values] };
}

/** The rows of all runs by their names, in the order of the first run. */
export function summaries(runs: readonly (readonly Line[])[]): Summary[] {
  const all = runs.flat();
  const names = [...new Set(all.map(({ name }) => name))];
  return names.map((name) => {
    const own = all.filter((line) => line.name === name);
    const keys = [...new Set(own.flatMap(({ figures }) => Object.keys(figures)))];
    const values = (key: string): number[] => own.flatMap(({ figures }) => figures[key] ?? []);
    const figures = Object.fromEntries(keys.map((key) => [key, spreadOf(values(key))]));
    return { name, figures, notes: [...new Set(own.flatMap(({ notes }) => notes))] };
  });
}
