/**
 * The newest batches of all accounts, on MongoDB: the accounts' journals merged from their ends backwards, in the order
 * of time, then account, then number. No index is in the order of time: a create would pay for it.
 */
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

/** Accounts that one command searches, and batches that it looks at for them. */
const A_COMMAND = 50;
const LOOKED_AT = 100;
/** Of an account it looks at no more. */
const LOOKED_AT_EACH = 15;
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

/** An account's last batch at a place or behind it, as far as it is found: it has a number from `low` to below `high`. */
interface Search {
  account: string;
  low: number;
  high: number;
  found: Spot | null;
}

/** Numbers to look at: as far apart as they can be, with the highest one. */
function probesOf({ low, high }: Search, most: number): number[] {
  const left = high - low - 1;
  const count = Math.min(most, left);
  return Array.from({ length: count }, (_, index) => low + Math.ceil(((index + 1) * left) / count));
}

/** What a search knows once it has looked at batches; where none of them is there, it goes on before them. */
function narrowed(search: Search, probes: readonly number[], looked: readonly Spot[], from: Spot): Search {
  const { account, low, high } = search;
  const own = looked.filter((spot) => spot.account === account).sort(compare);
  if (own.length === 0) return { ...search, high: Math.min(high, ...probes) };
  const isBehind = (spot: Spot): boolean => compare(from, spot) <= 0;
  const found = own.find(isBehind) ?? search.found;
  const newer = own.filter((spot) => !isBehind(spot)).map(({ seq }) => seq);
  return { account, low: found?.seq ?? low, high: Math.min(high, ...newer), found };
}

/** The last batch of each of these accounts that isn't before a place: times rise with the numbers of an account. */
async function searched(reads: MongoReads, newer: readonly Spot[], from: Spot): Promise<Spot[]> {
  const ended: Search[] = [];
  let open = newer.map(({ account, seq }): Search => {
    const high = account === from.account ? Math.min(seq, from.seq + 1) : seq;
    return { account, low: 0, high, found: null };
  });
  for (;;) {
    const isOpen = ({ low, high }: Search): boolean => high - low > 1;
    ended.push(...open.filter((search) => !isOpen(search)));
    open = open.filter(isOpen);
    if (open.length === 0) return ended.flatMap(({ found }) => found ?? []);
    const most = Math.max(2, Math.min(LOOKED_AT_EACH, Math.floor(LOOKED_AT / open.length)));
    const probes = new Map(open.map((search) => [search.account, probesOf(search, most)]));
    const $or = [...probes].map(([account, seqs]) => ({ account, seq: { $in: seqs } }));
    const looked = (await reads.find<ShortBatch>('journal', { $or }, { projection: SHORT })).map(spotOf);
    open = open.map((search) => narrowed(search, probes.get(search.account) ?? [], looked, from));
  }
}

/** Each account's last batch that isn't before a place in the list, of those whose last one of all is. */
async function lastFrom(reads: MongoReads, newer: readonly Spot[], from: Spot): Promise<Spot[]> {
  const found: Spot[] = [];
  for (let start = 0; start < newer.length; start += A_COMMAND)
    found.push(...(await searched(reads, newer.slice(start, start + A_COMMAND), from)));
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
  const newer = all.filter((spot) => !isAfter(spot));
  const last = start === null ? [] : await lastFrom(reads, newer, start);
  const spots = await merged(reads, [...all.filter(isAfter), ...last], limit + 1);
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
