/**
 * The newest batches of all accounts, on MongoDB: the accounts' journals merged from their ends backwards, in the order
 * of time, then account, then number. No index is in the order of time: a create would pay for it.
 */
import type { Document } from 'mongodb';
import type { NewestPage } from '../../../engine/store/log.ts';
import type { JournalDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import { readableBatch } from './readable.ts';

/** A batch's place; `at` in ms. */
interface Spot {
  at: number;
  account: string;
  seq: number;
}

type ShortBatch = Pick<JournalDocument, 'account' | 'seq' | 'at'>;

/** Accounts that one command searches. */
const A_COMMAND = 50;
/** So many batches of an account are looked at together. */
const TOGETHER = 10;
/** Behind the ids of all accounts. */
const LAST_ACCOUNT = '\uffff';
const SHORT = { account: 1, seq: 1, at: 1 };

function placeOf({ at, account, seq }: Spot): string {
  return `${at} ${seq} ${account}`;
}

function spotIn(place: string): Spot {
  const [at = '', seq = '', ...account] = place.split(' ');
  return { at: Number(at), seq: Number(seq), account: account.join(' ') };
}

function spotOf({ at, account, seq }: ShortBatch): Spot {
  return { at: at.getTime(), account, seq };
}

/** The newest first. */
function compare(a: Spot, b: Spot): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.account !== b.account) return a.account < b.account ? 1 : -1;
  return b.seq - a.seq;
}

/** The last batch of each account, found by skipping from account to account in the index. */
async function heads(reads: MongoReads): Promise<Spot[]> {
  const first = { seq: { $first: '$seq' }, at: { $first: '$at' } };
  const group = { $group: { _id: '$account', ...first } };
  type Found = { _id: string; seq: number; at: Date };
  const found = await reads.aggregate<Found>('journal', [{ $sort: { account: -1, seq: -1 } }, group]);
  return found.map(({ _id, seq, at }) => spotOf({ account: _id, seq, at }));
}

/** Each account's last batch that isn't before a place in the list. */
async function lastFrom(reads: MongoReads, accounts: readonly string[], from: Spot): Promise<Spot[]> {
  const pipeline = (account: string): Document[] => {
    const at = { [account < from.account ? '$lte' : '$lt']: new Date(from.at) };
    const own = account === from.account ? { seq: { $lte: from.seq } } : { at };
    return [{ $match: { account, ...own } }, { $sort: { seq: -1 } }, { $limit: 1 }, { $project: SHORT }];
  };
  const found: Spot[] = [];
  for (let start = 0; start < accounts.length; start += A_COMMAND) {
    const [first = '', ...others] = accounts.slice(start, start + A_COMMAND);
    const union = others.map((each) => ({ $unionWith: { coll: 'journal', pipeline: pipeline(each) } }));
    const last = await reads.aggregate<ShortBatch>('journal', [...pipeline(first), ...union]);
    found.push(...last.map(spotOf));
  }
  return found;
}

/** The batches behind these in their accounts, a few of each. */
async function behind(reads: MongoReads, spots: readonly Spot[]): Promise<Spot[]> {
  const before = spots.filter(({ seq }) => seq > 1);
  if (before.length === 0) return [];
  const $or = before.map(({ account, seq }) => ({ account, seq: { $lt: seq, $gte: seq - TOGETHER } }));
  return (await reads.find<ShortBatch>('journal', { $or }, { projection: SHORT })).map(spotOf);
}

/** The first of a merge of accounts' journals, each known from its start on. */
async function merged(reads: MongoReads, starts: readonly Spot[], count: number): Promise<Spot[]> {
  // What lies behind so many newer accounts isn't among the first.
  let known = [...starts].sort(compare).slice(0, count);
  let edges = known;
  for (;;) {
    const first = known.slice(0, count);
    // The last known batch of an account among the first: what lies behind it may be, too.
    const open = edges.filter((edge) => edge.seq > 1 && first.includes(edge));
    if (open.length === 0) return first;
    const more = await behind(reads, open);
    const last = new Map(more.sort(compare).map((spot) => [spot.account, spot]));
    edges = [...edges.filter((edge) => !open.includes(edge)), ...last.values()];
    known = [...known, ...more].sort(compare);
  }
}

/** From where the batches that were made at a time (ms) or before are the newest. */
export function placeUntil(time: number): string {
  return placeOf({ at: time, account: LAST_ACCOUNT, seq: 1 });
}

/** Batches from a place on backwards, that one first. @throws StoreUnavailable */
export async function newestBatches(
  reads: MongoReads,
  from: string | null,
  limit: number,
): Promise<NewestPage> {
  const start = from === null ? null : spotIn(from);
  if (start !== null && !(Number.isSafeInteger(start.at) && Number.isSafeInteger(start.seq)))
    return { batches: [], unreadable: 0, next: null };
  const all = await heads(reads);
  const isAfter = (spot: Spot): boolean => start === null || compare(start, spot) <= 0;
  const newer = all.filter((spot) => !isAfter(spot)).map(({ account }) => account);
  const searched = start === null ? [] : await lastFrom(reads, newer, start);
  const spots = await merged(reads, [...all.filter(isAfter), ...searched], limit + 1);
  const shown = spots.slice(0, limit);
  const $or = shown.map(({ account, seq }) => ({ account, seq }));
  const found = $or.length === 0 ? [] : await reads.find<JournalDocument>('journal', { $or });
  const documents = new Map(found.map((document) => [placeOf(spotOf(document)), document]));
  let unreadable = 0;
  const batches = shown.flatMap((spot) => {
    const place = placeOf(spot);
    const document = documents.get(place);
    if (document === undefined) return [];
    const batch = readableBatch(document);
    if (batch === null) unreadable += 1;
    return batch === null ? [] : [{ place, batch }];
  });
  const next = spots[limit];
  return { batches, unreadable, next: next === undefined ? null : placeOf(next) };
}
