/** Times: local, with the moment in UTC as a hint; ages that tick; what is left until then. */
import type { Language } from '../../shapes.ts';
import { now, useNow } from '../state/clock.ts';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import type { Words } from '../words.pt.ts';

export const LOCALES: Record<Language, string> = { pt: 'pt-BR', en: 'en-GB' };

type Form = 'clock' | 'exact' | 'full';

const FORMS: Record<Form, Intl.DateTimeFormatOptions> = {
  clock: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  exact: { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 },
  full: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' },
};

const formats = new Map<string, Intl.DateTimeFormat>();

/** A moment in the reader's own time; `at` in ms or ISO. */
export function timeText(language: Language, at: number | string, form: Form): string {
  const date = new Date(at);
  // A journal is for ever: another year's day is no day of this one.
  const isOld = form === 'full' && date.getFullYear() !== new Date(now()).getFullYear();
  const key = `${language} ${form} ${isOld}`;
  const options: Intl.DateTimeFormatOptions = isOld ? { ...FORMS[form], year: 'numeric' } : FORMS[form];
  const format = formats.get(key) ?? new Intl.DateTimeFormat(LOCALES[language], options);
  formats.set(key, format);
  return format.format(date).replace(', ', ' ');
}

/** What a field for local times shows of a moment: `2026-11-22T18:00:00`; nothing of what is none. */
export function localText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function Time({ at, form = 'full' }: { at: string; form?: Form }) {
  const { language } = usePreferences();
  return (
    <time dateTime={at} title={at}>
      {timeText(language, at, form)}
    </time>
  );
}

const UNITS = [
  { unit: 'd', length: 86_400 },
  { unit: 'h', length: 3_600 },
  { unit: 'min', length: 60 },
  { unit: 's', length: 1 },
] as const;

/** How long ago that was, in its largest unit. */
export function ageText(words: Words, ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const found = UNITS.find(({ length }) => seconds >= length);
  if (found === undefined) return words.ago.now;
  return fill(words.ago[found.unit], { n: Math.floor(seconds / found.length) });
}

export function Age({ at }: { at: string }) {
  const words = useWords();
  const age = useNow() - Date.parse(at);
  return (
    <time class="weak" dateTime={at} title={at}>
      {ageText(words, age)}
    </time>
  );
}

/** `mm:ss`, with hours and days where there are any. */
export function leftText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const two = (number: number) => String(number).padStart(2, '0');
  const minutes = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  const hours = Math.floor(seconds / 3_600);
  if (hours === 0) return minutes;
  return hours < 24 ? `${hours}:${minutes}` : `${Math.floor(hours / 24)} d ${two(hours % 24)}:${minutes}`;
}
