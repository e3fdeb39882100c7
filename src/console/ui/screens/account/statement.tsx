/** The statement, newest first: each row with the balance after it, and the way to its transaction. */
import type { StatementPage, StatementRow } from '../../../shapes/account.ts';
import { Chip, StatusChip } from '../../parts/chip.tsx';
import { End } from '../../parts/end.tsx';
import { Money, Movement } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { addressOf, choose, usePlace } from '../../router.ts';
import type { Pages } from '../../state/pages.ts';
import { useWords } from '../../state/preferences.ts';

function State({ row: { status, isRefused } }: { row: StatementRow }) {
  const words = useWords();
  if (isRefused) return <Chip family="bad" word={words.refusedEntry} />;
  return status === null ? null : <StatusChip status={status} />;
}

interface RowsProps {
  rows: readonly StatementRow[];
  /** Of one door: which one needn't be said, but what came of it. */
  isOfDoor: boolean;
}

function Row({ row, isOfDoor }: { row: StatementRow } & Pick<RowsProps, 'isOfDoor'>) {
  const words = useWords();
  const doors: Readonly<Record<string, string>> = words.door;
  const { transaction, externalRef, door, message, at } = row;
  return (
    <tr>
      <td>
        {transaction === null ? (
          <Time at={at} />
        ) : (
          <a class="row-link" href={addressOf(transaction)} data-row>
            <Time at={at} />
          </a>
        )}
      </td>
      <td class="message">
        <code>{message}</code>{' '}
        {isOfDoor ? <State row={row} /> : <span class="door">{doors[door] ?? door}</span>}
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

function Table({ rows, isOfDoor }: RowsProps) {
  const words = useWords();
  return (
    <table class="list statement">
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
        {rows.map((row, index) => (
          <Row key={`${row.seq} ${row.message} ${row.transaction} ${index}`} row={row} isOfDoor={isOfDoor} />
        ))}
      </tbody>
    </table>
  );
}

/** All that moved the balance, or what people did by hand. */
function Doors({ door }: { door: string }) {
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
    </fieldset>
  );
}

export function Statement({ rows: { pages, reading, load } }: { rows: Pages<StatementPage> }) {
  const words = useWords();
  const door = usePlace().query.get('door') ?? '';
  const rows = pages.flatMap((page) => page.rows);
  const last = pages.at(-1);
  return (
    <Panel title={words.statement} aside={<Doors door={door} />}>
      {last === undefined ? (
        <p class="empty">{reading.error === null ? words.loading : ''}</p>
      ) : rows.length === 0 ? (
        <p class="empty">{words.noMovements}</p>
      ) : (
        <Table rows={rows} isOfDoor={door !== ''} />
      )}
      {last === undefined ? null : <End lookedBackTo={last.lookedBackTo} next={last.before} load={load} />}
    </Panel>
  );
}
