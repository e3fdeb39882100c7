/** The dialog's own words, which come with its forms. Names of messages stay as they are. */
import type { Language } from '../../../shapes.ts';
import { en } from './words.en.ts';
import { type ActWords, pt } from './words.pt.ts';

export function wordsOf(language: Language): ActWords {
  return language === 'pt' ? pt : en;
}
