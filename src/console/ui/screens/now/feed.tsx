/** The journal's newest entries, read again and again until somebody pauses. */
import { useState } from 'preact/hooks';
import type { JournalRow } from '../../../shapes/now.ts';
import { newestEntries } from '../../api.ts';
import { Chip, StatusChip } from '../../parts/chip.tsx';
import { Money } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { accountAddress, addressOf } from '../../router.ts';
import { useShortcuts } from '../../shell/shortcuts.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useNowWords } from './words.ts';

const EVERY_MS = 2_000;
const ROWS = 14;

function Row({ row }: { row: JournalRow }) {
  const words = useWords();
  const { transaction, account, accountName, at, amount, message, status, isRefused } = row;
  const href = transaction === null ? accountAddress(account) : addressOf(transaction);
  return (
    <li>
      <Time at={at} form="clock" />
      <a class="row-link cut" href={href} data-row>
        {accountName}
      </a>
      <span class="number">{amount === null ? null : <Money cents={amount} />}</span>
      <code>{message}</code>
      <span class="state">
        {isRefused ? (
          <Chip family="bad" word={words.refusedEntry} />
        ) : status === null ? null : (
          <StatusChip status={status} />
        )}
      </span>
    </li>
  );
}

export function Feed() {
  const words = useNowWords();
  const { unreachable } = useWords();
  /** What somebody holds still, to read it. */
  const [held, setHeld] = useState<readonly JournalRow[] | null>(null);
  const isPaused = held !== null;
  const reading = useReading({
    key: '',
    read: (signal) => newestEntries(ROWS, signal),
    restsFor: () => (isPaused ? null : EVERY_MS),
  });
  const { error } = reading;
  const rows = held ?? reading.value?.rows ?? [];
  const toggle = () => {
    if (isPaused) reading.again();
    setHeld(isPaused ? null : rows);
  };
  useShortcuts({ p: toggle });
  return (
    <Panel
      title={words.journal}
      class="feed"
      aside={
        <>
          <span class={isPaused || error !== null ? 'dot' : 'dot lit'} aria-hidden="true" />{' '}
          {isPaused
            ? words.paused
            : error !== null
              ? error.message || unreachable
              : fill(words.everySeconds, { seconds: EVERY_MS / 1_000 })}{' '}
          <button type="button" class="quiet" onClick={toggle}>
            {isPaused ? words.goOn : words.pause} <kbd>p</kbd>
          </button>
        </>
      }
    >
      {reading.value !== null && rows.length === 0 ? (
        <p class="empty">{words.journalEmpty}</p>
      ) : (
        <ol aria-live="off">
          {rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </ol>
      )}
    </Panel>
  );
}
