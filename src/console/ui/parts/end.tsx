/** A list's end: how far it looked, and the way further. */
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { timeText } from './time.tsx';

/** A page of a list, as endpoints answer it. */
interface Page {
  /** Null, or none, where it was to the beginning. */
  lookedBackTo?: string | null;
  /** How much isn't shown since it can't be read. */
  unreadable?: number;
  /** What the next page comes after, or goes back from; null after the last one. */
  after?: string | null;
  before?: string | null;
}

interface EndProps {
  /** Those that were read; before the first one there is no end. */
  pages: readonly Page[];
  load(cursor: string): void;
}

/** Says how much isn't shown since it can't be read. */
export function Unreadable({ count }: { count: number }) {
  const { unreadable } = useWords();
  return count === 0 ? null : <p class="note-line">{fill(unreadable, { n: count })}</p>;
}

export function End({ pages, load }: EndProps) {
  const words = useWords();
  const { language } = usePreferences();
  const last = pages.at(-1);
  if (last === undefined) return null;
  const { lookedBackTo = null, after, before } = last;
  const next = after ?? before ?? null;
  return (
    <>
      <Unreadable count={pages.reduce((sum, { unreadable = 0 }) => sum + unreadable, 0)} />
      <p class="more">
        {lookedBackTo === null ? null : (
          <span class="weak">
            {fill(words.lookedBack, { time: timeText(language, lookedBackTo, 'full') })}
          </span>
        )}
        {next === null ? null : (
          <button type="button" onClick={() => load(next)}>
            {lookedBackTo === null ? words.more : words.goOn}
          </button>
        )}
      </p>
    </>
  );
}
