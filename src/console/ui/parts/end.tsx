/** A list's end: how far it looked, and the way further. */
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { timeText } from './time.tsx';

interface EndProps {
  /** Null where it was to the beginning. */
  lookedBackTo: string | null;
  /** How much isn't shown since it can't be read. */
  unreadable?: number;
  /** Null after the last page. */
  next: string | null;
  load(cursor: string): void;
}

/** Says how much isn't shown since it can't be read. */
export function Unreadable({ count }: { count: number }) {
  const { unreadable } = useWords();
  return count === 0 ? null : <p class="note-line">{fill(unreadable, { n: count })}</p>;
}

/** How much isn't shown of pages since it can't be read. */
export function unreadableIn(pages: readonly { unreadable: number }[]): number {
  return pages.reduce((sum, { unreadable }) => sum + unreadable, 0);
}

export function End({ lookedBackTo, unreadable = 0, next, load }: EndProps) {
  const words = useWords();
  const { language } = usePreferences();
  return (
    <>
      <Unreadable count={unreadable} />
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
