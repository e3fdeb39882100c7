/** How old is what one sees: when it was read, whether it updates itself, and that the connection is lost. */
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import type { Reading } from '../state/reading.ts';
import { Icon } from './icon.tsx';
import { timeText } from './time.tsx';

interface FreshnessProps {
  reading: Reading<unknown>;
  /** ms between two readings; null: it is read again only when asked for. */
  everyMs: number | null;
}

export function Freshness({ reading, everyMs }: FreshnessProps) {
  const words = useWords();
  const { language } = usePreferences();
  const time = timeText(language, reading.readAt, 'clock');
  return (
    <p class="freshness">
      <span>{reading.readAt === 0 ? '' : fill(words.readAt, { time })}</span>
      {everyMs === null || reading.readAt === 0 ? null : (
        <span class="wide-only">{`· ${fill(words.updatesItself, { seconds: everyMs / 1_000 })}`}</span>
      )}
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
export function Trouble({ reading }: { reading: Reading<unknown> }) {
  const words = useWords();
  const { language } = usePreferences();
  const { error, value, readAt } = reading;
  if (error === null || error.status === 401) return null;
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
