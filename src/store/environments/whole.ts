/**
 * Whether the file of an environment has all the pages that its header tells of. lmdb maps what isn't there, too, and its
 * first touch of a missing page ends the whole process (SIGBUS, SIGSEGV), without a word.
 *
 * The header is two pages, one for every other transaction; the newer one counts (lmdb-js 3.5.6, `MDB_meta`). The last
 * pages of a file may be missing where they are free: lmdb needn't have written those (`mm_last_pg`).
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf, OperatorError } from '../../errors.ts';

const MAGIC = 0xbeefc0de;
/** Before the content of each page. */
const PAGE_HEAD = 24;
/** Of a page with the header, as far as it is looked at. */
const META_BYTES = 160;
/** Two pages of the smallest size that a system has. */
const LEAST_BYTES = 8_192;
/** A tree without a page has this root: all ones. */
const NO_PAGE = 2n ** 64n - 1n;
/** A node whose value has pages of its own. */
const IS_BIG = 1;
const IS_BRANCH = 1;
/** Where words of 64 bits stand with the lowest byte first, the layout is known. */
const IS_KNOWN = ['x64', 'arm64'].includes(process.arch);

/** What the header says. */
interface Meta {
  hasMagic: boolean;
  pageBytes: number;
  lastPage: number;
  transaction: bigint;
  /** The tree of the lists of free pages; null: there is none. */
  free: { root: number; depth: number } | null;
}

function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}

function metaAt(file: number, at: number): Meta | null {
  const page = bytesAt(file, at, META_BYTES);
  if (page.length < META_BYTES) return null;
  const root = page.readBigUInt64LE(88);
  return {
    hasMagic: page.readUInt32LE(24) === MAGIC,
    pageBytes: page.readUInt32LE(48),
    free: root === NO_PAGE ? null : { root: Number(root), depth: page.readUInt16LE(54) },
    lastPage: Number(page.readBigUInt64LE(144)),
    transaction: page.readBigUInt64LE(152),
  };
}

/** The header that counts, as lmdb chooses it; null where there are not two. */
function metaOf(file: number): Meta | null {
  const first = metaAt(file, 0);
  if (first?.hasMagic !== true) return first;
  const second = metaAt(file, first.pageBytes);
  if (second === null) return null;
  return second.transaction > first.transaction ? second : first;
}

/** How many pages of a list are behind the end of the file: a number below zero stands before a run of so many. */
function countFrom(end: number, list: Buffer): number {
  const word = (at: number): number => Number(list.readBigInt64LE(8 * at));
  let count = 0;
  for (let at = 1; at <= word(0); at++) {
    const isRun = word(at) < 0;
    const length = isRun ? -word(at) : 1;
    if (isRun) at += 1;
    count += Math.max(0, word(at) + length - Math.max(word(at), end));
  }
  return count;
}

/** How many free pages are behind the end of the file. @throws RangeError where the lists of them can't be read */
function freeFrom(end: number, file: number, pageBytes: number, root: number, depth: number): number {
  const page = bytesAt(file, root * pageBytes, pageBytes);
  const isBranch = (page.readUInt16LE(18) & IS_BRANCH) !== 0;
  if (isBranch && depth <= 1) throw new RangeError('the tree is deeper than it says');
  const nodes = page.readUInt16LE(20) / 2;
  let count = 0;
  for (let nth = 0; nth < nodes; nth++) {
    const node = page.subarray(PAGE_HEAD + page.readUInt16LE(PAGE_HEAD + 2 * nth));
    const low = node.readUInt32LE(0);
    const flags = node.readUInt16LE(4);
    if (isBranch) {
      count += freeFrom(end, file, pageBytes, low + flags * 2 ** 32, depth - 1);
      continue;
    }
    const value = node.subarray(8 + node.readUInt16LE(6));
    const own = (): number => Number(value.readBigUInt64LE(0)) * pageBytes + PAGE_HEAD;
    count += countFrom(end, (flags & IS_BIG) === 0 ? value : bytesAt(file, own(), low));
  }
  return count;
}

/** Whether all pages that are missing at the end of the file are free. */
function areFree(missing: number, file: number, { free, lastPage, pageBytes }: Meta): boolean {
  try {
    if (free === null) return false;
    return freeFrom(lastPage + 1 - missing, file, pageBytes, free.root, free.depth) >= missing;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function flawIn(file: number): string | null {
  const meta = metaOf(file);
  // What somebody writes meanwhile is in the file before the header tells of it.
  const { size } = fstatSync(file);
  if (size === 0) return null;
  if (meta?.hasMagic === false) return 'is no file of LMDB';
  if (meta === null) return `is cut short: it has ${size} of at least ${LEAST_BYTES} bytes`;
  const { pageBytes, lastPage, transaction } = meta;
  const missing = lastPage + 1 - Math.floor(size / pageBytes);
  if (missing <= 0 || areFree(missing, file, meta)) return null;
  if (metaOf(file)?.transaction !== transaction) return null;
  return `is cut short: it has ${size} of ${(lastPage + 1) * pageBytes} bytes`;
}

/** The system lets nobody of this process's user open a file. */
export function cantOpen(path: string, error: unknown): OperatorError {
  return new OperatorError(`${path} can't be opened (${codeOf(error)}): is it another user's?`);
}

/**
 * What is surely wrong with the file of an environment, for a sentence that begins with its path; null: nothing is, or
 * there is none. @throws OperatorError where it can't be opened
 */
export function flawOf(path: string): string | null {
  if (!IS_KNOWN) return null;
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw cantOpen(path, error);
  }
  try {
    return flawIn(file);
  } finally {
    closeSync(file);
  }
}

/** @throws OperatorError where something is surely wrong with the file of an environment */
export function expectWhole(path: string): void {
  const flaw = flawOf(path);
  if (flaw !== null) throw new OperatorError(`${path} ${flaw}: put back a copy that is whole`);
}
