/** Reads a bank's answers tolerantly: the few fields that are needed, each checked by itself. */
import { normalizeTime } from '../../domain/message-data.ts';

/** A JSON object of a bank's. */
export type Answer = Record<string, unknown>;

const WITHOUT_ZONE = /T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$/;
const BRASILIA = '-03:00';
const END_TO_END_ID = /^[A-Za-z0-9]{32}$/;

/** A value as an object; null where it is none. */
export function objectOf(value: unknown): Answer | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null;
}

/** A text as JSON; undefined where it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text that isn't empty; null where there is none. */
export function textIn(answer: Answer | null, name: string): string | null {
  const value = answer?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The objects of a list; empty where there is no list. */
export function listIn(answer: Answer | null, name: string): Answer[] {
  const value: unknown = answer?.[name];
  if (!Array.isArray(value)) return [];
  return value.map(objectOf).filter((each) => each !== null);
}

export function objectIn(answer: Answer | null, name: string): Answer | null {
  return objectOf(answer?.[name]);
}

/** A whole number from 0; null where there is none. Some banks write them as texts. */
export function wholeIn(answer: Answer | null, name: string): number | null {
  const value = answer?.[name];
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  return /^\d{1,15}$/.test(String(value)) ? Number(value) : null;
}

/** A time in ISO 8601, UTC with milliseconds; without a zone it is Brasília's. Null where it can't be read. */
export function timeIn(answer: Answer | null, name: string): string | null {
  const text = textIn(answer, name);
  if (text === null) return null;
  return normalizeTime(WITHOUT_ZONE.test(text) ? text + BRASILIA : text);
}

/** An end-to-end id as banks give them: any 32 letters and digits, since not all keep to the form. */
export function endToEndIdIn(answer: Answer | null, name: string): string | null {
  const text = textIn(answer, name);
  return text !== null && END_TO_END_ID.test(text) ? text : null;
}

/** The first characters of a text, by code points after NFC, as JSON Schema counts them. */
export function firstCharacters(text: string, most: number): string {
  return [...text.normalize('NFC')].slice(0, most).join('');
}
