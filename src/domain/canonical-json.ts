/**
 * Canonical JSON: the one text of a value, whichever store it came from. Keys stand in code-unit order,
 * numbers and strings as JSON.stringify writes them (RFC 8785 for the values that we store).
 */

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  }
  return true;
}

// Most strings need no escapes, and a test is cheaper than JSON.stringify.
const NEEDS_ESCAPE = /["\\\p{Cc}\p{Cs}]/u;

function quote(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** The canonical text of a JSON value; `undefined` members are left out, as JSON does. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    let out = '[';
    for (let i = 0; i < value.length; i++)
      out += i === 0 ? canonicalJson(value[i]) : `,${canonicalJson(value[i])}`;
    return `${out}]`;
  }
  const keys = Object.keys(value);
  if (!isSorted(keys)) keys.sort();
  let out = '';
  for (const key of keys) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) out += `${out === '' ? '{' : ','}${quote(key)}:${canonicalJson(member)}`;
  }
  return out === '' ? '{}' : `${out}}`;
}
