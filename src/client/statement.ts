/** What changed the balance: GET /statement, as JSON and as CSV. */
import { read } from './calls.ts';
import type { Call, CallOptions, Connection } from './connection.ts';
import type { Statement, StatementRow } from './types.ts';

export interface StatementWindow {
  /** A date (its midnight, UTC) or time; inclusive. 24 hours before `to` unless given. */
  from?: Date | string | undefined;
  /** A date (its midnight, UTC) or time; exclusive. Now unless given. */
  to?: Date | string | undefined;
  /** Rows of a page: 1 to 1,000, 100 unless given. */
  limit?: number | undefined;
}

/** A page: the first one of a window, or the one that a cursor leads to, which carries its window. */
export type StatementQuery =
  | (StatementWindow & { cursor?: never })
  | { cursor: string; limit?: number | undefined; from?: never; to?: never };

export interface StatementCsv {
  /** A header row and the page's rows (RFC 4180). Spreadsheets may take texts in it for formulas. */
  csv: string;
  /** Cents. */
  openingBalance: number;
  /** Cents. */
  closingBalance: number;
  nextCursor: string | null;
}

function textOf(moment: Date | string | undefined): string | undefined {
  return moment instanceof Date ? moment.toISOString() : moment;
}

function pageCall({ from, to, limit, cursor }: StatementQuery): Call {
  return read('/statement', { from: textOf(from), to: textOf(to), limit: limit?.toString(), cursor });
}

export class StatementEndpoint {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** A page, oldest row first; the last one's `nextCursor` is null. @throws PixstateError: VALIDATION_ERROR */
  page(query: StatementQuery = {}, options: CallOptions = {}): Promise<Statement> {
    return this.#connection.json(pageCall(query), this.#connection.patience(options));
  }

  /** All rows of a window, page by page as they are asked for. @throws PixstateError: VALIDATION_ERROR */
  async *rows(window: StatementWindow = {}, options: CallOptions = {}): AsyncGenerator<StatementRow, void> {
    let page = await this.page(window, options);
    for (;;) {
      yield* page.data;
      if (page.nextCursor === null) return;
      page = await this.page({ cursor: page.nextCursor, limit: window.limit }, options);
    }
  }

  /** A page as CSV. @throws PixstateError: VALIDATION_ERROR */
  async csv(query: StatementQuery = {}, options: CallOptions = {}): Promise<StatementCsv> {
    const patience = this.#connection.patience(options);
    const { headers, text } = await this.#connection.csv(pageCall(query), patience);
    const [, nextCursor = null] = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '') ?? [];
    return {
      csv: text,
      openingBalance: Number(headers.get('opening-balance')),
      closingBalance: Number(headers.get('closing-balance')),
      nextCursor,
    };
  }
}
