/**
 * Goes through what is due by windows of time, so that no command takes long, however much is due: what the database
 * does in a command is bounded, and one that is too long would never be done.
 */
import { StoreUnavailable } from '../../../engine/store.ts';

export interface Windows {
  /** Ms since 1970: what is due by then is left out. */
  from: number;
  /** Whether something is due later than that. */
  isMore(after: number): Promise<boolean>;
  /** Changes what is due after the first time, by the second; how many. @throws StoreUnavailable */
  change(after: number, upTo: number): Promise<number>;
}

/** What so much comes due in is done at once. */
const NARROWEST_MS = 1_000;
/** A window takes about so long. */
const WANTED_MS = 300;
/** By how much the next window is wider or narrower at the most. */
const MOST = 4;
/** By how much one that was too wide is. */
const TOO_WIDE = 8;
/** The last moment that there is a date for. */
const LAST_MS = 8.64e15;

function next(widthMs: number, tookMs: number): number {
  const change = Math.min(MOST, Math.max(1 / MOST, WANTED_MS / Math.max(1, tookMs)));
  return Math.max(NARROWEST_MS, Math.round(widthMs * change));
}

/** How many things were changed. @throws StoreUnavailable where even what comes due in a second can't be changed */
export async function inWindows({ from, isMore, change }: Windows): Promise<number> {
  let count = 0;
  let width = NARROWEST_MS;
  for (let after = from; after < LAST_MS && (await isMore(after)); ) {
    const upTo = Math.min(after + width, LAST_MS);
    const startedAt = performance.now();
    try {
      count += await change(after, upTo);
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || width === NARROWEST_MS) throw error;
      width = Math.max(NARROWEST_MS, Math.round(width / TOO_WIDE));
      continue;
    }
    after = upTo;
    width = next(width, performance.now() - startedAt);
  }
  return count;
}
