/** The words of the list's filters, which come with its script. */
import type { Language } from '../../../shapes.ts';

interface FilterWords {
  from: string;
  to: string;
  anyTime: string;
  allOf: string;
}

export const filterWords: Record<Language, FilterWords> = {
  pt: { from: 'Criadas de', to: 'até', anyTime: 'Qualquer data', allOf: 'Todos: {family}' },
  en: { from: 'Created from', to: 'until', anyTime: 'Any time', allOf: 'All: {family}' },
};
