/** Times: local, with the moment in UTC as a hint; ages that tick; what is left until then. */
import type { Language } from '../../shapes.ts';
import { choose } from '../router.ts';
import { now, useNow } from '../state/clock.ts';
import { fill, usePreferences, useWords } from '../state/preferences.ts';
import type { Words } from '../words.pt.ts';

export const LOCALES: Record<Language, string> = { pt: 'pt-BR', en: 'en-GB' };

type Form = 'clock' | 'exact' | 'full';

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const DAY = { day: 'numeric', month: 'short' } as const;

const formats = new Map<string, Intl.DateTimeFormat>();

/** What is shown of a moment's day: a transaction may live for months, and the journal is for ever. */
function dayIn(form: Form, date: Date): Intl.DateTimeFormatOptions {
  const today = new Date(now());
  if (date.getFullYear() !== today.getFullYear()) return { ...DAY, year: 'numeric' };
  return form === 'full' || date.toDateString() !== today.toDateString() ? DAY : {};
}

/** A moment in the reader's own time; `at` in ms or ISO. All but `full` leave today's day out. */
export function timeText(language: Language, at: number | string, form: Form): string {
  const date = new Date(at);
  const options: Intl.DateTimeFormatOptions = { ...dayIn(form, date), ...CLOCK };
  if (form === 'exact') options.fractionalSecondDigits = 3;
  const key = `${language} ${Object.keys(options)}`;
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

/** A time of the address as the server takes it; null where it is none. */
export function timeIn(text: string | null): string | null {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** A field for a time, which stands in the address by that name; `at`: null where none is chosen. */
export function TimeField({ name, label, at }: { name: string; label: string; at: string | null }) {
  return (
    <label>
      <span>{label}</span>{' '}
      <input
        type="datetime-local"
        step="1"
        value={at === null ? '' : localText(at)}
        onChange={({ currentTarget }) =>
          // A field of times changes with each of its parts: the way back leads to before the first.
          choose({ [name]: timeIn(currentTarget.value) ?? '' }, { replace: at !== null })
        }
      />
    </label>
  );
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
function ageText(words: Words, ms: number): string {
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
