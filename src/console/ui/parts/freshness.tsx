/** How old is what one sees: when it was read, whether it updates itself or is paused, and that the connection is lost. */

import type { News } from '../state/news.ts';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import type { Reading } from '../state/reading.ts';
import { Icon } from './icon.tsx';
import { timeText } from './time.tsx';

interface FreshnessProps {
  reading: Reading<unknown>;
  /** ms between two readings; null: it is read again only when asked for. */
  everyMs: number | null;
  /** What comes meanwhile, where that is heard. */
  news?: News;
}

/** Whether news come, and the way to hold the page still. */
function Coming({ news: { state, isPaused, pause } }: { news: News }) {
  const words = useWords();
  const label = `${isPaused ? words.resume : words.pause}  p`;
  return (
    <>
      {isPaused ? (
        <strong class="paused">{words.paused}</strong>
      ) : state === 'open' ? (
        <span class="live" title={words.live}>
          <span class="wide-only">{words.live}</span>
        </span>
      ) : null}
      <button
        type="button"
        class="quiet square"
        aria-pressed={isPaused}
        onClick={() => pause(!isPaused)}
        aria-label={words.pause}
        title={label}
      >
        <Icon name={isPaused ? 'right' : 'pause'} />
      </button>
    </>
  );
}

export function Freshness({ reading, everyMs, news }: FreshnessProps) {
  const words = useWords();
  const { language } = usePreferences();
  const time = timeText(language, reading.readAt, 'clock');
  return (
    <p class="freshness">
      <span class={news === undefined ? undefined : 'wide-only'}>
        {reading.readAt === 0 ? '' : fill(words.readAt, { time })}
      </span>
      {everyMs === null || reading.readAt === 0 || news?.state === 'open' ? null : (
        <span class="wide-only">{`· ${fill(words.updatesItself, { seconds: everyMs / 1_000 })}`}</span>
      )}
      {news === undefined ? null : <Coming news={news} />}
      <button
        type="button"
        class="quiet square"
        onClick={reading.again}
        aria-label={words.refresh}
        title={words.refresh}
      >
        <Icon name="again" />
      </button>
    </p>
  );
}

/** The sentence where nothing could be read, and the amber line where what is seen may be old. */
export function Trouble({ reading, news }: { reading: Reading<unknown>; news?: News }) {
  const words = useWords();
  const { language } = usePreferences();
  const { error, value, readAt } = reading;
  if (error?.status === 401) return null;
  if (error === null) {
    if (news?.state !== 'lost') return null;
    return (
      <p class="trouble" role="status">
        <Icon name="triangle" />
        <span>{words.notLive}</span>
      </p>
    );
  }
  const time = timeText(language, readAt, 'clock');
  const why = error.status === 0 ? words.unreachable : error.message || error.code;
  return (
    <p class="trouble" role="status">
      <Icon name="triangle" />
      <span>
        {value !== null && error.status === 0 ? fill(words.lost, { time }) : fill(words.failed, { why })}
      </span>
      <button type="button" class="quiet" onClick={reading.again}>
        {words.tryAgain}
      </button>
    </p>
  );
}
