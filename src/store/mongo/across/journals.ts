/**
 * The accounts' journals, each by itself, and how far each was read again (`followed`). All is read of the primary, as a
 * majority holds it: what is seen is never taken back, and of a journal never the end without what is before it.
 */
import { BSON, type Document } from 'mongodb';
import type {
  FollowedJournals,
  HeadInShort,
  Span,
  Standing,
  StandingsPage,
  StoredBatch,
} from '../../../engine/store/journals.ts';
import { standsTwice } from '../audit/twice.ts';
import type { Plain } from '../bson.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import type { JournalDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import { readableBatch } from './readable.ts';

interface FollowedDocument extends Plain, HeadInShort {
  /** The account. */
  _id: string;
}

/** Accounts of which one look tells. */
const A_PAGE = 500;
/** Of journals without settings, which nobody makes, no more are told together either. */
const MOST_OF_A_PAGE = 2 * A_PAGE;
const ID = { _id: 1 };
const SHORT = { seq: 1, hash: 1 };

export class MongoJournals implements FollowedJournals {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;

  constructor(connection: MongoConnection, reads: MongoReads) {
    this.#connection = connection;
    this.#reads = reads;
  }

  /** Accounts lead from page to page, and what lies between them is told with them. */
  async standings(after: string): Promise<StandingsPage> {
    this.#connection.check();
    const options = { sort: ID, limit: A_PAGE, projection: ID };
    const accounts = await this.#reads.find<{ _id: string }>('accounts', { _id: { $gt: after } }, options);
    const last = accounts.length < A_PAGE ? null : (accounts.at(-1)?._id ?? null);
    const within = last === null ? { $gt: after } : { $gt: after, $lte: last };
    const kept = { sort: ID, limit: MOST_OF_A_PAGE, projection: SHORT };
    // What was read can't be ahead of a journal that is looked at later.
    const known = await this.#reads.find<FollowedDocument>('followed', { _id: within }, kept);
    const heads = await this.#heads(within);
    const full = [known, heads].filter(({ length }) => length === MOST_OF_A_PAGE);
    const ends = [...full.flatMap((page) => page.at(-1)?._id ?? []), ...(last === null ? [] : [last])].sort();
    const [next = null] = ends;
    return {
      standings: joined(heads, known).filter(({ account }) => next === null || account <= next),
      next,
    };
  }

  /** The last batch of each account, found by skipping from account to account in the index. */
  #heads(account: Document): Promise<FollowedDocument[]> {
    const $group = { _id: '$account', seq: { $first: '$seq' }, hash: { $first: '$hash' } };
    return this.#reads.aggregate<FollowedDocument>('journal', [
      { $match: { account } },
      { $sort: { account: -1, seq: -1 } },
      { $group },
      { $sort: ID },
      { $limit: MOST_OF_A_PAGE },
    ]);
  }

  async stored(spans: readonly Span[], limit: number): Promise<StoredBatch[]> {
    this.#connection.check();
    const [first = {}, ...others] = spans.map(({ account, from, to }) => ({
      ...{ account, seq: { $gte: from, $lte: to } },
    }));
    // Of several accounts the index gives no order by numbers alone, nor is there more of them than is asked for.
    const filter = others.length === 0 ? first : { $or: [first, ...others] };
    const options = others.length === 0 ? { sort: { seq: 1 }, limit } : { limit };
    const found = (await this.#reads.storedBatches(filter, options)).map(storedBatchIn);
    return found.sort((a, b) => a.seq - b.seq);
  }

  async keep(heads: ReadonlyMap<string, HeadInShort>): Promise<void> {
    this.#connection.check();
    const updates = [...heads].map(([_id, { seq, hash }]) => ({
      ...{ q: { _id }, u: { $set: { seq, hash } }, upsert: true },
    }));
    const command = { update: 'followed', ordered: false, writeConcern: MAJORITY };
    for (let from = 0; from < updates.length; from += A_PAGE)
      await this.#connection.command({ ...command, updates: updates.slice(from, from + A_PAGE) });
  }
}

/** Where a member stands twice, what is hashed isn't all that stands there. */
function storedBatchIn(bytes: Uint8Array): StoredBatch {
  const document = BSON.deserialize(bytes) as JournalDocument;
  const { account, seq, hash } = document;
  return { account, seq, hash, batch: standsTwice(bytes) ? null : readableBatch(document) };
}

/** What is known of each account, of both. */
function joined(heads: readonly FollowedDocument[], known: readonly FollowedDocument[]): Standing[] {
  const standings = new Map<string, Standing>();
  const of = (account: string): Standing => {
    const found = standings.get(account) ?? { account, head: null, known: null };
    standings.set(account, found);
    return found;
  };
  for (const { _id, seq, hash } of heads) of(_id).head = { seq, hash };
  for (const { _id, seq, hash } of known) of(_id).known = { seq, hash };
  return [...standings.values()];
}
