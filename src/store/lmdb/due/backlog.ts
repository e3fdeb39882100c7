/**
 * Deliveries that wait behind targets, in the embedded store.
 *
 * 1. A delivery lies either in the due index or behind its target: each change of place is one transaction.
 * 2. What is taken from behind a target lies in the due index as this incarnation's, so that it is found again.
 */

import {
  type Backlog,
  FAR_MS,
  LOOK_MS,
  type Target,
  targetId,
  type Wait,
  type WaitingTarget,
} from '../../../engine/store/backlog.ts';
import { type ClaimOf, type Due, isOf } from '../../../engine/store/due.ts';
import type { Environment } from '../environment.ts';
import { type BacklogKey, type DueRow, type Tables, transact } from '../tables.ts';
import type { DueRows } from './rows.ts';

interface TargetRow extends Target {
  /** When to look after it, ms. */
  look: number;
  waiting: number;
}

/** Behind all ids, which are hexadecimal. */
const TOTAL = 'total';

type Taken = Awaited<ReturnType<Backlog['take']>>;

/** Looks that a clock which was ahead put off are due now; how many. */
export function rewindLooks(environment: Environment, now: number): Promise<number> {
  return environment.transaction(({ looks, targets }) => {
    const wrong = [...looks.getKeys({ start: [now + FAR_MS, ''] })];
    for (const [look, id] of wrong) {
      const text = targets.get(id);
      void looks.remove([look, id]);
      if (text === undefined) continue;
      void looks.put([now, id], '');
      void targets.put(id, JSON.stringify({ ...(JSON.parse(text) as TargetRow), look: now }));
    }
    return wrong.length;
  });
}

export class LmdbBacklog implements Backlog {
  readonly #environment: Environment;
  readonly #tables: Tables;
  readonly #rows: DueRows;
  readonly #incarnation: string;

  constructor(environment: Environment, rows: DueRows, { incarnation }: { incarnation: string }) {
    this.#environment = environment;
    this.#tables = environment.tables;
    this.#rows = rows;
    this.#incarnation = incarnation;
  }

  async put(waits: readonly Wait[]): Promise<number[]> {
    this.#environment.fresh();
    const put = transact(this.#tables, () => {
      this.#rows.held.dropIfFenced();
      return waits.map((wait) => this.#put(wait));
    });
    return this.#environment.watch.bound(put);
  }

  #put({ target, claims, lookAt }: Wait): number {
    const { backlog, due } = this.#tables;
    const id = targetId(target);
    const row = this.#row(id) ?? this.#newRow(id, target, lookAt);
    let added = 0;
    for (const claim of claims) {
      const gone = this.#rows.held.letGo(claim);
      if (gone === false) continue;
      if (gone !== true) void due.remove(gone);
      const key: BacklogKey = [id, claim.due.at, claim.due.delivery];
      if (backlog.doesExist(key)) continue;
      void backlog.put(key, JSON.stringify(claim.due));
      added += 1;
    }
    return this.#count(id, row, added);
  }

  #row(id: string): TargetRow | null {
    const text = this.#tables.targets.get(id);
    return text === undefined ? null : JSON.parse(text);
  }

  #newRow(id: string, { account, url }: Target, look: number): TargetRow {
    void this.#tables.looks.put([look, id], '');
    return { account, url, look, waiting: 0 };
  }

  /** Counts what came or went; how many lie there then. */
  #count(id: string, row: TargetRow, added: number): number {
    const { targets } = this.#tables;
    const waiting = row.waiting + added;
    void targets.put(id, JSON.stringify({ ...row, waiting } satisfies TargetRow));
    void targets.put(TOTAL, String(this.#total() + added));
    return waiting;
  }

  #total(): number {
    return Number(this.#tables.targets.get(TOTAL) ?? 0);
  }

  #setLook(id: string, row: TargetRow, look: number): TargetRow {
    const { looks } = this.#tables;
    void looks.remove([row.look, id]);
    void looks.put([look, id], '');
    return { ...row, look };
  }

  async claimLooks(now: number, limit: number): Promise<Target[]> {
    const { looks, targets } = this.#environment.fresh();
    const range = { end: [now + 1, ''] as [number, string], limit };
    // Most calls find nothing, and that must not cost a write.
    if ([...looks.getKeys({ ...range, limit: 1 })].length === 0) return [];
    const claimed = transact(this.#tables, () =>
      [...looks.getKeys(range)].flatMap(([, id]) => {
        const row = this.#row(id);
        if (row === null) return [];
        const { account, url } = row;
        void targets.put(id, JSON.stringify(this.#setLook(id, row, now + LOOK_MS)));
        return [{ account, url }];
      }),
    );
    return this.#environment.watch.bound(claimed);
  }

  async take(target: Target, now: number, limit: number): Promise<Taken> {
    this.#environment.fresh();
    const taken = transact(this.#tables, () => this.#take(targetId(target), now, limit));
    // Claims whose caller was told that it took too long are free again.
    return this.#environment.watch.bound(taken, ({ claims }) => {
      for (const claim of claims) this.#rows.held.letGo(claim);
    });
  }

  #take(id: string, now: number, limit: number): Taken {
    const { backlog, due } = this.#tables;
    const row = this.#row(id);
    if (row === null) return { claims: [], left: 0 };
    const items: Due[] = [];
    for (const { key, value } of [...backlog.getRange({ ...rangeOf(id), limit })]) {
      items.push(JSON.parse(value));
      void backlog.remove(key);
    }
    const left = this.#count(id, this.#setLook(id, row, now + LOOK_MS), -items.length);
    if (items.length === 0) return { claims: [], left };
    const key = this.#rows.newKey('delivery', Math.max(...items.map(({ at }) => at)));
    void due.put(key, JSON.stringify({ owner: this.#incarnation, items } satisfies DueRow));
    const claims = items.map((item, index) => this.#rows.held.hold(key, index, item));
    return { claims: claims.filter((claim): claim is ClaimOf<'delivery'> => isOf(claim, 'delivery')), left };
  }

  async lookAgain(target: Target, at: number): Promise<void> {
    const { backlog, looks, targets } = this.#environment.fresh();
    const id = targetId(target);
    const done = transact(this.#tables, () => {
      const row = this.#row(id);
      if (row === null) return;
      if ([...backlog.getKeys({ ...rangeOf(id), limit: 1 })].length > 0) {
        void targets.put(id, JSON.stringify(this.#setLook(id, row, at)));
        return;
      }
      void looks.remove([row.look, id]);
      void targets.remove(id);
    });
    await this.#environment.watch.bound(done);
  }

  async targets(after: string, limit: number): Promise<WaitingTarget[]> {
    const { targets } = this.#environment.fresh();
    const found: WaitingTarget[] = [];
    for (const { key: id, value } of targets.getRange({ start: after, end: TOTAL })) {
      if (id === after) continue;
      const { account, url, waiting }: TargetRow = JSON.parse(value);
      found.push({ id, account, url, waiting });
      if (found.length === limit) break;
    }
    return found;
  }

  async total(): Promise<number> {
    this.#environment.fresh();
    return this.#total();
  }
}

/** All that lies behind a target. */
function rangeOf(id: string): { start: BacklogKey; end: BacklogKey } {
  return { start: [id, 0, ''], end: [id, Number.MAX_SAFE_INTEGER, ''] };
}
