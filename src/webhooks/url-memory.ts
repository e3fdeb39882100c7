/**
 * What the last attempts at each URL came to, for people who look: in memory, of this process alone, since its start.
 * An attempt costs a few numbers; the URL that was left alone longest is forgotten first.
 */
import { textOfTime } from '../domain/time.ts';
import type { Target } from '../engine/store/backlog.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';

/** How one URL does. Times in ms but for `lastAt`, which is ISO. */
export interface UrlHealth extends Target {
  /** Whether each of the last attempts was taken, the oldest first. */
  recent: boolean[];
  p50: number;
  p95: number;
  /** How many attempts have failed in a row, up to the newest. */
  failing: number;
  /** Deliveries that wait for a further attempt, as this process has left them. */
  retrying: number;
  /** Whether there were more than are kept in mind, so that more may wait. */
  moreRetrying: boolean;
  lastAt: string;
}

const MOST_URLS = 5_000;
const MOST_ATTEMPTS = 36;
/** Deliveries of a URL. */
const MOST_RETRYING = 36;
/** Which URL was left alone longest is known to within this. */
const TOUCHED_EVERY_MS = 1_000;
/** In one answer. */
const MOST_SHOWN = 100;

interface Known {
  target: Target;
  /** How long each of the last attempts took, below zero (−1 − ms) where it failed; the oldest first. */
  attempts: number[];
  failing: number;
  lastAt: number;
  retrying: Set<string>;
  moreRetrying: boolean;
}

function newlyKnown(target: Target): Known {
  return {
    target,
    attempts: [],
    failing: 0,
    lastAt: Number.NEGATIVE_INFINITY,
    retrying: new Set(),
    moreRetrying: false,
  };
}

/** The time that so many hundredths of them are not above. */
function percentile(sorted: readonly number[], hundredths: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * hundredths) / 100) - 1)] ?? 0;
}

function healthOf({ target, attempts, failing, retrying, moreRetrying, lastAt }: Known): UrlHealth {
  const times = attempts.map((ms) => (ms < 0 ? -1 - ms : ms)).sort((a, b) => a - b);
  return {
    ...target,
    recent: attempts.map((ms) => ms >= 0),
    p50: percentile(times, 50),
    p95: percentile(times, 95),
    failing,
    retrying: retrying.size,
    moreRetrying,
    lastAt: textOfTime(lastAt),
  };
}

/** Whether a delivery waits for a further attempt. What had no place is counted once it is attempted again. */
function keepInMind(known: Known, id: string, status: DeliveryRecord['status']): void {
  const { retrying } = known;
  if (status !== 'retrying') retrying.delete(id);
  else if (retrying.size < MOST_RETRYING || retrying.has(id)) retrying.add(id);
  else known.moreRetrying = true;
  if (retrying.size === 0) known.moreRetrying = false;
}

export class UrlMemory {
  readonly #now: () => number;
  readonly #since: string;
  /** Deliveries that were attempted once, and those of them that were taken. */
  readonly firsts = { firsts: 0, firstsTaken: 0 };
  /** By account and URL, the longest untouched first. */
  readonly #known = new Map<string, Known>();

  constructor(now: () => number) {
    this.#now = now;
    this.#since = textOfTime(now());
  }

  /** An attempt has ended, and left its delivery as the record says. */
  attempted(target: Target, { id, status, attempts }: DeliveryRecord, durationMs: number): void {
    const key = `${target.account} ${target.url}`;
    const now = this.#now();
    const known = this.#known.get(key) ?? newlyKnown(target);
    if (Math.abs(now - known.lastAt) >= TOUCHED_EVERY_MS) {
      this.#known.delete(key);
      this.#known.set(key, known);
    }
    const isTaken = status === 'delivered';
    if (attempts.length === 1) this.firsts.firsts += 1;
    if (attempts.length === 1 && isTaken) this.firsts.firstsTaken += 1;
    known.attempts.push(isTaken ? durationMs : -1 - durationMs);
    if (known.attempts.length > MOST_ATTEMPTS) known.attempts.shift();
    known.failing = isTaken ? 0 : known.failing + 1;
    known.lastAt = now;
    keepInMind(known, id, status);
    if (this.#known.size > MOST_URLS) this.#forgetOne();
  }

  #forgetOne(): void {
    for (const first of this.#known.keys()) {
      this.#known.delete(first);
      return;
    }
  }

  /** The URLs of one account, or of all (null): first those that fail longest, then those that were tried last. */
  worst(account: string | null): { urls: UrlHealth[]; others: number; since: string } {
    const own = [...this.#known.values()].filter(
      ({ target }) => account === null || target.account === account,
    );
    own.sort((a, b) => b.failing - a.failing || b.lastAt - a.lastAt);
    const urls = own.slice(0, MOST_SHOWN).map(healthOf);
    return { urls, others: own.length - urls.length, since: this.#since };
  }
}
