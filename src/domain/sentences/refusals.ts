/** Refusals as a reader reads them. */
import { refusals as en } from './en/refusals.ts';
import { type KeptRefusal, keptIn } from './kept.ts';
import { refusals as pt } from './pt/refusals.ts';
import type { RefusalCode, RefusalData, RefusalWords } from './refusal-codes.ts';

export type Language = 'en' | 'pt';

const WORDS: Record<Language, RefusalWords> = { en, pt };

/** The sentence of a code. */
export function refusalText<Code extends RefusalCode>(
  code: Code,
  data: RefusalData[Code],
  language: Language = 'en',
): string {
  return WORDS[language][code](data);
}

/** A refusal in a reader's language; as it was written where its code, or what its sentence needs, isn't known. */
export function refusalIn(language: Language, refusal: KeptRefusal): string {
  return keptIn(WORDS[language], refusal);
}
