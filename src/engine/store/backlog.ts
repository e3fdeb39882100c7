/** The store's role for deliveries to targets that don't keep up. */
import { sha256 } from './content.ts';
import type { ClaimOf } from './due.ts';

/** One of an account's URLs. */
export interface Target {
  account: string;
  url: string;
}

/** A target's name in a few characters, the same for ever. */
export function targetId({ account, url }: Target): string {
  return sha256(JSON.stringify([account, url])).slice(0, 32);
}

/** Deliveries that are to wait behind their target; `lookAt` is in ms. */
export interface PutBehind {
  target: Target;
  claims: readonly ClaimOf<'delivery'>[];
  lookAt: number;
}

/** A target with how many deliveries wait behind it. */
export interface WaitingTarget extends Target {
  id: string;
  waiting: number;
}

/** For so long nobody else looks after a target (ms); each `take` starts the time anew. */
export const LOOK_MS = 15_000;

/**
 * No look or claim lies so far ahead of the clock (ms), unless that was set back; orders to the bank do: steps of a slow
 * sandbox, and what a bank failed at again and again.
 */
export const FAR_MS = 120_000;

/** Ids are hexadecimal: the targets whose names begin alike but for the last digit are no more. */
const ALIKE = 16;

/** Whether anything lies behind the target of an id. */
export async function hasWaiting(backlog: Pick<Backlog, 'targets'>, id: string): Promise<boolean> {
  const found = await backlog.targets(id.slice(0, -1), ALIKE);
  return found.some((target) => target.id === id && target.waiting > 0);
}

/**
 * Deliveries to targets that don't keep up. They lie outside the due index, behind one look at their target, and cost
 * nothing until it is due.
 */
export interface Backlog {
  /**
   * Ends claims and puts their deliveries behind their targets, in one write; those that were taken over stay where
   * they are. A target behind which nothing lay gets its look. In the order of the waits: how many lie behind each.
   */
  put(waits: readonly PutBehind[]): Promise<number[]>;
  /**
   * Targets whose look is due: the caller's for `LOOK_MS`. One that dies meanwhile leaves the look to others: at once
   * where the data has one process.
   */
  claimLooks(now: number, limit: number): Promise<Target[]>;
  /** Claims deliveries from behind a target, earliest first; `left` is how many still lie there. */
  take(target: Target, now: number, limit: number): Promise<{ claims: ClaimOf<'delivery'>[]; left: number }>;
  /** When to look after a target again (ms); one behind which nothing lies is forgotten. */
  lookAgain(target: Target, at: number): Promise<void>;
  /** Targets in the order of their ids, those behind `after`. */
  targets(after: string, limit: number): Promise<WaitingTarget[]>;
  /** How many deliveries wait behind all targets. */
  total(): Promise<number>;
}
