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
