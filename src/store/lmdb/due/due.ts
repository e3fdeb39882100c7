/**
 * The due index of the embedded store. One process has the folder: its claims are kept by nobody's heartbeat, and what it
 * had in hand when it ended is due again for the next one.
 *
 * What a journal or a delivery's record doesn't tell by itself is a fact of the log: orders to the bank that were
 * carried out, progress of deliveries and what is due next for both. When a thing was put off to is in its row alone:
 * who finds it after a crash may be early, and asks again.
 */

import { countedTogether } from '../../../engine/attention/counted.ts';
import {
  type Claim,
  type ClaimOf,
  type Due,
  type DueKind,
  isOf,
  type SetForward,
} from '../../../engine/store/due.ts';
import type { DueIndex, Settlement } from '../../../engine/store.ts';
import type { Environment } from '../environment.ts';
import type { Fact } from '../log/rows.ts';
import { applyFacts } from '../projections/apply.ts';
import { ALL } from '../projections/keys.ts';
import { rewindLooks } from './backlog.ts';
import { rewindSchedule, unwindSchedule } from './rewind.ts';
import { settled, settlingIn } from './settling.ts';

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
    const written = this.#environment.write(
      (group) => {
        const { projections } = this.#environment;
        const each = settlements.map((settlement) => settlingIn(group, projections, settlement, this.#now()));
        const counting = settlements.filter((_, index) => each[index] !== null);
        const items = counting.map(({ counted }) => counted).filter((item) => item !== undefined);
        const facts = countedTogether(items).map((item): Fact => ({ kind: 'counted', item }));
        return { each, facts, place: group.facts(facts) };
      },
      ({ each, facts, place: end }) => {
        const outcomes = each.map((settling) => {
          if (settling !== null) settled(this.#environment.projections, settling);
          return settling !== null;
        });
        applyFacts(this.#environment.projections, facts, end);
        return outcomes;
      },
      // No caller waits for an end, and what is told again after a crash does nothing.
      true,
    );
    return this.#environment.watch.bound(written);
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
    await this.#written(count);
    return count;
  }

  async unwind(forward: SetForward): Promise<number> {
    const count = await unwindSchedule(this.#environment.opened.projections, forward);
    await this.#written(count);
    return count;
  }

  /** The log doesn't tell of it: who puts down that it was done finds it done after a crash. */
  async #written(count: number): Promise<void> {
    if (count > 0) await this.#environment.opened.projections.write();
  }

  async tidy(_now: number): Promise<void> {
    // All that is kept only to find things goes with them.
    this.#environment.expectOpen();
  }
}
