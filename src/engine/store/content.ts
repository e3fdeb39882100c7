/** Batches and entries as they are stored and hashed: canonical JSON, without what is as usual. */
import { hash } from 'node:crypto';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Balances } from '../../domain/money.ts';
import type { Batch, Entry, Head, JournalMessage } from '../journal.ts';

/** An entry as it is stored: what is as usual is left out. */
export type StoredEntry = Partial<Entry> & { message: JournalMessage };

/** A batch as it is stored and hashed. */
export type BatchContent = Omit<Batch, 'hash' | 'entries'> & { entries: StoredEntry[] };

/** The parts of an entry that has nothing but a message, and where nothing is stored of them. */
export function usual(): Omit<Entry, 'at' | 'message'> {
  return {
    attention: null,
    code: null,
    events: [],
    from: null,
    orders: [],
    postings: [],
    refusal: null,
    snapshot: null,
    timers: null,
    to: null,
    transaction: null,
    type: null,
  };
}

/** Members in canonical order; what is as usual is left out: it would be a third of what is written. */
function storedEntry(entry: Entry, batchAt: string): StoredEntry {
  const stored: Partial<Entry> = {};
  if (entry.at !== batchAt) stored.at = entry.at;
  if (entry.attention !== null) stored.attention = entry.attention;
  if (entry.code !== null) stored.code = entry.code;
  if (entry.events.length > 0) stored.events = entry.events;
  if (entry.from !== null) stored.from = entry.from;
  stored.message = entry.message;
  if (entry.orders.length > 0) stored.orders = entry.orders;
  if (entry.postings.length > 0) stored.postings = entry.postings;
  if (entry.refusal !== null) stored.refusal = entry.refusal;
  if (entry.snapshot !== null) stored.snapshot = entry.snapshot;
  if (entry.timers !== null) stored.timers = entry.timers;
  if (entry.to !== null) stored.to = entry.to;
  if (entry.transaction !== null) stored.transaction = entry.transaction;
  if (entry.type !== null) stored.type = entry.type;
  return stored as StoredEntry;
}

function storedBalances({ available, bank, clearing, fees }: Readonly<Balances>): Balances {
  return { available, bank, clearing, fees };
}

/** The stored part of a batch, in canonical order. */
export function batchContent(batch: Omit<Batch, 'hash'>): BatchContent {
  const { account, at, id, previous, seq } = batch;
  const balances = storedBalances(batch.balances);
  const entries = batch.entries.map((entry) => storedEntry(entry, at));
  return { account, at, balances, entries, id, previous, seq };
}

const KNOWN = new Set(['at', 'message', ...Object.keys(usual())]);

/**
 * An entry as it was, from what is stored of it and its batch's time.
 * @throws Error where it has a part that no entry has.
 */
export function entryFrom(stored: StoredEntry, at: string): Entry {
  // A part that the hash doesn't cover must not pass for history.
  for (const name in stored)
    if (!KNOWN.has(name)) throw new Error(`an entry has a part that is unknown: ${name}`);
  return { at, ...usual(), ...stored };
}

/**
 * A batch as it was, from what is stored of it.
 * @throws Error where that is none.
 */
export function batchFrom(content: BatchContent, hash: string): Batch {
  return { ...content, entries: content.entries.map((stored) => entryFrom(stored, content.at)), hash };
}

/** The canonical text of an entry, as a batch of that time has it. */
export function entryText(entry: Entry, batchAt: string): string {
  return canonicalJson(storedEntry(entry, batchAt));
}

/** The canonical text of a batch of entries that are written already. */
export function contentWith(entries: readonly string[], batch: Omit<Batch, 'hash' | 'entries'>): string {
  const { account, at, id, previous, seq } = batch;
  const balances = storedBalances(batch.balances);
  const before = canonicalJson({ account, at, balances }).slice(0, -1);
  const after = canonicalJson({ id, previous, seq }).slice(1);
  return `${before},"entries":[${entries.join(',')}],${after}`;
}

/** The canonical text that a batch's hash covers. */
export function contentOf(batch: Omit<Batch, 'hash'>): string {
  return contentWith(
    batch.entries.map((entry) => entryText(entry, batch.at)),
    batch,
  );
}

/** SHA-256 in hex; of a text: of its UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/** Whether a batch follows that one, and is what its hash says (I3). */
export function follows(batch: Batch, before: Pick<Head, 'seq' | 'hash'>): boolean {
  const { seq, previous, hash: own } = batch;
  return seq === before.seq + 1 && previous === before.hash && sha256(contentOf(batch)) === own;
}

/** The digest that a message with an id is compared by when it comes again. */
export function digestOf(type: string, data: unknown): string {
  return sha256(canonicalJson([type, data])).slice(0, 32);
}
