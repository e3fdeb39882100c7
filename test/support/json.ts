/** What `JSON.parse` can return. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** Whether a JSON value is an object (neither null nor an array). */
export function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** Parses JSON text; undefined when it is none. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The value at a dotted path (`pix.qrcode`, `attempts.0.at`); throws when a step is missing. */
export function at(json: Json, path: string): Json {
  let value: Json = json;
  for (const step of path === '' ? [] : path.split('.')) {
    const next: Json | undefined = Array.isArray(value)
      ? value[Number(step)]
      : isObject(value) && Object.hasOwn(value, step)
        ? value[step]
        : undefined;
    if (next === undefined) throw new Error(`no '${path}' in ${JSON.stringify(json)}`);
    value = next;
  }
  return value;
}

function wrongType(json: Json, path: string, expected: string): Error {
  return new Error(`'${path}' is no ${expected} in ${JSON.stringify(json)}`);
}

/** The string at a path. */
export function text(json: Json, path = ''): string {
  const value = at(json, path);
  if (typeof value !== 'string') throw wrongType(json, path, 'string');
  return value;
}

/** The whole number at a path. */
export function whole(json: Json, path = ''): number {
  const value = at(json, path);
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw wrongType(json, path, 'whole number');
  return value;
}

/** The array at a path. */
export function list(json: Json, path = ''): Json[] {
  const value = at(json, path);
  if (!Array.isArray(value)) throw wrongType(json, path, 'array');
  return value;
}

/** The object at a path. */
export function object(json: Json, path = ''): JsonObject {
  const value = at(json, path);
  if (!isObject(value)) throw wrongType(json, path, 'object');
  return value;
}

/** The sorted names of the object at a path. */
export function keys(json: Json, path = ''): string[] {
  return Object.keys(object(json, path)).sort();
}
