/** The accounts, by a part of their names or the beginning of an id. */
import { useEffect, useState } from 'preact/hooks';
import type { AccountRow } from '../../shapes.ts';
import { accounts } from '../api.ts';
import { Chip } from '../parts/chip.tsx';
import { End } from '../parts/end.tsx';
import { Freshness, Trouble } from '../parts/freshness.tsx';
import { Money } from '../parts/money.tsx';
import { Time } from '../parts/time.tsx';
import { accountAddress, choose, usePlace } from '../router.ts';
import { usePages } from '../state/pages.ts';
import { useWords } from '../state/preferences.ts';
import { useTitle } from '../state/title.ts';

/** A reader who types on is waited for. */
const PAUSE_MS = 200;
const MOST_LETTERS = 255;

function Row({ row }: { row: AccountRow }) {
  const words = useWords();
  return (
    <tr>
      <td class="merchant">
        <a class="row-link" href={accountAddress(row.id)} data-row>
          {row.name}
        </a>
      </td>
      <td class="number amount">
        <Money cents={row.balance} />
      </td>
      <td class="id">
        <code>{row.id}</code>
      </td>
      <td class="state">
        <Chip
          family={row.status === 'active' ? 'good' : 'ended'}
          word={row.status === 'active' ? words.activity.active : words.activity.inactive}
        />
      </td>
      <td class="number age">
        <Time at={row.createdAt} />
      </td>
    </tr>
  );
}

function Table({ rows }: { rows: readonly AccountRow[] }) {
  const words = useWords();
  return (
    <table class="list accounts">
      <caption class="unseen">{words.accounts}</caption>
      <thead>
        <tr>
          <th scope="col">{words.column.merchant}</th>
          <th scope="col" class="number">
            {words.balance}
          </th>
          <th scope="col">{words.column.id}</th>
          <th scope="col">{words.column.status}</th>
          <th scope="col" class="number">
            {words.column.created}
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

/** What is typed goes into the address a moment later. */
function Search({ q }: { q: string }) {
  const words = useWords();
  const [text, setText] = useState(q);
  useEffect(() => {
    if (text.trim() === q) return;
    const timer = setTimeout(() => choose({ q: text.trim() }, { replace: true }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, q]);
  return (
    <search class="filters">
      <input
        type="search"
        aria-label={words.accountSearch}
        placeholder={words.accountSearch}
        value={text}
        maxLength={MOST_LETTERS}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </search>
  );
}

export function Accounts() {
  const words = useWords();
  useTitle(words.accounts);
  const q = usePlace().query.get('q') ?? '';
  const { reading, pages, everyMs, load } = usePages(q, (after, signal) => accounts({ q, after }, signal));
  const rows = pages.flatMap((page) => page.rows);
  const last = pages.at(-1);
  return (
    <>
      <Trouble reading={reading} />
      <div class="page-title">
        <h1>{words.accounts}</h1>
        <Freshness reading={reading} everyMs={everyMs} />
      </div>
      <Search q={q} />
      <section class="panel" aria-label={words.accounts}>
        {last === undefined ? (
          <p class="empty">{reading.error === null ? words.loading : ''}</p>
        ) : rows.length === 0 ? (
          <p class="empty">{last.after === null ? words.noAccounts : words.noAccountsYet}</p>
        ) : (
          <Table rows={rows} />
        )}
        <End pages={pages} load={load} />
      </section>
    </>
  );
}
