/**
 * Where a window of a statement ends that was given no end: as late as can be without leaving out an entry that comes to
 * lie before the end and isn't durable yet. So windows of which each begins where the one before ended tell of each entry
 * once.
 *
 * - What this process decides from now on has the clock's time at least; what it has decided and not written yet is known.
 * - What other processes do isn't. Where there are some, each batch of an account is later than the one before: what
 *   follows the last batch that can be read comes after its time. Behind an account that rests the window doesn't stay:
 *   it ends a minute before now, since no batch takes so long to be written.
 */
import type { Engine } from '../engine.ts';
import { earliestAfter } from '../journal.ts';
import type { JournalReads } from '../store.ts';

/** A batch of another process is durable, or never will be, so long after it was decided, ms. */
export const OTHERS_LATE_MS = 60_000;

/** What ends are found by. */
export interface EndParts {
  journal: Pick<JournalReads, 'head'>;
  engine: Pick<Engine, 'undurableFrom'>;
  /** The store's clock, ms since 1970. */
  now(): number;
  /** Other processes append to the same journals. */
  isShared: boolean;
}

/** The end of an account's window from a time on, ms since 1970; it is before `from` only where that lies ahead. */
export type StatementEnd = (account: string, from: number | null) => Promise<number>;

export function endOf({ journal, engine, now, isShared }: EndParts): StatementEnd {
  return async (account, from) => {
    let latest = now();
    let end = engine.undurableFrom(account);
    if (isShared) {
      const behindLast = earliestAfter(await journal.head(account), isShared);
      end = Math.min(end, Math.max(behindLast, latest - OTHERS_LATE_MS));
      // The last batch may be of a server whose view of the clock is a little ahead.
      latest = Math.max(latest, behindLast);
    }
    return from !== null && from > end && from <= latest ? from : end;
  };
}
