/** How many cases need somebody: causes, and protests together. */
import type { NowDocument } from '../../shapes/now.ts';

export function casesIn({ causes, others, protests }: NowDocument): number {
  return causes.length + others + (protests.n === 0 ? 0 : 1);
}
