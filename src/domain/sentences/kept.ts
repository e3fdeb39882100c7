/** Refusals as they are kept, in the words of one language. */
import type { RefusalData, RefusalWords } from './refusal-codes.ts';

/** A refusal as it is kept. */
export interface KeptRefusal {
  /** Null where a former build refused the message. */
  code: string | null;
  /** What the code's sentence needs; null where nobody kept it. */
  data: object | null;
  /** The sentence in English, as the journal has it. */
  text: string;
}

/** What a refusal says of a return that counts already, and was to end a refund besides; null: it is another one. */
export function countedReturn({
  refusal,
  details,
}: {
  refusal: string;
  details: object;
}): RefusalData['RETURN_COUNTED'] | null {
  return refusal === 'RETURN_COUNTED' ? (details as RefusalData['RETURN_COUNTED']) : null;
}

/** A refusal in a language's words; as it was written where its code, or what its sentence needs, isn't known. */
export function keptIn(refusals: RefusalWords, { code, data, text }: KeptRefusal): string {
  const words: Partial<Record<string, (data: never) => string>> = refusals;
  const sentence = code !== null && Object.hasOwn(words, code) ? words[code] : undefined;
  if (sentence === undefined || (data === null && sentence.length > 0)) return text;
  return sentence((data ?? {}) as never);
}
