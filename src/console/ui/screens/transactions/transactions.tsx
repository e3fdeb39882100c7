/** The transactions, newest first, by account, type, state and time of creation. */
import type { TransactionRow } from '../../../shapes.ts';
import { transactions } from '../../api.ts';
import { useArrived, Waiting } from '../../parts/arrivals.tsx';
import { StatusChip } from '../../parts/chip.tsx';
import { End } from '../../parts/end.tsx';
import { Freshness, Trouble } from '../../parts/freshness.tsx';
import { Money } from '../../parts/money.tsx';
import { Age } from '../../parts/time.tsx';
import { addressOf } from '../../router.ts';
import { useNews } from '../../state/news.ts';
import { usePages } from '../../state/pages.ts';
import { useWords } from '../../state/preferences.ts';
import { useTitle } from '../../state/title.ts';
import { FilterBar, makesOne, useFilters } from './filters.tsx';

function Row({ row, hasArrived }: { row: TransactionRow; hasArrived: boolean }) {
  const words = useWords();
  return (
    <tr class={hasArrived ? 'arrived' : undefined}>
      <td class="status">
        <StatusChip status={row.status} />
      </td>
      <td class="number amount">
        <span class="weak" role="img" title={words.type[row.type]} aria-label={words.type[row.type]}>
          {row.type === 'pix-in' ? '↓' : '↑'}
        </span>{' '}
        <Money cents={row.amount} />
      </td>
      <td class="merchant">{row.accountName}</td>
      <td class="reference mono">{row.externalRef}</td>
      <td class="id">
        <a class="row-link" href={addressOf(row.id)} aria-label={row.id} data-row>
          <code>{row.id.slice(0, 8)}</code>
        </a>
      </td>
      <td class="number age">
        <Age at={row.createdAt} />
      </td>
    </tr>
  );
}

function Table({ list, rows }: { list: string; rows: readonly TransactionRow[] }) {
  const words = useWords();
  const { column } = words;
  const ids = rows.map(({ id }) => id);
  const arrived = useArrived(list, ids);
  return (
    <table class="list" aria-live="off">
      <caption class="unseen">{words.transactions}</caption>
      <thead>
        <tr>
          <th scope="col">{column.status}</th>
          <th scope="col" class="number">
            {column.amount}
          </th>
          <th scope="col">{column.merchant}</th>
          <th scope="col" class="reference">
            {column.reference}
          </th>
          <th scope="col" class="id">
            {column.id}
          </th>
          <th scope="col" class="number">
            {column.created}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} hasArrived={arrived.has(row.id)} />
        ))}
      </tbody>
    </table>
  );
}

export function Transactions() {
  const words = useWords();
  useTitle(words.transactions);
  const filters = useFilters();
  const { account } = filters;
  const key = JSON.stringify(filters);
  const news = useNews({
    ...{ key, query: { account }, counts: (row) => makesOne(row, filters), isList: true },
  });
  const { reading, pages, everyMs, load, restart } = usePages(
    key,
    (after, signal) => transactions({ ...filters, after }, signal),
    news,
  );
  const rows = pages.flatMap((page) => page.rows);
  const last = pages.at(-1);
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <>
      <Trouble reading={reading} news={news} />
      <div class="page-title">
        <h1>{words.transactions}</h1>
        <Freshness reading={reading} everyMs={everyMs} news={news} />
      </div>
      <FilterBar filters={filters} name={rows[0]?.accountName ?? null} />
      {everyMs === null ? (
        <Waiting
          news={news}
          isShown={({ transaction }) => rows.some(({ id }) => id === transaction)}
          show={restart}
        />
      ) : null}
      <section class="panel" aria-label={words.transactions}>
        {last === undefined ? (
          <p class="empty">{reading.error === null ? words.loading : ''}</p>
        ) : rows.length === 0 ? (
          <p class="empty">{isFiltered ? words.noRowsFiltered : words.noRows}</p>
        ) : (
          <Table list={key} rows={rows} />
        )}
        <End pages={pages} load={load} />
      </section>
    </>
  );
}
