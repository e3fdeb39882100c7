/** Reconciliation's walk: the bank's own list, window by window, so that nothing between two walks is left out. */
import { ListShifted, type Window } from '../payments.ts';

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Returns may be ordered, and money taken back, for so long. */
export const RETURNS_MS = 90 * DAY_MS;
/** At first, where nothing was reconciled before. */
const FIRST_MS = 2 * DAY_MS;
/** What a bank lists late. */
const OVERLAP_MS = HOUR_MS;
/** What is younger may not be listed yet. */
export const YOUNGEST_MS = 2 * MINUTE_MS;
/** How often a list that changes while it is read is read again. */
const READINGS = 3;

/** Windows of at most a day that cover a span, one after the other. */
export function windowsOf({ from, to }: Window): Window[] {
  const windows: Window[] = [];
  for (let at = from; at < to; at += DAY_MS) windows.push({ from: at, to: Math.min(at + DAY_MS, to) });
  return windows;
}

/**
 * What the next walk covers: an hour before `last`, to two minutes (scaled) ago; null where that is nothing. `last` is
 * until when the bank was reconciled, ms, null where it never was.
 */
export function nextSpan(last: number | null, now: number, scale = 1): Window | null {
  const from = last === null ? now - FIRST_MS : last - OVERLAP_MS;
  const to = now - YOUNGEST_MS * scale;
  return from < to ? { from, to } : null;
}

/** What a walk reads from, and tells. */
export interface Walk<Item> {
  /** A window's items, page by page. @throws CallFailed */
  list(window: Window): AsyncIterable<readonly Item[]>;
  /** Looks at a page's items; the same may come again. */
  look(items: readonly Item[]): Promise<void>;
  /** All up to here was read and looked at, ms. */
  moved(to: number): Promise<void>;
}

/**
 * Walks through a span, one window after the other. It ends with the first window that can't be read whole: what was
 * walked stays walked.
 * @throws CallFailed
 */
export async function walk<Item>(span: Window, { list, look, moved }: Walk<Item>): Promise<void> {
  for (const window of windowsOf(span)) {
    await readWhole(async () => {
      for await (const items of list(window)) await look(items);
    });
    await moved(window.to);
  }
}

async function readWhole(read: () => Promise<void>): Promise<void> {
  for (let reading = 1; ; reading += 1) {
    try {
      await read();
      return;
    } catch (error) {
      if (!(error instanceof ListShifted) || reading === READINGS) throw error;
    }
  }
}
