/** The log of the embedded store, read once for all accounts. */

import { timeOfText } from '../../domain/time.ts';
import type { Batch, TransactionRecord } from '../../engine/journal.ts';
import { sha256 } from '../../engine/store/content.ts';
import type { LoggedBatch, LogPage, LogReads, NewestPage, PlacedBatch } from '../../engine/store/log.ts';
import { textOf } from '../../errors.ts';
import { turn } from '../../waiting.ts';
import type { Environment } from './environment.ts';
import { accountIn, contentIn, isAsHashed, parseBatch } from './log/batch-value.ts';
import { batchIn, batchText } from './log/rows.ts';
import { waitKeys } from './projections/apply.ts';

/** A page has no more rows than these, whatever they hold. */
const MOST_ROWS = 1_000;

/** As what bytes are read that are no UTF-8. */
const NO_TEXT = '\ufffd';

/** What a row's batch is judged by. */
interface Ground {
  placeOf(account: string, seq: number): number | null;
  isAsHashed(number: number): boolean;
}

interface Row {
  number: number;
  value: string;
  /** Whose it says that it is; null where that can't be told without reading it. */
  account: string | null;
}

function logged({ number, value, account: told }: Row, ground: Ground): LoggedBatch {
  const batch = parseBatch(value);
  const { account, seq, hash } = batch;
  // JSON lets a member stand twice.
  if (account !== (told ?? account)) throw new Error('it names two accounts');
  const isFound = ground.placeOf(account, seq) === number;
  const isText = !value.includes(NO_TEXT) || ground.isAsHashed(number);
  return { number, batch, isAsHashed: isText && sha256(contentIn(value)) === hash, isFound };
}

/** Adds a batch to a page, if it is wanted; how many entries it has. */
function add(
  { batches, unreadable }: LogPage,
  row: Row,
  isWanted: (account: string) => boolean,
  ground: Ground,
): number {
  const { number, account } = row;
  if (account !== null && !isWanted(account)) return 0;
  try {
    const found = logged(row, ground);
    if (!isWanted(found.batch.account)) return 0;
    batches.push(found);
    return found.batch.entries.length;
  } catch (error) {
    unreadable.push({ number, account, fault: textOf(error) });
    return 0;
  }
}

/** Null where it can't be read. */
function readable(value: string): Batch | null {
  try {
    return parseBatch(value);
  } catch {
    return null;
  }
}

export class LmdbLogReads implements LogReads {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  *pages(wanted: number, after = 0, isWanted: (account: string) => boolean = () => true): Generator<LogPage> {
    // Behind the mark there may be rows whose projections aren't there yet.
    const { mark, places } = this.#environment.opened.projections;
    const ground: Ground = { placeOf: places.inOrder(), isAsHashed: (number) => this.#isAsHashed(number) };
    let page: LogPage = { batches: [], unreadable: [], upTo: after };
    let entries = 0;
    let rows = 0;
    for (const { number, text } of this.#environment.log.after(after)) {
      if (number > mark) break;
      const value = batchText(text);
      rows += 1;
      page.upTo = number;
      if (value !== null)
        entries += add(page, { number, value, account: accountIn(value) }, isWanted, ground);
      if (entries < wanted && rows < MOST_ROWS) continue;
      yield page;
      this.#environment.expectOpen();
      page = { batches: [], unreadable: [], upTo: page.upTo };
      entries = 0;
      rows = 0;
    }
    yield page;
  }

  /** Which of an account's batches are there, and are other texts than were hashed. */
  storedOtherwise(account: string, seqs: readonly number[]): number[] {
    const { places } = this.#environment.opened.projections;
    return seqs.filter((seq) => {
      try {
        const number = places.of(account, seq);
        return number !== null && !this.#isAsHashed(number);
      } catch {
        // Nothing leads to it: whoever reads it is told why.
        return false;
      }
    });
  }

  /** Whether the batch in a row is what its hash says, to the byte; true where there is none. */
  #isAsHashed(number: number): boolean {
    const row = this.#environment.opened.log.bytes(number);
    const value = row === undefined ? null : batchIn(row);
    return value === null || isAsHashed(value);
  }

  lastRow(): number {
    return this.#environment.opened.projections.mark;
  }

  /** Batches from a row on backwards, that one first. */
  newest(from: string | null, limit: number): NewestPage {
    const page: NewestPage = { batches: [], unreadable: 0, next: null };
    if (from !== null && !/^\d{1,15}$/.test(from)) return page;
    let rows = 0;
    // Behind the mark there may be rows whose projections aren't there yet.
    const { mark } = this.#environment.opened.projections;
    for (const { number, text } of this.#environment.log.before(from === null ? mark : Number(from))) {
      if (rows === MOST_ROWS || page.batches.length === limit) return { ...page, next: String(number) };
      rows += 1;
      const value = batchText(text);
      if (value === null) continue;
      const batch = readable(value);
      if (batch === null) page.unreadable += 1;
      else page.batches.push({ place: String(number), batch });
    }
    return page;
  }

  /** The last row with which all up to it were made at a time (ms) or before: it is searched for. */
  async placeUntil(time: number): Promise<string | null> {
    let low = 0;
    let high = this.#environment.opened.projections.mark;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const found = await this.#lastBatch(middle, low);
      if (found === null || timeOfText(found.batch.at) <= time) low = middle;
      else high = Number(found.place) - 1;
    }
    return low === 0 ? null : String(low);
  }

  /** The last batch up to a row that can be read; null where none lies behind another row. */
  async #lastBatch(upTo: number, behind: number): Promise<PlacedBatch | null> {
    for (let from: string | null = String(upTo); from !== null && Number(from) > behind; ) {
      const page = this.newest(from, 1);
      const [found] = page.batches;
      if (found !== undefined) return found;
      from = page.next;
      await turn();
      this.#environment.expectOpen();
    }
    return null;
  }

  madeBy(id: string): readonly number[] | 'whole' | null {
    return this.#environment.opened.projections.records.madeBy(id);
  }

  recordText(id: string): string | null {
    return this.#environment.opened.projections.records.textOf(id);
  }

  isAwaited(record: TransactionRecord): boolean {
    const { waits } = this.#environment.opened.projections;
    return waitKeys(record).every((key) => waits.has(key));
  }

  settingsFault(account: string): string | null {
    try {
      this.#environment.opened.projections.accounts.get(account);
      return null;
    } catch (error) {
      return textOf(error);
    }
  }

  countRecords(): number {
    return this.#environment.opened.projections.records.count();
  }
}
