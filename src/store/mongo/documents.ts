/**
 * What lies in MongoDB, and the way there and back. Nothing is encoded: it is as the engine has it.
 *
 * Where BSON can't hold a text (a lone surrogate, a null byte in a name) or the driver would read it as
 * something else (a DBRef), the document carries the exact text as `exact` beside its readable form.
 */
import { BSON, type Document } from 'mongodb';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Balances } from '../../domain/money.ts';
import { waitOf } from '../../engine/attention/stuck.ts';
import type { BankOrder, Batch, Head, TransactionRecord } from '../../engine/journal.ts';
import { type BatchContent, batchContent, batchFrom } from '../../engine/store/content.ts';
import type { LookupName } from '../../engine/store/lookups.ts';
import type { BankWait, Wait } from '../../engine/store.ts';
import { fromBson, isOdd, type Plain, readable, toBson, toDate, toIso } from './bson.ts';

/** One batch: the commit, and the account's head while it is the last one. */
export interface JournalDocument extends Plain {
  /** Incarnation and number: what one process appended lies together, in order. */
  _id: string;
  account: string;
  seq: number;
  /** The batch's id. */
  id: string;
  at: Date;
  balances: Balances;
  previous: string;
  hash: string;
  entries: Plain[];
  exact?: string;
  /** Came from another store, with what it made due long ago: that isn't made due again. */
  imported?: true;
}

/** Whose hands a due thing is in. */
export interface Held {
  /** Names the claim on it; absent where it is free. Its `due` is when the claim ends. */
  token?: string;
  /** Since when it is due, while there is a claim on it. */
  since?: Date;
  /** It waits for its transaction to be readable again. */
  parked?: true;
  due?: Date;
  tries?: number;
  /** The last step of the clock, forward, that put it off; 0: none since it was brought back. */
  followed?: number;
}

export interface TimerElement extends Held {
  name: string;
  at: Date | string;
  /** Names the due thing among all; absent with `due` once it is settled. */
  id?: string;
  /** Once it was put off: by how many ms the time that it was set by was ahead of the clock. */
  ahead?: number;
  /** Once it was put off though it had come: when it was due before that, and by how many ms that was ahead. */
  own?: { at: Date; ahead: number };
  /** With `own`: what the clock showed when `due` was reckoned. */
  reckonedAt?: Date;
}

export interface OrderElement extends Held {
  id: string;
  order: BankOrder;
  /** Where it is due in long: what the clock showed `at` which it was reckoned; it says nothing of another `due`. */
  reckoned?: { due: Date; at: Date };
}

export interface LookupElement {
  name: LookupName;
  key: string;
  /** Of two transactions with one key the one with the higher order is found. */
  order: number;
}

export interface TransactionDocument extends Plain {
  _id: string;
  account: string;
  type: TransactionRecord['type'];
  status: string;
  machine: string;
  version: string;
  snapshot: Plain;
  final: boolean;
  /** A cashout that isn't final: what the index over open cashouts holds. */
  open?: true;
  createdAt?: Date | string;
  updatedAt: Date | string;
  /** Which of the account's transactions it is, in the order of creation. */
  order: number;
  /** A charge's, as far as it is looked up by it. */
  externalRef?: string;
  lookups?: LookupElement[];
  timers: TimerElement[];
  orders?: OrderElement[];
  /** The last batch that changed it: an older one changes nothing any more. */
  seq: number;
  seqs: number[];
  refusals?: number;
  messages: { id: string; digest: string }[];
  events: number;
  lastDeliveries: { url: string; id: string }[];
  submitted: boolean;
  exact?: string;
}

/** An adjustment of a balance by its message id: applied once. */
export interface AdjustmentDocument extends Plain {
  _id: string;
  account: string;
  key: string;
  digest: string;
}

/** A refused message, or a payment given back; `_id` is `account:name:key`. */
export interface RefusalDocument extends Plain {
  _id: string;
  account: string;
  name: 'refusal' | 'returned';
  key: string;
  transaction: string;
  seq: number;
}

export function journalDocument(_id: string, batch: Batch, content: string): JournalDocument {
  const odd = isOdd(content);
  const stored = odd ? (readable(content) as BatchContent) : batchContent(batch);
  const { account, seq, id, previous } = stored;
  const document: JournalDocument = {
    _id,
    account,
    seq: toBson(seq) as number,
    id,
    at: toDate(stored.at) as Date,
    balances: toBson(stored.balances) as Balances,
    previous,
    hash: batch.hash,
    entries: toBson(stored.entries) as Plain[],
  };
  if (odd) document.exact = content;
  return document;
}

/** Names, ids and the hash: what a batch's document holds besides its content. */
const OWN_BYTES = 512;
/**
 * A `0` and its comma in a long array become a type, an index of seven digits, its end and four bytes: 13 for two. All
 * else grows less, and the exact text is one more for each.
 */
const BYTES_A_BYTE = 8;

/** How many bytes a batch's document has, at most, by how many its content has: that needs no look at its parts. */
export function mostBytesOfBatch(content: number): number {
  return OWN_BYTES + BYTES_A_BYTE * content;
}

/** What MongoDB allows. */
const DOCUMENT_BYTES = 16 * 1024 * 1024;

/**
 * Nothing that is decided comes near it: only a batch that a former build's data folder brings can be too large.
 * @throws Error where a batch, of so many bytes of content, has no place in a document
 */
export function checkSize(batch: Batch, content: string, bytes: number): void {
  if (mostBytesOfBatch(bytes) <= DOCUMENT_BYTES) return;
  const size = OWN_BYTES + BSON.calculateObjectSize(journalDocument('', batch, content));
  if (size <= DOCUMENT_BYTES) return;
  const { account, seq } = batch;
  throw new Error(
    `batch ${seq} of ${account} is too large for MongoDB: ${size} bytes of ${DOCUMENT_BYTES} that a document may have`,
  );
}

/** @throws Error where the document is no batch. */
export function batchFromDocument({ _id, hash, exact, imported, ...stored }: JournalDocument): Batch {
  // The text is what the hash covers; what it doesn't cover may not pass for history.
  const content = exact === undefined ? fromBson(stored) : JSON.parse(exact);
  return batchFrom(content as BatchContent, hash);
}

/** Transactions that entries are of, each once; null stands for entries of none. */
export function onceEach(transactions: readonly (string | null)[]): string[] {
  return [...new Set(transactions.flatMap((id) => id ?? []))];
}

/** The transactions of a batch. */
export function transactionsIn(document: JournalDocument): string[] {
  return onceEach(batchFromDocument(document).entries.map(({ transaction }) => transaction));
}

export function headFromDocument({
  seq,
  at,
  balances,
  hash,
}: Pick<JournalDocument, 'seq' | 'at' | 'balances' | 'hash'>): Head {
  return { seq, at: toIso(at), balances: fromBson(balances) as Balances, hash };
}

/** What marks a transaction that waits for the bank, where its status doesn't tell. */
export const WAITS = { cashout: 'open', refund: 'refunding' } as const satisfies Partial<
  Record<BankWait, string>
>;

/** What finds those that wait for that: each by an index of its own. */
export function waitFilter(wait: Wait): Document {
  if (wait === 'protest') return { status: 'in_protest' };
  return wait === 'analysis' ? { status: 'in_analysis' } : { [WAITS[wait]]: true };
}

/** The mark of what a transaction waits for at the bank; empty where it waits for nothing. */
export function waitMark(
  record: TransactionRecord,
): Partial<Record<(typeof WAITS)[keyof typeof WAITS], true>> {
  const wait = waitOf(record);
  return wait === null || wait === 'analysis' ? {} : { [WAITS[wait]]: true };
}

/** The parts of a transaction's document that every batch which changes it writes anew. */
export type ChangingParts = Pick<
  TransactionDocument,
  | 'status'
  | 'machine'
  | 'version'
  | 'snapshot'
  | 'final'
  | 'updatedAt'
  | 'seq'
  | 'seqs'
  | 'refusals'
  | 'messages'
  | 'events'
  | 'lastDeliveries'
  | 'submitted'
  | 'exact'
>;

/**
 * `seq`: of the batch that changes it. `stored`: its snapshot in its stored form, where there is one already and nothing
 * that the record is made of is odd.
 */
export function changingParts(record: TransactionRecord, seq: number, stored?: Plain): ChangingParts {
  const text = stored === undefined ? JSON.stringify(record) : '';
  const odd = isOdd(text);
  const shown = odd ? (readable(text) as TransactionRecord) : record;
  const { value, machine, version } = shown.snapshot;
  const parts: ChangingParts = {
    status: typeof value === 'string' ? value : canonicalJson(value),
    machine,
    version,
    snapshot: stored ?? (toBson(shown.snapshot) as Plain),
    final: shown.final,
    updatedAt: toDate(shown.updatedAt),
    seq: toBson(seq) as number,
    seqs: toBson(shown.seqs) as number[],
    messages: Object.entries(shown.messages).map(([id, digest]) => ({ id, digest })),
    events: shown.events,
    lastDeliveries: Object.entries(shown.lastDeliveries).map(([url, id]) => ({ url, id })),
    submitted: shown.submitted,
  };
  if (shown.refusals !== undefined) parts.refusals = shown.refusals;
  if (odd) parts.exact = text;
  return parts;
}

export function recordFromDocument(document: TransactionDocument): TransactionRecord {
  const { _id, account, type, final, updatedAt, seqs, refusals, messages, events, timers } = document;
  if (document.exact !== undefined) return JSON.parse(document.exact);
  const record = {
    id: _id,
    account,
    type,
    snapshot: fromBson(document.snapshot) as TransactionRecord['snapshot'],
    final,
    updatedAt: toIso(updatedAt),
    seqs,
    ...(refusals === undefined ? {} : { refusals }),
    messages: Object.fromEntries(messages.map(({ id, digest }) => [id, digest])),
    events,
    timers: timers.map(({ name, at }) => ({ name, at: toIso(at) })),
    lastDeliveries: Object.fromEntries(document.lastDeliveries.map(({ url, id }) => [url, id])),
    submitted: document.submitted,
  };
  return record as TransactionRecord;
}
