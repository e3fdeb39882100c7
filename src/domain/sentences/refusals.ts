/** Refusals as a reader reads them. */
import { refusals as en } from './en/refusals.ts';
import { refusals as pt } from './pt/refusals.ts';
import type { RefusalCode, RefusalData, RefusalWords } from './refusal-codes.ts';

export type Language = 'en' | 'pt';

const WORDS: Record<Language, RefusalWords> = { en, pt };

/** A refusal as it is kept. */
export interface KeptRefusal {
  /** Null where a former build refused the message. */
  code: string | null;
  /** What the code's sentence needs; null where nobody kept it. */
  data: object | null;
  /** The sentence in English, as the journal has it. */
  text: string;
}

/** The sentence of a code. */
export function refusalText<Code extends RefusalCode>(
  code: Code,
  data: RefusalData[Code],
  language: Language = 'en',
): string {
  return WORDS[language][code](data);
}

/** A refusal in a reader's language; as it was written where its code, or what its sentence needs, isn't known. */
export function refusalIn(language: Language, { code, data, text }: KeptRefusal): string {
  const words: Partial<Record<string, (data: never) => string>> = WORDS[language];
  const sentence = code !== null && Object.hasOwn(words, code) ? words[code] : undefined;
  if (sentence === undefined || (data === null && sentence.length > 0)) return text;
  return sentence((data ?? {}) as never);
}
