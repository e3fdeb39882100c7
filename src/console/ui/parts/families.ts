/** The six families of states: each has a colour, a glyph and, for each state, a word. */
import type { GlyphName } from './glyphs.ts';

export type Family = 'open' | 'good' | 'care' | 'bad' | 'back' | 'ended';

export const FAMILY_ICONS: Readonly<Record<Family, GlyphName>> = {
  open: 'clock',
  good: 'tick',
  care: 'triangle',
  bad: 'cross',
  back: 'back',
  ended: 'dash',
};

const OF_STATUS: Readonly<Record<string, Family>> = {
  waiting_payment: 'open',
  pending: 'open',
  processing: 'open',
  in_analysis: 'care',
  in_protest: 'care',
  paid: 'good',
  completed: 'good',
  refused: 'bad',
  failed: 'bad',
  rejected: 'bad',
  refunded: 'back',
  chargedback: 'back',
  expired: 'ended',
  canceled: 'ended',
  cancelled: 'ended',
};

const OF_DELIVERY: Readonly<Record<string, Family>> = {
  pending: 'open',
  retrying: 'care',
  delivered: 'good',
  dead: 'bad',
  rejected: 'bad',
};

/** A state that this console doesn't know yet is shown by its id, as one that ended. */
export function familyOf(status: string): Family {
  return OF_STATUS[status] ?? 'ended';
}

export function familyOfDelivery(status: string): Family {
  return OF_DELIVERY[status] ?? 'ended';
}

/** The states of transactions by family, in the families' order. */
export function statusesByFamily(): [Family, string[]][] {
  const families = Object.keys(FAMILY_ICONS) as Family[];
  return families.map((family) => [
    family,
    Object.keys(OF_STATUS).filter((status) => OF_STATUS[status] === family),
  ]);
}
