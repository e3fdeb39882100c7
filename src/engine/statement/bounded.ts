/**
 * Pages of statements as merchants get them: a few at a time, since each takes some ten ms of the engine's thread, which
 * everybody else's requests need as well.
 *
 * - Of one account one page is under way, and only its next one waits for a place: accounts have them in turns.
 * - Where nobody waits for a page any more when its turn has come, it isn't read.
 */
import { inTurn, Semaphore } from '../../waiting.ts';
import { Abandoned } from '../actors/host.ts';
import type { SendOptions } from '../engine.ts';
import type { ReadStatement, StatementPage, StatementWish } from './page.ts';

/** Pages under way at once, of all accounts. */
export const MOST_PAGES = 2;

/** @throws Abandoned where nobody waits any more at the page's turn */
export type ReadInTurn = (
  account: string,
  wish: StatementWish,
  options: Pick<SendOptions, 'abandoned'>,
) => Promise<StatementPage | null>;

/** A few at a time of what `read` reads. */
export function bounded(read: ReadStatement): ReadInTurn {
  const places = new Semaphore(MOST_PAGES);
  return (account, wish, { abandoned }) => {
    const expectWanted = (): void => {
      if (abandoned?.() === true) throw new Abandoned();
    };
    return inTurn(`statement of ${account}`, async () => {
      expectWanted();
      await places.acquire();
      try {
        expectWanted();
        return await read(account, wish);
      } finally {
        places.release();
      }
    });
  };
}
