/**
 * Deliveries that wait behind targets, in the embedded store. A delivery lies either in the due index or behind its
 * target; what is taken from there is in our hands, and due again for the next process that has the folder.
 */
import {
  type Backlog,
  FAR_MS,
  LOOK_MS,
  type PutBehind,
  type Target,
  targetId,
  type WaitingTarget,
} from '../../../engine/store/backlog.ts';
import { type ClaimOf, type Due, isOf } from '../../../engine/store/due.ts';
import type { Environment } from '../environment.ts';
import { endOf, keyOf, ordered } from '../projections/keys.ts';
import type { Projections, TargetRow } from '../projections/projections.ts';

type Taken = Awaited<ReturnType<Backlog['take']>>;

/** Looks that a clock which was ahead put off are due now; how many. */
export function rewindLooks(projections: Projections, now: number): number {
  let count = 0;
  for (const [id, row] of projections.targets) {
    if (row.look < now + FAR_MS) continue;
    projections.putTarget(id, { ...row, look: now });
    count += 1;
  }
  for (const [id, until] of projections.looked) if (until >= now + FAR_MS) projections.looked.delete(id);
  return count;
}

export class LmdbBacklog implements Backlog {
  readonly #environment: Environment;
  readonly #now: () => number;

  constructor(environment: Environment, now: () => number) {
    this.#environment = environment;
    this.#now = now;
  }

  async put(waits: readonly PutBehind[]): Promise<number[]> {
    const { projections } = this.#environment.opened;
    const counts = waits.map((wait) => this.#put(projections, wait));
    projections.changed();
    return counts;
  }

  #put(projections: Projections, { target, claims, lookAt }: PutBehind): number {
    const { schedule, backlog, targets } = projections;
    const id = targetId(target);
    const row: TargetRow = targets.get(id) ?? { ...target, look: lookAt, waiting: 0 };
    let { waiting } = row;
    for (const claim of claims) {
      const thing = schedule.letGo(claim);
      if (thing === null) continue;
      schedule.end(thing);
      const key = keyOf(id, ordered(claim.due.at), claim.due.delivery);
      if (backlog.get(key) !== null) continue;
      backlog.put(key, JSON.stringify(claim.due));
      waiting += 1;
    }
    projections.putTarget(id, { ...row, waiting });
    return waiting;
  }

  async claimLooks(now: number, limit: number): Promise<Target[]> {
    const { targets, looked } = this.#environment.opened.projections;
    const due = [...targets].filter(([id, { look }]) => Math.max(look, looked.get(id) ?? 0) <= now);
    const first = due.sort(([, a], [, b]) => a.look - b.look).slice(0, limit);
    for (const [id] of first) looked.set(id, now + LOOK_MS);
    return first.map(([, { account, url }]) => ({ account, url }));
  }

  async take(target: Target, now: number, limit: number): Promise<Taken> {
    const { projections } = this.#environment.opened;
    const { schedule, backlog, targets } = projections;
    const id = targetId(target);
    const row = targets.get(id);
    if (row === undefined) return { claims: [], left: 0 };
    const claims: ClaimOf<'delivery'>[] = [];
    const taken: string[] = [];
    for (const [key, text] of backlog.range(keyOf(id, ''), endOf(id))) {
      if (taken.length === limit) break;
      const due: Due = JSON.parse(text);
      const claim = schedule.addHeld(schedule.newId(), due, this.#now());
      if (isOf(claim, 'delivery')) claims.push(claim);
      taken.push(key);
    }
    for (const key of taken) backlog.remove(key);
    const left = row.waiting - taken.length;
    projections.putTarget(id, { ...row, waiting: left });
    projections.looked.set(id, now + LOOK_MS);
    projections.changed();
    return { claims, left };
  }

  async lookAgain(target: Target, at: number): Promise<void> {
    const { projections } = this.#environment.opened;
    const id = targetId(target);
    const row = projections.targets.get(id);
    projections.looked.delete(id);
    if (row === undefined) return;
    if (row.waiting > 0) projections.putTarget(id, { ...row, look: at });
    else projections.removeTarget(id);
    projections.changed();
  }

  async targets(after: string, limit: number): Promise<WaitingTarget[]> {
    const { targets } = this.#environment.opened.projections;
    return [...targets.keys()]
      .filter((id) => id > after)
      .sort()
      .slice(0, limit)
      .flatMap((id) => {
        const row = targets.get(id);
        return row === undefined ? [] : [{ id, account: row.account, url: row.url, waiting: row.waiting }];
      });
  }

  async total(): Promise<number> {
    let total = 0;
    for (const { waiting } of this.#environment.opened.projections.targets.values()) total += waiting;
    return total;
  }
}
