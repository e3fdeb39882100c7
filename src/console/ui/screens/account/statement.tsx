/** The statement, newest first: each row with the balance after it, and the way to its transaction. */
import type { ComponentChildren } from 'preact';
import type { AccountDocument, StatementPage, StatementRow } from '../../../shapes/account.ts';
import { useArrived, Waiting } from '../../parts/arrivals.tsx';
import { End } from '../../parts/end.tsx';
import { Money, Movement } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { choose, usePlace } from '../../router.ts';
import type { News } from '../../state/news.ts';
import type { Pages } from '../../state/pages.ts';
import { useWords } from '../../state/preferences.ts';
import { ByHand } from './by-hand.tsx';
import { EntryTime } from './entry-time.tsx';
import { Export } from './export.tsx';

/** A row with what names it: one batch may hold several. */
interface KeyedRow extends StatementRow {
  key: string;
}

/** Names rows, the newest first: batches come whole at the top, so a name stays. */
function keyed(rows: readonly StatementRow[]): KeyedRow[] {
  const counts = new Map<number, number>();
  return rows.map((row) => {
    const number = (counts.get(row.seq) ?? 0) + 1;
    counts.set(row.seq, number);
    return { ...row, key: `${row.seq}.${number}` };
  });
}

interface RowsProps {
  /** Names the list. */
  list: string;
  rows: readonly StatementRow[];
  /** What people did has columns of its own. */
  isByHand: boolean;
}

interface RowProps {
  row: StatementRow;
  hasArrived: boolean;
}

function Row({ row, hasArrived }: RowProps) {
  const words = useWords();
  const doors: Readonly<Record<string, string>> = words.door;
  const { transaction, externalRef, door, message, at } = row;
  return (
    <tr class={hasArrived ? 'arrived' : undefined}>
      <td>
        <EntryTime at={at} transaction={transaction} />
      </td>
      <td class="message">
        <code>{message}</code> <span class="door">{doors[door] ?? door}</span>
      </td>
      <td class="reference">
        <code>{externalRef ?? transaction?.slice(0, 8) ?? ''}</code>
      </td>
      <td class="number moved">
        <Movement cents={row.amount} />
      </td>
      <td class="number after">
        <span class="narrow-only weak">{words.balanceAfter} </span>
        <Money cents={row.balance} />
      </td>
    </tr>
  );
}

function Table({ list, rows, isByHand }: RowsProps) {
  const words = useWords();
  const named = keyed(rows);
  const arrived = useArrived(
    list,
    named.map(({ key }) => key),
  );
  if (isByHand) return <ByHand rows={named} />;
  return (
    <table class="list statement" aria-live="off">
      <caption class="unseen">{words.statement}</caption>
      <thead>
        <tr>
          <th scope="col">{words.attemptAt}</th>
          <th scope="col">{words.messageColumn}</th>
          <th scope="col" class="reference">
            {words.column.reference}
          </th>
          <th scope="col" class="number">
            {words.column.amount}
          </th>
          <th scope="col" class="number">
            {words.balance}
          </th>
        </tr>
      </thead>
      <tbody>
        {named.map((row) => (
          <Row key={row.key} row={row} hasArrived={arrived.has(row.key)} />
        ))}
      </tbody>
    </table>
  );
}

/** All that moved the balance, or what people did by hand. */
function Doors({ door, children }: { door: string; children: ComponentChildren }) {
  const words = useWords();
  return (
    <fieldset class="spans">
      <legend class="unseen">{words.filters}</legend>
      {(['', 'ops'] as const).map((each) => (
        <button
          key={each}
          type="button"
          class="quiet"
          aria-pressed={each === door}
          onClick={() => choose({ door: each })}
        >
          {each === '' ? words.allMovements : words.byHand}
        </button>
      ))}
      {children}
    </fieldset>
  );
}

interface StatementProps {
  document: AccountDocument;
  /** Where it begins; null: now. */
  at: string | null;
  rows: Pages<StatementPage>;
  /** Null: of a time that is over. */
  news: News | null;
}

export function Statement({
  document,
  at,
  rows: { pages, reading, everyMs, load, restart },
  news,
}: StatementProps) {
  const words = useWords();
  const { path, query } = usePlace();
  const door = query.get('door') ?? '';
  const rows = pages.flatMap((page) => page.rows);
  const last = pages.at(-1);
  return (
    <Panel
      title={words.statement}
      aside={
        <Doors door={door}>
          <Export document={document} at={at} />
        </Doors>
      }
    >
      {news === null || everyMs !== null ? null : (
        <Waiting news={news} isShown={({ seq }) => seq <= (rows[0]?.seq ?? 0)} show={restart} />
      )}
      {last === undefined ? (
        <p class="empty">{reading.error === null ? words.loading : ''}</p>
      ) : rows.length === 0 ? (
        <p class="empty">{words.noMovements}</p>
      ) : (
        <Table list={path + query} rows={rows} isByHand={door === 'ops'} />
      )}
      <End pages={pages} load={load} />
    </Panel>
  );
}
