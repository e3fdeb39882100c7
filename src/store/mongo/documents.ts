/**
 * What lies in MongoDB, and the way there and back. Nothing is encoded: dates are dates, whole numbers beyond
 * 32 bits are Longs, the rest is as the engine has it. The way back gives the same canonical JSON, to the byte.
 *
 * Where BSON can't hold a text (a lone surrogate, a null byte in a name) or the driver would read it as
 * something else (a DBRef), the document carries the exact text as `exact` beside its readable form.
 */
import type { Account } from '../../domain/account.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Balances } from '../../domain/money.ts';
import {
  type BankOrder,
  type Batch,
  type BatchContent,
  batchContent,
  batchFrom,
  type Head,
  type TransactionRecord,
} from '../../engine/journal.ts';
import type { AttentionItem, DeliveryRecord, LookupName } from '../../engine/store.ts';
import { fromBson, isOdd, readable, toBson, toIso } from './bson.ts';

type Plain = { [name: string]: unknown };

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

/** Whose a due thing is: nobody's (absent), an incarnation's, or `parked`. */
export interface Held {
  owner?: string;
  token?: string;
}

export interface TimerElement extends Held {
  name: string;
  at: Date | string;
  /** Names the due thing among all; absent with `due` once it is settled. */
  id?: string;
  due?: Date;
  tries?: number;
}

export interface OrderElement extends Held {
  id: string;
  order: BankOrder;
  due: Date;
  tries?: number;
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
  messages: { id: string; digest: string }[];
  events: number;
  lastDeliveries: { url: string; id: string }[];
  submitted: boolean;
  exact?: string;
}

export interface DeliveryDocument extends Plain, Held {
  _id: string;
  account: string;
  transaction: string;
  event?: string;
  url?: string;
  status: DeliveryRecord['status'];
  /** Absent until there was an attempt. */
  failures?: number;
  attempts: { at: Date | string; statusCode: number | null; error: string | null; durationMs: number }[];
  nextAttemptAt: Date | string | null;
  deliveredAt: Date | string | null;
  due?: Date;
  tries?: number;
}

export interface AccountDocument extends Plain {
  _id: string;
  version: number;
  clientId: string;
}

export interface AttentionDocument extends Plain {
  /** Kind and id. */
  _id: string;
  kind: AttentionItem['kind'];
  id: string;
  what: string;
  next: string;
  since: Date | string;
  done: boolean;
}

/** An adjustment of a balance by its message id: applied once. */
export interface AdjustmentDocument extends Plain {
  _id: string;
  account: string;
  key: string;
  digest: string;
}

/** A process, while it lives and until what it left is taken over. */
export interface ProcessDocument extends Plain {
  _id: string;
  beatAt: Date;
  /** Of the batches it appended, those up to this number are projected. */
  projected: number;
}

const NUMBER_LENGTH = 10;

/** Names a batch's document: what one process appended lies together, in order. */
export function documentId(incarnation: string, number: number): string {
  return `${incarnation}-${String(number).padStart(NUMBER_LENGTH, '0')}`;
}

export function journalDocument(_id: string, batch: Batch, content: string): JournalDocument {
  const odd = isOdd(content);
  const stored = odd ? (readable(content) as BatchContent) : batchContent(batch);
  const { account, seq, id, at, balances, previous, entries } = stored;
  const { hash } = batch;
  const document = toBson({
    _id,
    account,
    seq,
    id,
    at,
    balances,
    previous,
    hash,
    entries,
  }) as JournalDocument;
  if (odd) document.exact = content;
  return document;
}

/** @throws Error where the document is no batch. */
export function batchOf({ _id, hash, exact, imported, ...stored }: JournalDocument): Batch {
  // The text is what the hash covers; what it doesn't cover may not pass for history.
  const content = exact === undefined ? fromBson(stored) : JSON.parse(exact);
  return batchFrom(content as BatchContent, hash);
}

/** Transactions that entries are of, each once; null stands for entries of none. */
export function onceEach(transactions: readonly (string | null)[]): string[] {
  return [...new Set(transactions.flatMap((id) => id ?? []))];
}

/** The transactions of a batch. */
export function namedIn(document: JournalDocument): string[] {
  return onceEach(batchOf(document).entries.map(({ transaction }) => transaction));
}

export function headOf({
  seq,
  at,
  balances,
  hash,
}: Pick<JournalDocument, 'seq' | 'at' | 'balances' | 'hash'>): Head {
  return { seq, at: toIso(at), balances: fromBson(balances) as Balances, hash };
}

/** The parts of a transaction's document that every batch which changes it writes anew. */
export function changingParts(record: TransactionRecord): Plain {
  const text = JSON.stringify(record);
  const odd = isOdd(text);
  const shown = odd ? (readable(text) as TransactionRecord) : record;
  const { value, machine, version } = shown.snapshot;
  const parts = toBson({
    status: typeof value === 'string' ? value : canonicalJson(value),
    machine,
    version,
    snapshot: shown.snapshot,
    final: shown.final,
    updatedAt: shown.updatedAt,
    seq: record.seqs.at(-1) ?? 0,
    seqs: shown.seqs,
    messages: Object.entries(shown.messages).map(([id, digest]) => ({ id, digest })),
    events: shown.events,
    lastDeliveries: Object.entries(shown.lastDeliveries).map(([url, id]) => ({ url, id })),
    submitted: shown.submitted,
  }) as Plain;
  if (odd) parts.exact = text;
  return parts;
}

export function recordOf(document: TransactionDocument): TransactionRecord {
  const { _id, account, type, final, updatedAt, seqs, messages, events, timers } = document;
  if (document.exact !== undefined) return JSON.parse(document.exact);
  const record = {
    id: _id,
    account,
    type,
    snapshot: fromBson(document.snapshot) as TransactionRecord['snapshot'],
    final,
    updatedAt: toIso(updatedAt),
    seqs,
    messages: Object.fromEntries(messages.map(({ id, digest }) => [id, digest])),
    events,
    timers: timers.map(({ name, at }) => ({ name, at: toIso(at) })),
    lastDeliveries: Object.fromEntries(document.lastDeliveries.map(({ url, id }) => [url, id])),
    submitted: document.submitted,
  };
  return record as TransactionRecord;
}

/** The parts of a delivery's document that tell its progress. */
export function progressParts(record: DeliveryRecord): Plain {
  const { status, failures, attempts, nextAttemptAt, deliveredAt } = record;
  return toBson({ status, failures, attempts, nextAttemptAt, deliveredAt }) as Plain;
}

export function deliveryOf(document: DeliveryDocument): DeliveryRecord {
  const { _id, account, transaction, status, failures = 0, nextAttemptAt, deliveredAt } = document;
  return {
    id: _id,
    account,
    transaction,
    status,
    failures,
    attempts: fromBson(document.attempts) as DeliveryRecord['attempts'],
    nextAttemptAt: nextAttemptAt === null ? null : toIso(nextAttemptAt),
    deliveredAt: deliveredAt === null ? null : toIso(deliveredAt),
  };
}

export function accountDocument({ id, ...settings }: Account): AccountDocument {
  return toBson({ _id: id, ...settings }) as AccountDocument;
}

export function accountOf({ _id, ...settings }: AccountDocument): Account {
  return { id: _id, ...(fromBson(settings) as Omit<Account, 'id'>) };
}

export function attentionKey({ kind, id }: Pick<AttentionItem, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

export function attentionDocument(item: AttentionItem): AttentionDocument {
  return toBson({ _id: attentionKey(item), ...item, done: false }) as AttentionDocument;
}

export function attentionOf({ kind, id, what, next, since }: AttentionDocument): AttentionItem {
  return { kind, id, what, next, since: toIso(since) };
}
