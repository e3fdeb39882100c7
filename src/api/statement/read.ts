/** GET /statement (additions): JSON or CSV, as the caller prefers. */
import { textOfTime } from '../../domain/time.ts';
import type { StatementPage, StatementRow, StatementWish } from '../../engine/statement/page.ts';
import { type ApiServices, type Context, queryValue, sendOptions } from '../context.ts';
import { validationError } from '../errors.ts';
import { COLUMNS, csvOf } from './csv.ts';
import { cursorText } from './cursor.ts';
import { parseMoment } from './moments.ts';
import { parseQuery } from './query.ts';

/** What is offered, with each parameter that it may be asked for by (RFC 4180: with a header row). */
const AS_JSON = 'application/json; charset=utf-8';
const AS_CSV = 'text/csv; charset=utf-8; header=present';

function shown(row: StatementRow): object {
  return Object.fromEntries(COLUMNS.map((name) => [name, row[name]]));
}

function answerJson(
  ctx: Context,
  { from, to }: StatementWish,
  page: StatementPage,
  next: string | null,
): void {
  ctx.body = {
    from: textOfTime(from),
    to: textOfTime(to),
    openingBalance: page.opening,
    closingBalance: page.closing,
    data: page.rows.map(shown),
    nextCursor: next,
  };
}

function answerCsv(ctx: Context, { limit }: StatementWish, page: StatementPage, next: string | null): void {
  ctx.set('Content-Type', 'text/csv; charset=utf-8');
  ctx.set('Opening-Balance', String(page.opening));
  ctx.set('Closing-Balance', String(page.closing));
  if (next !== null) ctx.set('Link', `<${ctx.path}?limit=${limit}&cursor=${next}>; rel="next"`);
  ctx.body = csvOf(page.rows);
}

export function readStatement({ statement, statementEnd }: ApiServices) {
  return async (ctx: Context): Promise<void> => {
    ctx.vary('Accept');
    const { id: account } = ctx.state.account;
    const query = {
      from: queryValue(ctx, 'from'),
      to: queryValue(ctx, 'to'),
      limit: queryValue(ctx, 'limit'),
      cursor: queryValue(ctx, 'cursor'),
    };
    // What is in the query otherwise says where the window ends, or that it is none.
    const isOpen = query.to === null && query.cursor === null;
    const end = isOpen
      ? await statementEnd(account, query.from === null ? null : parseMoment(query.from))
      : 0;
    const parsed = parseQuery(account, query, end);
    if (!parsed.ok) throw validationError(parsed.details);
    const { wish } = parsed;
    const page = await statement(account, wish, sendOptions(ctx));
    if (page === null) throw validationError([{ field: 'cursor', message: 'is beyond the journal' }]);
    const { from, to } = wish;
    const next = page.next === null ? null : cursorText(account, { from, to, place: page.next });
    const answer = ctx.accepts(AS_JSON, AS_CSV) === AS_CSV ? answerCsv : answerJson;
    answer(ctx, wish, page, next);
  };
}
