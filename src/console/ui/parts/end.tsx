/** A list's end: how far it looked, and the way further. */
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import { timeText } from './time.tsx';

interface EndProps {
  /** Null where it was to the beginning. */
  lookedBackTo: string | null;
  /** Null after the last page. */
  next: string | null;
  load(cursor: string): void;
}

export function End({ lookedBackTo, next, load }: EndProps) {
  const words = useWords();
  const { language } = usePreferences();
  return (
    <p class="more">
      {lookedBackTo === null ? null : (
        <span class="weak">{fill(words.lookedBack, { time: timeText(language, lookedBackTo, 'full') })}</span>
      )}
      {next === null ? null : (
        <button type="button" onClick={() => load(next)}>
          {lookedBackTo === null ? words.more : words.goOn}
        </button>
      )}
    </p>
  );
}
