/** Transactions from their creation to their last delivered webhook. */
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadResult } from './load.ts';
import { load, type Order, type Receiver, type Seen } from './server.ts';

/** Events of a lifecycle that ends well. */
export const EVENTS = { 'pix-in': 2, cashout: 3 } as const;

export interface Lifecycles {
  /** Whole ones a second. */
  rate: number;
  created: LoadResult;
  /** Of all 201s; `again`: came more than once. */
  events: { seen: number; wanted: number; again: number };
  seconds: number;
}

const DRAIN_MS = 120_000;

/** Looks every `lookMs`, at most so long, until the receiver has so many events in all; what it has then. */
async function awaited(
  receiver: Receiver,
  wanted: number,
  { lookMs, longestMs }: { lookMs: number; longestMs: number },
): Promise<Seen> {
  const endsAt = performance.now() + longestMs;
  for (;;) {
    const seen = await receiver.seen();
    if (seen.count >= wanted || performance.now() > endsAt) return seen;
    await delay(lookMs);
  }
}

/** Waits until the receiver has so many events in all; looks every `lookMs`. @throws Error where that takes minutes */
export async function drained(receiver: Receiver, wanted: number, lookMs: number): Promise<void> {
  const { count } = await awaited(receiver, wanted, { lookMs, longestMs: DRAIN_MS });
  if (count < wanted) throw new Error(`${wanted - count} events were not delivered`);
}

const LONGEST_MS = 60_000;
const LOOK_MS = 100;

/** Creates and waits, at most a minute after the last answer, until the receiver has all of their events. */
export async function lifecycles(order: Order, events: number, receiver: Receiver): Promise<Lifecycles> {
  const before = await receiver.seen();
  const started = Date.now();
  const created = await load(order);
  const whole = created.statuses[201] ?? 0;
  const wanted = whole * events;
  const { count, again, last } = await awaited(receiver, before.count + wanted, {
    lookMs: LOOK_MS,
    longestMs: LONGEST_MS,
  });
  const seen = count - before.count;
  const seconds = (last - started) / 1000;
  const rate = Math.min(whole, seen / events) / seconds;
  return { rate, created, events: { seen, wanted, again: again - before.again }, seconds };
}
