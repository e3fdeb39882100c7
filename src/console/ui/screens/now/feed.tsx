/** The journal's newest entries, read again as they come, until somebody pauses. */
import type { JournalRow } from '../../../shapes/now.ts';
import { newestEntries } from '../../api.ts';
import { Chip, StatusChip } from '../../parts/chip.tsx';
import { Unreadable } from '../../parts/end.tsx';
import { Money } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { accountAddress, addressOf } from '../../router.ts';
import { useBell, useNews } from '../../state/news.ts';
import { fill, useWords } from '../../state/preferences.ts';
import { useReading } from '../../state/reading.ts';
import { useNowWords } from './words.ts';

const EVERY_MS = 2_000;
/** Where news come by themselves: whether somebody signed out elsewhere is seen by reading. */
const LIVE_EVERY_MS = 10_000;
/** Under load it is read so often. */
const REST_MS = 500;
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
  const { unreachable, live } = useWords();
  const news = useNews({ key: '', query: {}, counts: () => false, isList: false });
  const { isPaused, pause, state } = news;
  const isLive = state === 'open';
  const reading = useReading({
    key: '',
    read: (signal) => newestEntries(ROWS, signal),
    restsFor: () => (isLive ? LIVE_EVERY_MS : EVERY_MS),
    isHeld: isPaused,
  });
  useBell(news, reading, { isHeld: isPaused, restMs: REST_MS });
  const { error } = reading;
  const rows = reading.value?.rows ?? [];
  const toggle = () => pause(!isPaused);
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
              : isLive
                ? live
                : fill(words.everySeconds, { seconds: EVERY_MS / 1_000 })}{' '}
          <button type="button" class="quiet" onClick={toggle}>
            {isPaused ? words.goOn : words.pause} <kbd>p</kbd>
          </button>
        </>
      }
    >
      <Unreadable count={reading.value?.unreadable ?? 0} />
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
