/** How the six families of states look: each has a colour, and a glyph. */
import type { Family } from '../../shapes/families.ts';
import type { GlyphName } from './glyphs.ts';

export const FAMILY_ICONS: Readonly<Record<Family, GlyphName>> = {
  open: 'clock',
  good: 'tick',
  care: 'triangle',
  bad: 'cross',
  back: 'back',
  ended: 'dash',
};

const OF_DELIVERY: Readonly<Record<string, Family>> = {
  pending: 'open',
  retrying: 'care',
  delivered: 'good',
  dead: 'bad',
  rejected: 'bad',
};

export function familyOfDelivery(status: string): Family {
  return OF_DELIVERY[status] ?? 'ended';
}
