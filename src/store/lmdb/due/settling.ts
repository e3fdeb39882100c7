/** Ends of claims, with what the log is told of them: by themselves, or with the batch which they brought. */
import { type DeliveryRecord, hasFailed } from '../../../engine/store/deliveries.ts';
import type { Claim, Due } from '../../../engine/store/due.ts';
import type { Append, Settlement } from '../../../engine/store.ts';
import type { FactsPlace, LogGroup } from '../log/group.ts';
import type { Fact } from '../log/rows.ts';
import { applyFact } from '../projections/apply.ts';
import type { Projections } from '../projections/projections.ts';
import type { Thing } from './rows.ts';

/** A settlement whose claim counted, with what it has to say to the log. */
export interface Settling {
  thing: Thing | null;
  /** Due again, where the log isn't told. */
  next: Due | null;
  made: number;
  facts: Fact[];
  place: FactsPlace;
}

/** A delivery's progress. What fails is found by its URL, which the claim mostly knows. */
function progressOf(record: DeliveryRecord, thing: Thing | null): Fact {
  const due = thing?.due;
  const url = due?.kind === 'delivery' && due.delivery === record.id ? due.url : undefined;
  const text = JSON.stringify(record);
  return url !== undefined && hasFailed(record)
    ? { kind: 'delivery', record, text, url }
    : { kind: 'delivery', record, text };
}

function factsOf(settlement: Settlement, thing: Thing | null, made: number): Fact[] {
  const { next, record, attention, withdrawn } = settlement;
  const facts: Fact[] = [];
  if (thing?.due.kind === 'bank') facts.push({ kind: 'ended', at: thing.due.at, id: thing.id });
  if (record !== undefined) facts.push(progressOf(record, thing));
  if (next !== null && isTold(settlement)) facts.push({ kind: 'due', due: next, made });
  if (withdrawn !== undefined) facts.push({ kind: 'withdrawn', key: withdrawn });
  if (attention !== undefined) facts.push({ kind: 'noted', item: attention, anew: true });
  return facts;
}

/** Whether the log is told what is due next. */
function isTold({ claim, next, record }: Settlement): boolean {
  return claim === null || record !== undefined || next?.kind === 'bank';
}

/** Lets go of the claim and puts what the log is told into the group; null where the claim isn't ours. */
export function settlingIn(
  group: LogGroup,
  { schedule }: Projections,
  settlement: Settlement,
  now: number,
): Settling | null {
  const { claim, next, clock = 0 } = settlement;
  const thing = claim === null ? null : schedule.letGo(claim);
  if (claim !== null && thing === null) return null;
  // The clock may have been set back between the decision and this.
  const made = Math.max(now, clock);
  const facts = factsOf(settlement, thing, made);
  return { thing, next: isTold(settlement) ? null : next, made, facts, place: group.facts(facts) };
}

/** What a settlement leaves, once it is durable. */
export function settled(projections: Projections, { thing, next, made, facts, place }: Settling): void {
  const { schedule } = projections;
  if (thing !== null) schedule.end(thing);
  // An order that has ended mostly never lay in a row of its own, and its end has been seen to.
  for (const [index, fact] of facts.entries())
    if (fact.kind !== 'ended') applyFact(projections, fact, place.number, place.from + index);
  if (next !== null) schedule.add(schedule.newId(), next, made);
}

/** A claim that ends with a batch. */
export interface Ending {
  claim: Claim;
  settling: Settling;
}

/** Settles with a batch, with nothing due instead, what is still claimed of its `ends`. */
export function endingsIn(
  group: LogGroup,
  projections: Projections,
  { ends = [] }: Append,
  now: number,
): Ending[] {
  return ends.flatMap((claim) => {
    const settling = settlingIn(group, projections, { claim, next: null }, now);
    return settling === null ? [] : [{ claim, settling }];
  });
}
