/**
 * Canonical JSON: the one text of a value, whichever store it came from. Keys stand in code-unit order,
 * numbers and strings as JSON.stringify writes them (RFC 8785 for the values that we store).
 */

/** Whether JSON.stringify would write the value in canonical order as it stands. */
function isCanonical(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value !== undefined;
  if (Array.isArray(value)) return value.every(isCanonical);
  let before = '';
  for (const key in value) {
    if (key < before || !isCanonical((value as Record<string, unknown>)[key])) return false;
    before = key;
  }
  return true;
}

function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${sorted(member)}`);
  }
  return `{${members.join(',')}}`;
}

/** The canonical text of a JSON value; `undefined` members are left out, as JSON does. */
export function canonicalJson(value: unknown): string {
  // The engine's own objects stand in order already, and then the native writer is several times faster.
  return isCanonical(value) ? JSON.stringify(value) : sorted(value);
}

function hasMember(value: object, key: string): boolean {
  return Object.hasOwn(value, key) && (value as Record<string, unknown>)[key] !== undefined;
}

function isSameObject(a: object, b: object): boolean {
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key in one)
    if (hasMember(one, key) && !(hasMember(other, key) && isSameJson(one[key], other[key]))) return false;
  for (const key in other) if (hasMember(other, key) && !hasMember(one, key)) return false;
  return true;
}

/** Whether two JSON values have one canonical text: many times faster than to write both. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (!Array.isArray(a)) return !Array.isArray(b) && isSameObject(a, b);
  if (!Array.isArray(b) || a.length !== b.length) return false;
  return a.every((value, index) => isSameJson(value, b[index]));
}
