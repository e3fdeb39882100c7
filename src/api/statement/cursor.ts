/** Cursors of GET /statement: a window and a place in the account's journal, as text that callers hand back as it is. */

import type { Place, Window } from '../../engine/statement/collector.ts';
import { sha256 } from '../../engine/store/content.ts';
import { FIRST, LAST } from './moments.ts';

export interface Cursor extends Window {
  place: Place;
}

const CONTENT = /^(-?\d{1,16}) (-?\d{1,16}) (\d{1,16}) (\d{1,16}) [0-9a-f]{16}$/;

export function cursorText(account: string, { from, to, place: { seq, index } }: Cursor): string {
  const content = `${from} ${to} ${seq} ${index}`;
  // No secret: a made-up cursor reads what its account may read anyway. It tells strange ones, and other accounts'.
  const seal = sha256(`${account} ${content}`).slice(0, 16);
  return Buffer.from(`${content} ${seal}`).toString('base64url');
}

/** Whether it may have been given out: a made-up one with a sound seal may tell of times and batches that nothing has. */
function isSound({ from, to, place }: Cursor): boolean {
  return from >= FIRST && from <= to && to <= LAST && place.seq >= 1;
}

/** The cursor of a text; null where that is none of this account's. */
export function parseCursor(account: string, text: string): Cursor | null {
  const found = CONTENT.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (found === null) return null;
  const [from = 0, to = 0, seq = 0, index = 0] = found.slice(1).map(Number);
  const cursor = { from, to, place: { seq, index } };
  return isSound(cursor) && cursorText(account, cursor) === text ? cursor : null;
}
