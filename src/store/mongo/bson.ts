/**
 * JSON values as MongoDB holds them, and back: dates are dates, whole numbers beyond 32 bits are Longs. The way back
 * gives the same canonical JSON, to the byte.
 */
import { Long } from 'mongodb';
import { exactTime, textOfTime } from '../../domain/time.ts';

/** A JSON object. */
export type Plain = { [name: string]: unknown };

/** What may be a date. Only a text that comes back the same becomes one. */
const DATES = new Set([
  ...['at', 'createdAt', 'updatedAt', 'expiresAt', 'paidAt', 'since', 'until', 'secretSince'],
  ...['nextAttemptAt', 'deliveredAt'],
]);
const ISO_LENGTH = 24;
const INT32 = 2 ** 31;

/** A time as a date, where it is written as we write times; else the text as it is. */
export function toDate(text: string): Date | string {
  if (text.length !== ISO_LENGTH || text[ISO_LENGTH - 1] !== 'Z') return text;
  const time = exactTime(text);
  return time === null ? text : new Date(time);
}

export function toIso(time: Date | string): string {
  return typeof time === 'string' ? time : textOfTime(time.getTime());
}

function bsonNumber(value: number): number | Long {
  const isLong = Number.isSafeInteger(value) && (value >= INT32 || value < -INT32);
  return isLong ? Long.fromNumber(value) : value;
}

/** A member as it is stored. A merchant's own data stays as it was given. */
function storedMember(name: string, member: unknown, hasDates: boolean): unknown {
  if (typeof member === 'string')
    return hasDates && member.length === ISO_LENGTH && DATES.has(name) ? toDate(member) : member;
  return toBson(member, hasDates && name !== 'metadata');
}

function membersBefore(name: string, value: Plain): Plain {
  const members: Plain = {};
  for (const member in value) {
    if (member === name) break;
    members[member] = value[member];
  }
  return members;
}

function storedObject(value: Plain, hasDates: boolean): Plain {
  let copy: Plain | null = null;
  for (const name in value) {
    const stored = storedMember(name, value[name], hasDates);
    if (copy === null && stored === value[name] && stored !== undefined) continue;
    copy ??= membersBefore(name, value);
    if (stored !== undefined) copy[name] = stored;
  }
  return copy ?? value;
}

function storedArray(value: readonly unknown[], hasDates: boolean): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let index = 0; index < value.length; index++) {
    const stored = toBson(value[index], hasDates);
    if (stored === value[index]) continue;
    copy ??= [...value];
    copy[index] = stored;
  }
  return copy ?? value;
}

/** A JSON value as it is stored, without members that are undefined; what is stored just as it is, is no copy. */
export function toBson(value: unknown, hasDates = true): unknown {
  if (typeof value === 'number') return bsonNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return storedArray(value, hasDates);
  return value instanceof Date || value instanceof Long ? value : storedObject(value as Plain, hasDates);
}

/** A stored value as JSON has it. The driver gives Longs as numbers. */
export function fromBson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return textOfTime(value.getTime());
  if (Array.isArray(value)) return value.map(fromBson);
  const json: Plain = {};
  for (const name in value) json[name] = fromBson((value as Plain)[name]);
  return json;
}

const ODD = /\\u0000|\\u[dD][89a-fA-F]|"\$(?:ref|id|db)"|"_bsontype"|"__proto__"/;

/** Whether BSON, or the driver, would not give a JSON text's value back as it was. */
export function isOdd(json: string): boolean {
  return ODD.test(json);
}

/** The readable form of what BSON can't hold. */
export function readable(json: string): unknown {
  const held = json.replaceAll('\\u0000', '\\ufffd').replaceAll('"__proto__":', '"_proto_":');
  // The driver takes an object that has this for a value of its own, and turns the whole document down.
  return JSON.parse(held.replaceAll('"_bsontype":', '"bsontype":'));
}

/** In an array: a type, the digits of an index and its end. */
const ELEMENT_BYTES = 10;

/** How many bytes a value has in BSON, at most: that is quicker to tell than how many it has. */
export function mostBytes(value: unknown): number {
  // Up to three bytes a UTF-16 unit, its length and its end; all else that isn't a document has at most 8.
  if (typeof value === 'string') return 3 * value.length + 5;
  if (typeof value !== 'object' || value === null || value instanceof Date) return 8;
  let bytes = 8;
  if (Array.isArray(value)) for (const item of value) bytes += ELEMENT_BYTES + mostBytes(item);
  else for (const name in value) bytes += 3 * name.length + 2 + mostBytes((value as Plain)[name]);
  return bytes;
}
