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
