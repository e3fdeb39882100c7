/** What a reader chose: language and theme, kept in this browser. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Language } from '../../shapes.ts';
import type { Words } from '../words.pt.ts';

export type Theme = 'auto' | 'light' | 'dark';

const LOADERS: Record<Language, () => Promise<Words>> = {
  pt: () => import('../words.pt.ts').then(({ pt }) => pt),
  en: () => import('../words.en.ts').then(({ en }) => en),
};
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

/** A language's words: a reader has one language, and loads no other. */
export function loadWords(language: Language): Promise<Words> {
  return LOADERS[language]();
}

export interface Preferences {
  language: Language;
  theme: Theme;
  /** The language's. */
  words: Words;
  choose(change: Partial<Pick<Preferences, 'language' | 'theme'>>): void;
}

/** A browser may have its storage shut: then a choice holds as long as the page. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(`pixstate.${name}`);
  } catch {
    return null;
  }
}

export function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`pixstate.${name}`);
    else localStorage.setItem(`pixstate.${name}`, value);
  } catch {
    // The choice holds as long as the page.
  }
}

/** Hears of what another tab keeps; what it gives ends that. */
export function hearOf(name: string, changed: () => void): () => void {
  const heard = ({ key }: StorageEvent) => {
    if (key === `pixstate.${name}`) changed();
  };
  addEventListener('storage', heard);
  return () => removeEventListener('storage', heard);
}

export function storedLanguage(): Language {
  const chosen = stored('language');
  if (chosen === 'pt' || chosen === 'en') return chosen;
  return navigator.language.toLowerCase().startsWith('pt') ? 'pt' : 'en';
}

export function storedTheme(): Theme {
  const chosen = stored('theme');
  return THEMES.find((theme) => theme === chosen) ?? 'auto';
}

/** The theme after this one, in a circle. */
export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
}

/** Marks the page, so that the style sheet and screen readers know. */
export function showPreferences({ language, theme }: Pick<Preferences, 'language' | 'theme'>): void {
  const { documentElement } = document;
  documentElement.lang = language === 'pt' ? 'pt-BR' : 'en';
  if (theme === 'auto') delete documentElement.dataset.theme;
  else documentElement.dataset.theme = theme;
}

export const PreferencesContext = createContext<Preferences | null>(null);

/** @throws where nothing is known of the reader */
export function usePreferences(): Preferences {
  const preferences = useContext(PreferencesContext);
  if (preferences === null) throw new Error('nothing is known of the reader');
  return preferences;
}

export function useWords(): Words {
  return usePreferences().words;
}

/** A sentence with its places filled in: `{name}` stands for `values.name`. */
export function fill(sentence: string, values: Record<string, string | number>): string {
  return sentence.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}
