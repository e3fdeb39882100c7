/**
 * Pages of statements as merchants get them: a few at a time, since each takes some ten ms of the engine's thread, which
 * everybody else's requests need as well.
 *
 * - Of one account one page is under way, and only its next one waits for a place: accounts have them in turns.
 * - Where nobody waits for a page any more when its turn has come, it isn't read.
 */
import { turnsOf } from '../actors/turns.ts';
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
  const atItsTurn = turnsOf('statement', MOST_PAGES);
  return (account, wish, options) => atItsTurn(account, options, () => read(account, wish));
}
