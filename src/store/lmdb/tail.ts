/**
 * The end of the log as it grows, read beside the one who writes it: the writer does nothing for it. A row that nobody
 * watches is looked through for ids, and not parsed.
 */
import type { News, Tail, Watched } from '../../engine/store/tail.ts';
import { parseBatch } from './log/batch-value.ts';
import type { Log } from './log/log.ts';
import { batchText, parseRow } from './log/rows.ts';

/** Rows that are read in one turn of the event loop. */
const MOST_ROWS = 2_000;
/** After so many characters no more rows are read in it, either. */
const MOST_CHARACTERS = 8_388_608;
/** With more rows to come than these the oldest are passed over. */
const MOST_BEHIND = 20_000;

function isAbout(row: string, ids: ReadonlySet<string>): boolean {
  for (const id of ids) if (row.includes(id)) return true;
  return false;
}

export class LmdbTail implements Tail {
  readonly restMs = 100;
  readonly #log: Log;
  #mark: number;

  constructor(log: Log) {
    this.#log = log;
    log.renew();
    this.#mark = log.end();
  }

  async next(watched: Watched): Promise<News> {
    const log = this.#log;
    log.renew();
    const news: News = { batches: [], deliveries: [], passed: this.#passOver(log.end()) };
    let rows = 0;
    let characters = 0;
    for (const { number, text } of log.after(this.#mark)) {
      this.#mark = number;
      this.#add(news, text, watched);
      rows += 1;
      characters += text.length;
      if (rows === MOST_ROWS || characters > MOST_CHARACTERS) break;
    }
    return news;
  }

  /** Where too much is to come the beginning of it is left out; how many rows. */
  #passOver(end: number): number {
    if (end - this.#mark <= MOST_BEHIND) return 0;
    const passed = end - MOST_ROWS - this.#mark;
    this.#mark += passed;
    return passed;
  }

  #add({ batches, deliveries }: News, row: string, { all, accounts, transactions }: Watched): void {
    const value = batchText(row);
    if (value !== null) {
      if (all || isAbout(row, accounts) || isAbout(row, transactions)) batches.push(parseBatch(value));
      return;
    }
    const told = isAbout(row, transactions) ? parseRow(row) : null;
    if (told?.kind !== 'facts') return;
    for (const fact of told.facts)
      if (fact.kind === 'delivery' && transactions.has(fact.record.transaction)) deliveries.push(fact.record);
  }
}
