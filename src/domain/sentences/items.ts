/** What needs a person, as a reader reads it. */
import { items as en } from './en/items.ts';
import type { About, Facts, ItemCode, ItemWords, Sentences } from './item-codes.ts';
import { items as pt } from './pt/items.ts';
import type { Language } from './refusals.ts';

const WORDS: Record<Language, ItemWords> = { en, pt };

/** An item as it is kept. */
export interface KeptItem extends Sentences {
  id: string;
  since: string;
  about: About;
  /** Null in items of former builds. */
  code: string | null;
  data: object | null;
}

/** The sentences of a code. */
export function itemSentences<Code extends ItemCode>(
  code: Code,
  facts: Facts<Code>,
  language: Language = 'en',
): Sentences {
  return WORDS[language][code](facts);
}

/** An item's sentences in a reader's language; as they were written where there is no code, or a later build's. */
export function itemIn(language: Language, item: KeptItem): Sentences {
  const { code, data, what, next } = item;
  const words: Partial<Record<string, (facts: never) => Sentences>> = WORDS[language];
  const sentences = code !== null && data !== null && Object.hasOwn(words, code) ? words[code] : undefined;
  return sentences === undefined ? { what, next } : sentences(item as never);
}
