/**
 * The due index of the embedded store. One process has the folder: its claims are kept by nobody's heartbeat, and what it
 * had in hand when it ended is due again for the next one.
 *
 * What a journal or a delivery's record doesn't tell by itself is a fact of the log: orders to the bank that were
 * carried out, progress of deliveries and what is due next for both. When a thing was put off to is in its row alone:
 * who finds it after a crash may be early, and asks again.
 */

import { countedTogether } from '../../../engine/attention/counted.ts';
import { type DeliveryRecord, hasFailed } from '../../../engine/store/deliveries.ts';
import { type Claim, type ClaimOf, type Due, type DueKind, isOf } from '../../../engine/store/due.ts';
import type { DueIndex, Settlement } from '../../../engine/store.ts';
import type { Environment } from '../environment.ts';
import type { FactsPlace } from '../log/group.ts';
import type { Fact } from '../log/rows.ts';
import { applyFacts } from '../projections/apply.ts';
import { ALL } from '../projections/keys.ts';
import { rewindLooks } from './backlog.ts';
import { rewindSchedule } from './rewind.ts';
import type { Thing } from './rows.ts';

/** A settlement whose claim counted, with what it has to say to the log. */
interface Settling {
  thing: Thing | null;
  /** Due again, where the log isn't told. */
  next: Due | null;
  made: number;
  facts: Fact[];
}

/** A delivery's progress. What fails is found by its URL, which the claim mostly knows. */
function progressOf(record: DeliveryRecord, thing: Thing | null): Fact {
  const due = thing?.due;
  const url = due?.kind === 'delivery' && due.delivery === record.id ? due.url : undefined;
  return url !== undefined && hasFailed(record)
    ? { kind: 'delivery', record, url }
    : { kind: 'delivery', record };
}

function factsOf(settlement: Settlement, thing: Thing | null, made: number): Fact[] {
  const { next, record, attention } = settlement;
  const facts: Fact[] = [];
  if (thing?.due.kind === 'bank') facts.push({ kind: 'ended', at: thing.due.at, id: thing.id });
  if (record !== undefined) facts.push(progressOf(record, thing));
  if (next !== null && isTold(settlement)) facts.push({ kind: 'due', due: next, made });
  if (attention !== undefined) facts.push({ kind: 'noted', item: attention, anew: true });
  return facts;
}

/** Whether the log is told what is due next. */
function isTold({ claim, next, record }: Settlement): boolean {
  return claim === null || record !== undefined || next?.kind === 'bank';
}

export class LmdbDue implements DueIndex {
  readonly #environment: Environment;
  readonly #now: () => number;

  constructor(environment: Environment, now: () => number) {
    this.#environment = environment;
    this.#now = now;
  }

  async beat(now: number): Promise<void> {
    // Nobody takes over what a process that has the folder holds: this tells whether the disk still takes writes.
    await this.#environment.beat(now);
  }

  async claim<Kind extends DueKind>(kind: Kind, now: number, limit: number): Promise<ClaimOf<Kind>[]> {
    const claims = this.#environment.opened.projections.schedule.claim(kind, now, limit);
    return claims.filter((claim) => isOf(claim, kind));
  }

  async holds(claims: readonly Claim[]): Promise<boolean[]> {
    const { schedule } = this.#environment.opened.projections;
    return claims.map((claim) => schedule.holds(claim));
  }

  async settle(settlements: Settlement[]): Promise<boolean[]> {
    const settled = this.#environment.write(
      (group) => {
        const each = settlements.map((settlement) => {
          const settling = this.#settling(settlement);
          return { settling, place: group.facts(settling?.facts ?? []) };
        });
        const counting = settlements.filter((_, index) => each[index]?.settling !== null);
        const items = counting.map(({ counted }) => counted).filter((item) => item !== undefined);
        const facts = countedTogether(items).map((item): Fact => ({ kind: 'counted', item }));
        return { each, facts, place: group.facts(facts) };
      },
      ({ each, facts, place: end }) => {
        const outcomes = each.map(({ settling, place }) => {
          if (settling !== null) this.#settled(settling, place);
          return settling !== null;
        });
        applyFacts(this.#environment.projections, facts, end);
        return outcomes;
      },
      // No caller waits for an end, and what is told again after a crash does nothing.
      true,
    );
    return this.#environment.watch.bound(settled);
  }

  /** Null where the claim isn't ours. */
  #settling(settlement: Settlement): Settling | null {
    const { claim, next, clock = 0 } = settlement;
    const thing = claim === null ? null : this.#environment.projections.schedule.letGo(claim);
    if (claim !== null && thing === null) return null;
    // The clock may have been set back between the decision and this.
    const made = Math.max(this.#now(), clock);
    const facts = factsOf(settlement, thing, made);
    return { thing, next: isTold(settlement) ? null : next, made, facts };
  }

  #settled({ thing, next, made, facts }: Settling, place: FactsPlace): void {
    const { projections } = this.#environment;
    const { schedule } = projections;
    if (thing !== null) schedule.end(thing);
    applyFacts(projections, facts, place);
    if (next !== null) schedule.add(schedule.newId(), next, made);
  }

  async park(claims: Claim[]): Promise<void> {
    const { schedule, parked } = this.#environment.opened.projections;
    for (const claim of claims) {
      const thing = schedule.letGo(claim);
      if (thing === null) continue;
      schedule.end(thing);
      parked.put(thing.id, JSON.stringify(thing.due));
    }
    this.#environment.projections.changed();
  }

  async unpark(now: number): Promise<number> {
    const { schedule, parked } = this.#environment.opened.projections;
    const rows = [...parked.range(...ALL)];
    for (const [id, text] of rows) {
      const due: Due = JSON.parse(text);
      schedule.add(id, { ...due, at: Math.min(due.at, now) }, now);
      parked.remove(id);
    }
    if (rows.length > 0) this.#environment.projections.changed();
    return rows.length;
  }

  async oldest(now: number): Promise<Partial<Record<DueKind, number>>> {
    return this.#environment.opened.projections.schedule.oldest(now);
  }

  async rewind(now: number): Promise<number> {
    const { projections } = this.#environment.opened;
    const count =
      rewindLooks(projections, now) + (await rewindSchedule(projections, () => Math.max(now, this.#now())));
    if (count > 0) projections.changed();
    return count;
  }

  async tidy(_now: number): Promise<void> {
    // All that is kept only to find things goes with them.
    this.#environment.expectOpen();
  }
}
