/**
 * Documents in which a member stands twice, as BSON allows. The driver reads the last of the two, and so does whoever
 * hashes what it read; where the database picks parts out, as a transaction's entries, it takes the first.
 */
import { BSON } from 'mongodb';
import type { JournalDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';

const DOCUMENT = 3;
const ARRAY = 4;

/**
 * Whether that is so anywhere in a batch's document. Where it has its exact text, only in itself and in its entries: that
 * text is read, and in the readable form beside it names that BSON can't hold, of the bank's data, may be the same.
 * @throws BSONError where these bytes are no document
 */
export function standsTwice(bytes: Uint8Array): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { names, within, isTwice } = membersOf(buffer, 0);
  return isTwice || isTwiceIn(buffer, within, names.has('exact') ? 1 : Number.POSITIVE_INFINITY);
}

interface Members {
  names: ReadonlySet<string>;
  /** Where documents and arrays begin that are members of it. */
  within: { start: number; isArray: boolean }[];
  isTwice: boolean;
}

function membersOf(bytes: Buffer, start: number): Members {
  const names = new Set<string>();
  const within: Members['within'] = [];
  let count = 0;
  for (const [type, nameStart, nameLength, valueStart] of BSON.onDemand.parseToElements(bytes, start)) {
    count += 1;
    names.add(bytes.toString('utf8', nameStart, nameStart + nameLength));
    if (type === DOCUMENT || type === ARRAY) within.push({ start: valueStart, isArray: type === ARRAY });
  }
  return { names, within, isTwice: names.size < count };
}

/** `deepest`: so many documents deep, arrays not counted. Nobody goes by names in an array: its elements have an order. */
function isTwiceIn(bytes: Buffer, some: Members['within'], deepest: number): boolean {
  return some.some(({ start, isArray }) => {
    if (!isArray && deepest === 0) return false;
    const { within, isTwice } = membersOf(bytes, start);
    return (isTwice && !isArray) || isTwiceIn(bytes, within, isArray ? deepest : deepest - 1);
  });
}

/** Which of an account's batches are there, and have a member twice. @throws StoreUnavailable */
export async function storedTwice(
  reads: MongoReads,
  account: string,
  seqs: readonly number[],
): Promise<number[]> {
  const found = await reads.storedBatches({ account, seq: { $in: seqs } });
  return found.filter(standsTwice).map((bytes) => (BSON.deserialize(bytes) as JournalDocument).seq);
}
