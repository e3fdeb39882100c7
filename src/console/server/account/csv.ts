/** An account's statement as merchants get it by `GET /statement`, as CSV, page by page. */
import type { Context } from 'koa';
import { csvOf } from '../../../api/statement/csv.ts';
import { cursorText } from '../../../api/statement/cursor.ts';
import { MOST_ROWS, parseQuery } from '../../../api/statement/query.ts';
import { statementsOf } from '../../../engine/statement/page.ts';
import type { StoreReads } from '../../../engine/store.ts';
import type { StatementCsv } from '../../shapes/account.ts';
import { ConsoleError } from '../errors.ts';
import { mask } from '../masking.ts';
import { textOf } from '../query.ts';
import { accountOf } from './document.ts';
import { withReferences } from './statement.ts';

/** @throws ConsoleError */
export async function statementCsv(
  ctx: Context,
  reads: StoreReads,
  account: string,
  now: number,
): Promise<StatementCsv> {
  const { id } = await accountOf(reads, account);
  const [from, to, cursor] = [textOf(ctx, 'from'), textOf(ctx, 'to'), textOf(ctx, 'cursor')];
  const parsed = parseQuery(id, { from, to, cursor, limit: String(MOST_ROWS) }, now);
  if (!parsed.ok) {
    const problems = parsed.details.map(({ field, message }) => `${field} ${message}`);
    throw new ConsoleError('INVALID_REQUEST', `${problems.join('; ')}.`);
  }
  const { wish } = parsed;
  const page = await statementsOf(reads.journal)(id, wish);
  if (page === null) throw new ConsoleError('INVALID_REQUEST', 'cursor is beyond the journal.');
  const rows = await withReferences(reads, id, page.rows, ({ transactionId }) => transactionId);
  const text = csvOf(mask(rows));
  return {
    // The names of the columns stand on the first page alone: pages are put together.
    csv: cursor === null ? text : text.slice(text.indexOf('\n') + 1),
    rows: rows.length,
    next: page.next === null ? null : cursorText(id, { from: wish.from, to: wish.to, place: page.next }),
  };
}
