/** What the cards of all cases share. */
import type { ComponentChildren } from 'preact';
import type { Family } from '../../../shapes/families.ts';
import { reais } from '../../parts/money.tsx';
import { LOCALES } from '../../parts/time.tsx';
import { useNow } from '../../state/clock.ts';
import { fill, usePreferences, useWords } from '../../state/preferences.ts';
import { useNowWords } from './words.ts';

const FAMILIES: Readonly<Record<string, Family>> = {
  dead: 'bad',
  rejected: 'bad',
  return: 'back',
  journal: 'bad',
  projection: 'bad',
  quarantined: 'bad',
  bank: 'bad',
};

/** How urgent a case looks, by its kind. */
export function familyOfCase(kind: string): Family {
  return FAMILIES[kind] ?? 'care';
}

/** How long ago that was, in its two largest units: it ticks. */
export function Since({ at }: { at: string }) {
  const { ago } = useWords();
  const seconds = Math.max(0, Math.floor((useNow() - Date.parse(at)) / 1_000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((length) => Math.floor(seconds / length));
  const text =
    days !== undefined && days > 0
      ? fill(ago.h, { n: `${days} d ${(hours ?? 0) % 24}` })
      : hours !== undefined && hours > 0
        ? fill(ago.min, { n: `${hours} h ${(minutes ?? 0) % 60}` })
        : fill(ago.s, { n: minutes === 0 ? seconds : `${minutes} min ${seconds % 60}` });
  return (
    <time class="weak since" dateTime={at} title={at}>
      {text}
    </time>
  );
}

interface CaseHeadingProps {
  /** Has a place for the number, or none. */
  sentence: string;
  count: number;
  /** The money at stake; null where none is named. */
  sum: number | null;
  /** Whether all of it was counted. */
  isWhole: boolean;
  children?: ComponentChildren;
}

/** The heading in parts: the number stands out. */
export function CaseHeading({ sentence, count, sum, isWhole, children }: CaseHeadingProps) {
  const { language } = usePreferences();
  const { atLeast } = useNowWords();
  const [before = '', after] = sentence.split('{n}');
  return (
    <h2>
      {isWhole ? null : `${atLeast} `}
      {before}
      {after === undefined ? null : <b>{count.toLocaleString(LOCALES[language])}</b>}
      {after}
      {sum === null ? null : (
        <>
          {' · '}
          <b class="money">{reais(sum)}</b>
        </>
      )}
      {children}
    </h2>
  );
}
