/** The batches of each process behind those that were read, by one question a process. */
import { documentId, numberOf } from '../appends/numbers.ts';
import type { JournalDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import type { ProcessDocument } from '../recovery/processes.ts';

/** How far one process's batches were read. */
interface Mark {
  last: number;
  /** Numbers before it that weren't there, each with when it was missed (ms of a clock that never steps). */
  missing: Map<number, number>;
  /** Since when the process is silent, or gone, by that clock; null: it isn't. */
  quietAt: number | null;
}

/** What the processes appended. */
export interface Appended {
  found: JournalDocument[];
  /** So many numbers were passed over. */
  passed: number;
}

const NOTHING: Appended = { found: [], passed: 0 };
const MOST_PROCESSES = 200;
const A_PAGE = 500;
/** Of one process a look reads so many pages, or up to so many entries. */
const PAGES_A_LOOK = 4;
const ENTRIES_A_LOOK = 10_000;
/** With more to come of one process the oldest are passed over. */
const MOST_BEHIND = 5_000;
/** Numbers are given in order, and committed in another one; a number that never is isn't waited for. */
const MISSING_MS = 10_000;
const MOST_MISSING = 200;
/** A process that hasn't beaten for so long is silent. */
const SILENT_MS = 15_000;
/** What a process was at when it fell silent, or left, is there by then. */
const LAST_MS = 10_000;
/** By how much the time of a new process's first batch may lie before the look that didn't know it. */
const MARGIN_MS = 5_000;

/** Behind all ids of a process: digits come before a colon. */
function endOf(incarnation: string): string {
  return `${incarnation}-:`;
}

export class ProcessTails {
  readonly #reads: MongoReads;
  readonly #now: () => number;
  /** Null: nothing is followed. */
  #marks: Map<string, Mark> | null = null;
  #lookedAt = 0;

  constructor(reads: MongoReads, now: () => number) {
    this.#reads = reads;
    this.#now = now;
  }

  /** The next look begins anew. */
  forget(): void {
    this.#marks = null;
  }

  /** What was appended since the look before, also by those that left meanwhile; the first one finds nothing. */
  async look(): Promise<Appended> {
    // The newest first: those that died stay listed for long, and none that lives is behind them.
    const newest = { sort: { beatAt: -1 }, limit: MOST_PROCESSES };
    const listed = await this.#reads.find<ProcessDocument>('processes', {}, newest);
    const now = this.#now();
    const before = this.#marks;
    const since = before === null ? null : this.#lookedAt - MARGIN_MS;
    const beating = new Set(
      listed.flatMap(({ _id, beatAt }) => (beatAt.getTime() < now - SILENT_MS ? [] : _id)),
    );
    const known = new Set(listed.map(({ _id }) => _id));
    const marks = new Map<string, Mark>();
    const looked = await Promise.all(
      [...new Set([...known, ...(before?.keys() ?? [])])].map(async (process) => {
        const mark = before?.get(process) ?? (await this.#begin(process, since));
        mark.quietAt = beating.has(process) ? null : (mark.quietAt ?? performance.now());
        const isOver = mark.quietAt !== null && performance.now() - mark.quietAt >= LAST_MS;
        if (known.has(process) || !isOver) marks.set(process, mark);
        return before === null || isOver ? NOTHING : this.#read(process, mark);
      }),
    );
    this.#marks = marks;
    this.#lookedAt = now;
    return {
      found: looked.flatMap(({ found }) => found),
      passed: looked.reduce((sum, { passed }) => sum + passed, 0),
    };
  }

  /** Where a process stands; of one that came meanwhile, what it has appended since a time (ms) is still to come. */
  async #begin(process: string, since: number | null): Promise<Mark> {
    const last = await this.#last(process);
    if (since === null) return { last, missing: new Map(), quietAt: null };
    const _id = { $gt: documentId(process, Math.max(0, last - A_PAGE)), $lt: endOf(process) };
    const options = { sort: { _id: 1 }, limit: A_PAGE, projection: { _id: 1, at: 1 } };
    const found = await this.#reads.find<Pick<JournalDocument, '_id' | 'at'>>('journal', { _id }, options);
    const first = found.find(({ at }) => at.getTime() >= since);
    const from = first === undefined ? last : numberOf(first._id) - 1;
    return { last: from, missing: new Map(), quietAt: null };
  }

  /** The highest number of a process; 0 where it has appended nothing. */
  async #last(process: string): Promise<number> {
    const _id = { $gt: documentId(process, 0), $lt: endOf(process) };
    const options = { sort: { _id: -1 }, limit: 1, projection: { _id: 1 } };
    const [found] = await this.#reads.find<Pick<JournalDocument, '_id'>>('journal', { _id }, options);
    return found === undefined ? 0 : numberOf(found._id);
  }

  async #read(process: string, mark: Mark): Promise<Appended> {
    const found: JournalDocument[] = [];
    let entries = 0;
    for (let page = 0; page < PAGES_A_LOOK && entries < ENTRIES_A_LOOK; page++) {
      const more = await this.#page(process, mark);
      found.push(...more);
      entries += more.reduce((sum, document) => sum + document.entries.length, 0);
      if (more.length < A_PAGE) return { found, passed: 0 };
    }
    const last = await this.#last(process);
    if (last - mark.last <= MOST_BEHIND) return { found, passed: 0 };
    const passed = last - A_PAGE - mark.last;
    mark.last += passed;
    mark.missing.clear();
    return { found, passed };
  }

  async #page(process: string, mark: Mark): Promise<JournalDocument[]> {
    const behind = { _id: { $gt: documentId(process, mark.last), $lt: endOf(process) } };
    const missing = [...mark.missing.keys()].map((number) => documentId(process, number));
    const filter = missing.length === 0 ? behind : { $or: [{ _id: { $in: missing } }, behind] };
    const options = { sort: { _id: 1 }, limit: A_PAGE };
    const found = await this.#reads.find<JournalDocument>('journal', filter, options);
    note(
      mark,
      found.map(({ _id }) => numberOf(_id)),
    );
    return found;
  }
}

/** Takes note of the numbers that were read, in order, and of those that weren't there. */
function note(mark: Mark, numbers: readonly number[]): void {
  const at = performance.now();
  for (const number of numbers) {
    mark.missing.delete(number);
    for (let each = Math.max(mark.last + 1, number - MOST_MISSING); each < number; each++)
      mark.missing.set(each, at);
    mark.last = Math.max(mark.last, number);
  }
  for (const [number, since] of mark.missing) {
    if (mark.missing.size <= MOST_MISSING && at - since < MISSING_MS) break;
    mark.missing.delete(number);
  }
}
