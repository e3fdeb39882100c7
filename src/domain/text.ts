/**
 * The length of a text as limits count it: Unicode code points after NFC, so that an accent typed as a mark
 * of its own counts like the single letter. A lone surrogate counts as one.
 */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text.normalize('NFC')) count += 1;
  return count;
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * Whether a text holds neither control characters (category Cc: C0 with tab and line breaks, DEL, C1) nor
 * lone surrogates. Nothing else is refused: format characters (zero-width joiner, direction marks) and the
 * separators U+2028 and U+2029 belong to ordinary text in some scripts and are harmless inside JSON.
 */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

export function isUuidV4(text: string): boolean {
  return UUID_V4.test(text);
}

/** Deeper than any request needs to be, and far from what recursion can't take. */
export const MAX_DEPTH = 32;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether a JSON text, in UTF-8, is nested more than `MAX_DEPTH` deep. */
export function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
  }
  return false;
}
