/**
 * The journal read backwards, of one account or of all: what lists are made of without an index of their own. A page is
 * bounded by what it may read, and says how far it looked.
 */
import { timeOfText } from '../../domain/time.ts';
import type { Batch } from '../../engine/journal.ts';
import type { NewestPage } from '../../engine/store/log.ts';
import { firstSince } from '../../engine/store/walks.ts';
import { type StoreReads, StoreUnavailable } from '../../engine/store.ts';
import { turn } from '../../waiting.ts';
import { ConsoleError } from './errors.ts';
import { LIST_MS } from './query.ts';

/** Before an entry: of the batch at this place, those with a smaller index are still to come. */
export interface Cursor {
  /** Null: the newest. */
  place: string | null;
  index: number;
}

const NEWEST: Cursor = { place: null, index: Number.POSITIVE_INFINITY };

/** Makes rows of what is read. */
export interface Taker {
  /** Reads together what batches are about, before they are taken one by one. */
  prepare?(batches: readonly Batch[]): Promise<void>;
  /** Takes a batch from its end to its beginning; the index of the first entry that found no room, or null. */
  take(batch: Batch, before: number): Promise<number | null>;
}

/** Where a page ended. */
export interface Walked {
  /** How far back was looked; null where it was as far as was asked. */
  lookedBackTo: string | null;
  /** How many batches on the way can't be read. */
  unreadable: number;
  /** The cursor of the next page, as a text; null after the last one. */
  next: string | null;
}

const MOST_BATCHES = 500;
/** Batches that are read together. */
const TOGETHER = 20;
const PLACE = /^[\x20-\x7e]{1,200}$/;
/** No account has a longer id, and a store may have no such key. */
const LONGEST_ID = 100;
/** Behind all entries that a batch can have. */
const BEHIND_ALL = 999_999_999;

/** A place in a parameter of the query. @throws ConsoleError */
export function placeIn(name: string, text: string): string {
  if (PLACE.test(text)) return text;
  throw new ConsoleError('INVALID_REQUEST', `${name} must be what the page before gave.`);
}

/** The cursor in a parameter of the query. @throws ConsoleError */
export function cursorIn(name: string, text: string | null): Cursor {
  if (text === null) return NEWEST;
  const at = text.lastIndexOf('~');
  const [place, index] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || !PLACE.test(place) || !/^\d{1,9}$/.test(index))
    throw new ConsoleError('INVALID_REQUEST', `${name} must be what the page before gave.`);
  return { place, index: Number(index) };
}

function cursorText(place: string, index: number): string {
  return `${place}~${index}`;
}

/** A batch's number in the journal of its account, from a cursor's place. @throws ConsoleError */
export function seqIn(place: string): number {
  if (/^\d{1,15}$/.test(place)) return Number(place);
  throw new ConsoleError('INVALID_REQUEST', 'The place is none of this list.');
}

/** The batches of these numbers that can be read: where one can't, each is read by itself. */
async function readable(
  journal: StoreReads['journal'],
  account: string,
  seqs: readonly number[],
): Promise<{ batches: Batch[]; unreadable: number }> {
  try {
    return { batches: await journal.batches(account, seqs), unreadable: 0 };
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    if (seqs.length === 1) return { batches: [], unreadable: 1 };
    const each = await Promise.all(seqs.map((seq) => readable(journal, account, [seq])));
    return {
      batches: each.flatMap(({ batches }) => batches),
      unreadable: each.reduce((sum, { unreadable }) => sum + unreadable, 0),
    };
  }
}

/** The batch from which on an account's journal is read, its last one where none is named; 0 where there is none. */
async function lastOf({ journal }: StoreReads, account: string, from: string | null): Promise<number> {
  if (account.length > LONGEST_ID) return 0;
  return from === null ? (await journal.head(account)).seq : seqIn(from);
}

/** The first batch from a number on that can be read, among those that are read together. */
export async function readableFrom(
  { journal }: StoreReads,
  account: string,
  seq: number,
): Promise<Batch | undefined> {
  const { batches } = await readable(journal, account, [seq]);
  if (batches.length > 0) return batches[0];
  const others = Array.from({ length: TOGETHER }, (_, index) => seq + 1 + index);
  return (await readable(journal, account, others)).batches[0];
}

/** An account's journal from a batch on backwards. */
async function newestOf(reads: StoreReads, account: string, from: string | null): Promise<NewestPage> {
  const last = await lastOf(reads, account, from);
  const first = Math.max(1, last - TOGETHER + 1);
  const seqs = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  const { batches, unreadable } = await readable(reads.journal, account, seqs);
  return {
    batches: batches.reverse().map((batch) => ({ place: String(batch.seq), batch })),
    unreadable,
    next: first > 1 ? String(first - 1) : null,
  };
}

/** How many of a batch's entries are of this time (ms) or before. */
function entriesUntil({ entries }: Batch, time: number): number {
  const later = entries.findIndex(({ at }) => Date.parse(at) > time);
  return later < 0 ? entries.length : later;
}

/**
 * What lies before the entries of an account that came after a time (ms); the newest where none did. A batch that can't
 * be read is taken to be of the time of the one behind it.
 */
export async function cursorAt(reads: StoreReads, account: string, time: number): Promise<Cursor> {
  const last = await lastOf(reads, account, null);
  const batchAt = (seq: number): Promise<Batch | undefined> => readableFrom(reads, account, seq);
  const seq = await firstSince(batchAt, last, time + 1);
  const batch = seq > last ? undefined : await batchAt(seq);
  if (batch === undefined) return NEWEST;
  return { place: String(batch.seq), index: entriesUntil(batch, time) };
}

/**
 * Walks backwards until the page is full, enough was read, or all was. `account`: null for all; `since`: what is older
 * (ms) isn't asked for.
 */
export async function walkBack(
  reads: StoreReads,
  account: string | null,
  from: Cursor,
  taker: Taker,
  since = Number.NEGATIVE_INFINITY,
): Promise<Walked> {
  const endsAt = performance.now() + LIST_MS;
  let cursor = from;
  let lookedBackTo: string | null = null;
  let unreadable = 0;
  for (let count = 0; ; ) {
    const read =
      account === null
        ? await reads.journal.newest(cursor.place, TOGETHER)
        : await newestOf(reads, account, cursor.place);
    unreadable += read.unreadable;
    await taker.prepare?.(read.batches.map(({ batch }) => batch));
    for (const { place, batch } of read.batches) {
      if (timeOfText(batch.at) < since) return { lookedBackTo: null, unreadable, next: null };
      const before =
        place === cursor.place || cursor.place === null ? cursor.index : Number.POSITIVE_INFINITY;
      const index = await taker.take(batch, before);
      lookedBackTo = batch.at;
      if (index !== null) return { lookedBackTo, unreadable, next: cursorText(place, index) };
    }
    if (read.next === null) return { lookedBackTo: null, unreadable, next: null };
    cursor = { place: read.next, index: Number.POSITIVE_INFINITY };
    count += TOGETHER;
    if (count >= MOST_BATCHES || performance.now() > endsAt)
      return { lookedBackTo, unreadable, next: cursorText(read.next, BEHIND_ALL) };
    await turn();
  }
}
