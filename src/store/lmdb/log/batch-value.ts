/**
 * A batch as the journal's table holds it: its hash, then its canonical text as UTF-8. What is asked for is found in
 * the bytes, and nothing else of a batch of hundreds of entries is parsed.
 */
import type { Batch, Entry, Head } from '../../../engine/journal.ts';
import {
  type BatchContent,
  batchFrom,
  entryFrom,
  type StoredEntry,
  sha256,
} from '../../../engine/store/content.ts';
import type { Append } from '../../../engine/store.ts';

const HASH_LENGTH = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;
/** What stands before the entries in the canonical order is an account's id, a time and numbers. */
const ENTRIES = Buffer.from(',"entries":[');
const SEQ = Buffer.from(',"seq":');

export function batchValue({ batch, content }: Append): string {
  return batch.hash + content;
}

/** The canonical text that the hash covers. */
export function contentIn(value: string): string {
  return value.slice(HASH_LENGTH);
}

/** Whether its text is what its hash says, to the byte. */
export function isAsHashed(value: Buffer): boolean {
  return sha256(value.subarray(HASH_LENGTH)) === value.toString('latin1', 0, HASH_LENGTH);
}

/** What stands before the account, the first member in the canonical order. */
const BEFORE_ACCOUNT = '{"account":"';
const ACCOUNT_AT = HASH_LENGTH + BEFORE_ACCOUNT.length;

/** Whose batch it is, without a look at the rest of it; null where that can't be told. */
export function accountIn(value: string): string | null {
  if (!value.startsWith(BEFORE_ACCOUNT, HASH_LENGTH)) return null;
  const account = value.slice(ACCOUNT_AT, value.indexOf('"', ACCOUNT_AT));
  return account.includes('\\') ? null : account;
}

/** @throws Error where the value is no batch. */
export function parseBatch(value: string): Batch {
  const content: BatchContent = JSON.parse(contentIn(value));
  return batchFrom(content, value.slice(0, HASH_LENGTH));
}

type BeforeEntries = Pick<Batch, 'account' | 'at' | 'balances'>;

function parseBeforeEntries(value: Buffer): BeforeEntries {
  return JSON.parse(`${value.toString('utf8', HASH_LENGTH, value.indexOf(ENTRIES))}}`);
}

/**
 * Whose batch it is, and its number.
 * @throws Error where the value is no batch.
 */
export function parseNumber(value: Buffer): Pick<Batch, 'account' | 'seq'> {
  // The number is the last member in the canonical order.
  const seq = Number(value.toString('utf8', value.lastIndexOf(SEQ) + SEQ.length, value.length - 1));
  if (!Number.isSafeInteger(seq)) throw new Error('the batch has no number');
  return { account: parseBeforeEntries(value).account, seq };
}

/**
 * The head after a batch.
 * @throws Error where the value is no batch.
 */
export function parseHead(seq: number, value: Buffer): Head {
  const { at, balances } = parseBeforeEntries(value);
  return { seq, at, balances, hash: value.toString('utf8', 0, HASH_LENGTH) };
}

/** The place behind the text that begins with the quote at `start`. */
function endOfText(value: Buffer, start: number): number {
  let at = start + 1;
  while (at < value.length && value[at] !== QUOTE) at += value[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** The place behind the object that begins at `start`. */
function endOfObject(value: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < value.length) {
    const byte = value[at];
    if (byte === QUOTE) {
      at = endOfText(value, at);
      continue;
    }
    at += 1;
    if (byte === OPENING) depth += 1;
    else if (byte === CLOSING) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new Error('the batch ends within an entry');
}

/** Where an entry lies in a batch: its beginning, and the place behind it. */
type Place = readonly [start: number, end: number];

function storedAt(value: Buffer, [start, end]: Place): StoredEntry {
  return JSON.parse(value.toString('utf8', start, end));
}

/**
 * The entries of one transaction, and whose batch they are of and its number, where all of it is parsed.
 * @throws Error where the value is no batch.
 */
export function parseWhole(
  transaction: string,
  value: Buffer,
): { number: Pick<Batch, 'account' | 'seq'>; entries: Entry[] } {
  const content: BatchContent = JSON.parse(value.toString('utf8', HASH_LENGTH));
  const { account, seq, at } = content;
  if (!Number.isSafeInteger(seq)) throw new Error('the batch has no number');
  const own = content.entries.filter((entry) => entry.transaction === transaction);
  return { number: { account, seq }, entries: own.map((entry) => entryFrom(entry, at)) };
}

/** Reads entries of a batch of which many are asked for: where each lies is looked for once. */
export class EntriesIn {
  readonly #value: Buffer;
  readonly #at: string;
  readonly #places = new Map<string, Place[]>();

  /** @throws Error where the value is no batch. */
  constructor(value: Buffer) {
    this.#value = value;
    this.#at = parseBeforeEntries(value).at;
    let start = value.indexOf(ENTRIES) + ENTRIES.length;
    while (value[start] === OPENING) {
      const place: Place = [start, endOfObject(value, start)];
      const { transaction = null } = storedAt(value, place);
      const known = transaction === null ? undefined : this.#places.get(transaction);
      if (known !== undefined) known.push(place);
      else if (transaction !== null) this.#places.set(transaction, [place]);
      // A comma stands between two entries.
      start = place[1] + 1;
    }
  }

  /** The entries of one transaction. */
  of(transaction: string): Entry[] {
    const places = this.#places.get(transaction) ?? [];
    return places.map((place) => entryFrom(storedAt(this.#value, place), this.#at));
  }
}

/**
 * The entries of one transaction.
 * @throws Error where the value is no batch.
 */
export function parseEntriesOf(transaction: string, value: Buffer): Entry[] {
  // Quotes within texts are escaped, so this can only be a member: of an entry, or of something within one.
  const member = Buffer.from(`"transaction":${JSON.stringify(transaction)}`);
  const found: Entry[] = [];
  let next = value.indexOf(member);
  if (next === -1) return found;
  const { at: batchAt } = parseBeforeEntries(value);
  let start = value.indexOf(ENTRIES) + ENTRIES.length;
  while (next !== -1) {
    const end = endOfObject(value, start);
    if (next < end) {
      const stored = storedAt(value, [start, end]);
      if (stored.transaction === transaction) found.push(entryFrom(stored, batchAt));
      next = value.indexOf(member, end);
    }
    // A comma stands between two entries.
    start = end + 1;
  }
  return found;
}
