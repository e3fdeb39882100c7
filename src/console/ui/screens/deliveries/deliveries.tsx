/** Deliveries: how each URL does, then what was sent where, by status, with the attempts opened in place. */
import { useCallback } from 'preact/hooks';
import type { DeliveryRow } from '../../../shapes/deliveries.ts';
import { deliveries, urls } from '../../api.ts';
import { DeliveryItem } from '../../parts/delivery.tsx';
import { End } from '../../parts/end.tsx';
import { Freshness, Trouble } from '../../parts/freshness.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Age } from '../../parts/time.tsx';
import { accountAddress, addressOf, choose, usePlace } from '../../router.ts';
import { usePages } from '../../state/pages.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useTitle } from '../../state/title.ts';
import { Urls } from './urls.tsx';

const EVERY_MS = 5_000;
const STATUSES = ['pending', 'retrying', 'delivered', 'dead', 'rejected'] as const;

function Item({ row, again }: { row: DeliveryRow; again(): void }) {
  const words = useWords();
  return (
    <DeliveryItem
      transaction={row.transaction}
      delivery={row}
      isRevealed={false}
      again={again}
      about={
        <span class="about">
          <span>{row.accountName}</span> <Age at={row.createdAt} />
        </span>
      }
      more={
        <p class="links">
          <a href={addressOf(row.transaction)}>{words.openTransaction}</a>
          <a href={accountAddress(row.account)}>{row.accountName}</a>
        </p>
      }
    />
  );
}

interface Filters {
  account: string;
  url: string;
  status: string;
}

function Clear({ name, text }: { name: keyof Filters; text: string }) {
  const words = useWords();
  return (
    <button type="button" title={words.clearFilter} onClick={() => choose({ [name]: '' })}>
      <span class="cut">{text}</span>
      <Icon name="cross" size={13} />
    </button>
  );
}

function FilterBar({ filters: { account, url, status }, name }: { filters: Filters; name: string | null }) {
  const words = useWords();
  return (
    <form class="filters" aria-label={words.filters} onSubmit={(event) => event.preventDefault()}>
      <select
        aria-label={words.statusFilter}
        value={status}
        onChange={(event) => choose({ status: event.currentTarget.value })}
      >
        <option value="">{words.anyStatus}</option>
        {STATUSES.map((each) => (
          <option key={each} value={each}>
            {words.delivery[each]}
          </option>
        ))}
      </select>
      {account === '' ? null : (
        <Clear name="account" text={fill(words.ofAccount, { name: name ?? account })} />
      )}
      {url === '' ? null : <Clear name="url" text={url} />}
    </form>
  );
}

export function Deliveries() {
  const words = useWords();
  useTitle(words.deliveries);
  const { query } = usePlace();
  const filters: Filters = {
    account: query.get('account') ?? '',
    url: query.get('url') ?? '',
    status: query.get('status') ?? '',
  };
  const { account, status } = filters;
  const isOfFailures = status === 'dead' || status === 'rejected';
  const readUrls = useCallback((signal: AbortSignal) => urls(account, signal), [account]);
  const seen = useReading({ key: account, read: readUrls, restsFor: () => EVERY_MS });
  const { reading, pages, everyMs, load } = usePages(JSON.stringify(filters), (after, signal) =>
    deliveries({ ...filters, after }, signal),
  );
  const rows = pages.flatMap((page) => page.rows);
  const last = pages.at(-1);
  return (
    <>
      <Trouble reading={reading} />
      <div class="page-title">
        <h1>{words.deliveries}</h1>
        <Freshness reading={reading} everyMs={everyMs} />
      </div>
      <Urls reading={seen} chosen={filters.url} again={reading.again} />
      <FilterBar filters={filters} name={rows[0]?.accountName ?? null} />
      <Panel title={isOfFailures ? words.failedList : words.deliveryList} class="deliveries">
        {last === undefined ? (
          <p class="empty">{reading.error === null ? words.loading : ''}</p>
        ) : rows.length === 0 ? (
          <p class="empty">{words.noDeliveriesHere}</p>
        ) : (
          <ul>
            {rows.map((row) => (
              <Item key={row.id} row={row} again={reading.again} />
            ))}
          </ul>
        )}
        <End pages={pages} load={load} />
      </Panel>
    </>
  );
}
