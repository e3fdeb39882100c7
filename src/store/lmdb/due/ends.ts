/** Ends of claims on the bank's orders that are written with the batch which they brought. */
import type { ClaimOf } from '../../../engine/store/due.ts';
import type { FactsPlace, LogGroup } from '../log/group.ts';
import type { Fact } from '../log/rows.ts';
import { applyFacts } from '../projections/apply.ts';
import type { Projections } from '../projections/projections.ts';
import type { Thing } from './rows.ts';

/** What ends, and the place of its facts in the log. */
export interface Ends {
  claims: ClaimOf<'bank'>[];
  things: Thing[];
  facts: Fact[];
  place: FactsPlace;
}

/** Lets go of what is still claimed by these, and tells the log; null where nothing is. */
export function endIn(
  group: LogGroup,
  { schedule }: Projections,
  claims: readonly ClaimOf<'bank'>[] = [],
): Ends | null {
  const own: ClaimOf<'bank'>[] = [];
  const things: Thing[] = [];
  for (const claim of claims) {
    const thing = schedule.letGo(claim);
    if (thing === null) continue;
    own.push(claim);
    things.push(thing);
  }
  if (things.length === 0) return null;
  const facts = things.map(({ due, id }): Fact => ({ kind: 'ended', at: due.at, id }));
  return { claims: own, things, facts, place: group.facts(facts) };
}

/** Ends them, once that is durable; gives their claims. */
export function ended(projections: Projections, { claims, things, facts, place }: Ends): ClaimOf<'bank'>[] {
  for (const thing of things) projections.schedule.end(thing);
  applyFacts(projections, facts, place);
  return claims;
}
