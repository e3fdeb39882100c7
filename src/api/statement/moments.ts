/** Times as GET /statement is told them. */
import { isDay, timeOfText } from '../../domain/time.ts';

const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt]([01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2}))?$/;

/** What RFC 3339 can tell of in UTC, as answers do: a zone's hours may lead out of its years. */
export const FIRST = timeOfText('0000-01-01T00:00:00.000Z');
export const LAST = timeOfText('9999-12-31T23:59:59.999Z');

/** A date or time of RFC 3339 in ms since 1970, a date as its midnight in UTC; null where the text is none. */
export function parseMoment(text: string): number | null {
  const [, day = '', hour = '00', rest = ':00:00', fraction = '', zone = 'Z'] = MOMENT.exec(text) ?? [];
  if (!isDay(day)) return null;
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const ms = timeOfText(`${day}T${hour}${rest}.${milliseconds}${zone.toUpperCase()}`);
  // Entries have whole milliseconds: those from a part of one on begin with the next.
  const whole = /[1-9]/.test(fraction.slice(3)) ? ms + 1 : ms;
  return whole >= FIRST && whole <= LAST ? whole : null;
}
