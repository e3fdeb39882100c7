/** The transactions, newest first, by account, type and state; each filter stands in the address. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { TransactionPage, TransactionRow } from '../../shapes.ts';
import { type TransactionQuery, transactions } from '../api.ts';
import { StatusChip } from '../parts/chip.tsx';
import { statusesByFamily } from '../parts/families.ts';
import { Freshness, Trouble } from '../parts/freshness.tsx';
import { Icon } from '../parts/icon.tsx';
import { Money } from '../parts/money.tsx';
import { Age, timeText } from '../parts/time.tsx';
import { addressOf, go, usePlace } from '../router.ts';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { useReading } from '../state/reading.ts';
import { useTitle } from '../state/title.ts';

const EVERY_MS = 5_000;

function Row({ row }: { row: TransactionRow }) {
  const words = useWords();
  return (
    <tr>
      <td class="status">
        <StatusChip status={row.status} />
      </td>
      <td class="number amount">
        <span class="weak" title={words.type[row.type]}>
          <span class="unseen">{words.type[row.type]} </span>
          <span aria-hidden="true">{row.type === 'pix-in' ? '↓' : '↑'}</span>
        </span>{' '}
        <Money cents={row.amount} />
      </td>
      <td class="merchant">{row.accountName}</td>
      <td class="reference">
        <code>{row.externalRef ?? ''}</code>
      </td>
      <td class="id">
        <a class="row-link" href={addressOf(row.id)} data-row>
          <code>{row.id.slice(0, 8)}</code>
          <span class="unseen">{row.id.slice(8)}</span>
        </a>
      </td>
      <td class="number age">
        <Age at={row.createdAt} />
      </td>
    </tr>
  );
}

function Table({ rows }: { rows: readonly TransactionRow[] }) {
  const words = useWords();
  const { column } = words;
  return (
    <table class="list">
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
          <Row key={row.id} row={row} />
        ))}
      </tbody>
    </table>
  );
}

type Filter = 'type' | 'status' | 'account';

/** Changes one filter in the address. */
function useFilters() {
  const { query } = usePlace();
  const set = (name: Filter, value: string) => {
    const changed = new URLSearchParams(query);
    if (value === '') changed.delete(name);
    else changed.set(name, value);
    const text = changed.toString();
    go(text === '' ? '/transactions' : `/transactions?${text}`);
  };
  return {
    type: query.get('type') ?? '',
    status: query.get('status') ?? '',
    account: query.get('account') ?? '',
    set,
  };
}

type Filters = ReturnType<typeof useFilters>;

function FilterBar({ filters, name }: { filters: Filters; name: string | null }) {
  const words = useWords();
  const statuses: Readonly<Record<string, string>> = words.status;
  return (
    <form class="filters" aria-label={words.filters} onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label={words.typeFilter}
        value={filters.type}
        onChange={(event) => filters.set('type', event.currentTarget.value)}
      >
        <option value="">{words.anyType}</option>
        <option value="pix-in">{words.type['pix-in']}</option>
        <option value="cashout">{words.type.cashout}</option>
      </select>
      <select
        aria-label={words.statusFilter}
        value={filters.status}
        onChange={(event) => filters.set('status', event.currentTarget.value)}
      >
        <option value="">{words.anyStatus}</option>
        {statusesByFamily().map(([family, members]) => (
          <optgroup key={family} label={words.family[family]}>
            {members.map((status) => (
              <option key={status} value={status}>
                {/* Both spellings of one word are states of their own: a charge's and a transfer's. */}
                {status === 'cancelled' ? `${statuses[status]} (${words.type.cashout})` : statuses[status]}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {filters.account === '' ? null : (
        <button type="button" title={words.clearAccount} onClick={() => filters.set('account', '')}>
          {fill(words.ofAccount, { name: name ?? filters.account })}
          <Icon name="cross" size={13} />
        </button>
      )}
    </form>
  );
}

/** Pages after the first one, which alone is read again and again. */
function useFurther(query: TransactionQuery, key: string) {
  const [pages, setPages] = useState<TransactionPage[]>([]);
  // Other filters begin anew.
  useEffect(() => setPages([]), [key]);
  const load = async (after: string) => {
    const page = await transactions({ ...query, after });
    setPages((known) => [...known, page]);
  };
  return { pages, load };
}

function End({ last, load }: { last: TransactionPage; load(after: string): void }) {
  const words = useWords();
  const { language } = usePreferences();
  const { lookedBackTo, after } = last;
  return (
    <p class="more">
      {lookedBackTo === null ? null : (
        <span class="weak">{fill(words.lookedBack, { time: timeText(language, lookedBackTo, 'full') })}</span>
      )}
      {after === null ? null : (
        <button type="button" onClick={() => load(after)}>
          {lookedBackTo === null ? words.more : words.goOn}
        </button>
      )}
    </p>
  );
}

export function Transactions() {
  const words = useWords();
  useTitle(words.transactions);
  const filters = useFilters();
  const { type, status, account } = filters;
  const key = JSON.stringify([type, status, account]);
  const query: TransactionQuery = { type, status, account };
  const read = useCallback(
    (signal: AbortSignal) => transactions({ type, status, account }, signal),
    [type, status, account],
  );
  const { pages, load } = useFurther(query, key);
  // Once a reader has gone further back, the first page holds still: rows would come twice, or none.
  const everyMs = pages.length === 0 ? EVERY_MS : null;
  const reading = useReading({ key, read, restsFor: () => everyMs });
  const all = reading.value === null ? [] : [reading.value, ...pages];
  const rows = all.flatMap((page) => page.rows);
  const last = all.at(-1);
  const isFiltered = type !== '' || status !== '' || account !== '';
  return (
    <>
      <Trouble reading={reading} />
      <div class="page-title">
        <h1>{words.transactions}</h1>
        <Freshness reading={reading} everyMs={everyMs} />
      </div>
      <FilterBar filters={filters} name={rows[0]?.accountName ?? null} />
      <section class="panel" aria-label={words.transactions}>
        {last === undefined ? (
          <p class="empty">{reading.error === null ? words.loading : ''}</p>
        ) : rows.length === 0 ? (
          <p class="empty">{isFiltered ? words.noRowsFiltered : words.noRows}</p>
        ) : (
          <Table rows={rows} />
        )}
        {last === undefined ? null : (
          <End last={last} load={(after) => void load(after).catch(reading.again)} />
        )}
      </section>
    </>
  );
}
