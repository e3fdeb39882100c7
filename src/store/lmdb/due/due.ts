/**
 * The due index of the embedded store, and this incarnation's claims on it. A row belongs to one incarnation at a
 * time; rows of incarnations that fell silent are taken over, and the silent one is fenced: what it still settles
 * is turned down.
 */

import { type Claim, type ClaimOf, type Due, type DueKind, isOf } from '../../../engine/store/due.ts';
import type { DueIndex, Settlement } from '../../../engine/store.ts';
import { putAnew } from '../attention.ts';
import type { Environment } from '../environment.ts';
import { type DueKey, type DueRow, type Tables, transact } from '../tables.ts';
import type { Waits } from '../waits.ts';
import type { WriteGroup } from '../write-queue.ts';
import { rewindLooks } from './backlog.ts';
import { FENCED, type HeldRows } from './held-rows.ts';
import type { DueRows } from './rows.ts';

export interface LmdbDueOptions {
  incarnation: string;
  now(): number;
  silentAfterMs: number;
}

const KINDS: readonly DueKind[] = ['bank', 'timer', 'delivery'];
/** A clock that was set back by less is let be. */
const SET_MS = 1_000;
const REWIND_PAGE = 500;

/** No order to the bank lies so far ahead. */
const FAR_MS = 120_000;

/** By how many ms the clock was ahead by which a row was made. */
function aheadBy([kind, at]: DueKey, { made = 0 }: DueRow, now: number): number {
  if (made > now + SET_MS) return made - now;
  return kind === 'bank' && at > now + FAR_MS ? at - now : 0;
}

/** A due thing that was made when the clock was wrong, by the right one. */
function earlier(due: Due, ms: number): Due {
  return { ...due, at: due.at - ms, ahead: (due.ahead ?? 0) + ms };
}

export class LmdbDue implements DueIndex {
  readonly #environment: Environment;
  readonly #tables: Tables;
  readonly #rows: DueRows;
  readonly #held: HeldRows;
  readonly #waits: Waits;
  readonly #options: LmdbDueOptions;

  constructor(environment: Environment, rows: DueRows, waits: Waits, options: LmdbDueOptions) {
    this.#environment = environment;
    this.#tables = environment.tables;
    this.#rows = rows;
    this.#held = rows.held;
    this.#waits = waits;
    this.#options = options;
  }

  async beat(now: number): Promise<void> {
    const { beats } = this.#environment.fresh();
    const beaten = transact(this.#tables, () => {
      this.#held.dropIfFenced();
      void beats.put(this.#options.incarnation, now);
    });
    await this.#environment.watch.bound(beaten);
  }

  #isSilent(incarnation: string): boolean {
    const beat = this.#tables.beats.get(incarnation);
    return beat === undefined || beat < this.#options.now() - this.#options.silentAfterMs;
  }

  #isFree(key: DueKey, value: string): boolean {
    // A row of ours that we don't hold was ours before we were fenced.
    if (this.#held.has(key)) return false;
    const { owner }: DueRow = JSON.parse(value);
    return owner === null || owner === this.#options.incarnation || this.#isSilent(owner);
  }

  #hasFree(rows: Iterable<{ key: DueKey; value: string }>): boolean {
    for (const { key, value } of rows) if (this.#isFree(key, value)) return true;
    return false;
  }

  /** The first free rows that hold as much as is wanted; what lies behind them isn't read. */
  #freeRows(rows: Iterable<{ key: DueKey; value: string }>, limit: number): { key: DueKey; row: DueRow }[] {
    const free: { key: DueKey; row: DueRow }[] = [];
    let items = 0;
    for (const { key, value } of rows) {
      if (!this.#isFree(key, value)) continue;
      const row: DueRow = JSON.parse(value);
      free.push({ key, row });
      items += row.items.length;
      if (items >= limit) break;
    }
    return free;
  }

  async claim<Kind extends DueKind>(kind: Kind, now: number, limit: number): Promise<ClaimOf<Kind>[]> {
    this.#environment.fresh();
    // Claims whose caller was told that it took too long are free again.
    const claimed = await this.#environment.watch.bound(this.#claim(kind, now, limit), (claims) => {
      for (const claim of claims) this.#held.letGo(claim);
    });
    return claimed.filter((claim) => isOf(claim, kind));
  }

  /** A row that holds more than the limit is split. */
  async #claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    const { due, beats } = this.#tables;
    const range = { start: [kind, 0, ''] as DueKey, end: [kind, now + 1, ''] as DueKey };
    // Most ticks find nothing, and that must not cost a write.
    if (!this.#hasFree(due.getRange(range))) return [];
    return transact(this.#tables, () => {
      const claims: Claim[] = [];
      for (const { key, row } of this.#freeRows(due.getRange(range), limit)) {
        if (claims.length >= limit) break;
        if (row.owner !== null && row.owner !== this.#options.incarnation) void beats.put(row.owner, FENCED);
        const items = row.items.filter((item) => item !== null);
        const rest = items.splice(limit - claims.length);
        if (rest.length > 0) this.#putFree(this.#rows.newKey(kind, key[1]), rest, row.made);
        void due.put(
          key,
          JSON.stringify({ ...row, owner: this.#options.incarnation, items } satisfies DueRow),
        );
        claims.push(...items.map((item, index) => this.#held.hold(key, index, item)));
      }
      return claims;
    });
  }

  #putFree(key: DueKey, items: (Due | null)[], made = this.#options.now()): void {
    void this.#tables.due.put(key, JSON.stringify({ owner: null, items, made } satisfies DueRow));
  }

  async holds(claims: readonly Claim[]): Promise<boolean[]> {
    this.#environment.fresh();
    return claims.map((claim) => this.#held.holds(claim));
  }

  settle(settlements: Settlement[]): Promise<boolean[]> {
    const { queue, watch } = this.#environment;
    const settled = new Promise<boolean[]>((resolve, reject) => {
      let results: boolean[] = [];
      queue.add({
        issue: (group) => {
          results = settlements.map((settlement) => this.#settle(settlement, group));
        },
        done: () => resolve(results),
        reject,
      });
    });
    return watch.bound(settled);
  }

  #settle({ claim, next, record, attention, clock = 0 }: Settlement, group: WriteGroup): boolean {
    if (claim !== null && !this.#rows.release(claim)) return false;
    if (next !== null) this.#rows.issue([next], 0, clock);
    if (record !== undefined) {
      const key: [string, string] = [record.transaction, record.id];
      group.promises.push(this.#tables.deliveries.put(key, JSON.stringify(record)));
    }
    // An item that happens again is news again, also where somebody was done with it.
    if (attention !== undefined) group.promises.push(...putAnew(this.#tables, attention));
    return true;
  }

  async park(claims: Claim[]): Promise<void> {
    const { due, parked } = this.#environment.fresh();
    const done = transact(this.#tables, () => {
      this.#held.dropIfFenced();
      for (const claim of claims) {
        const gone = this.#held.letGo(claim);
        if (gone !== false) void parked.put(claim.token, JSON.stringify(claim.due));
        if (typeof gone !== 'boolean') void due.remove(gone);
      }
    });
    await this.#environment.watch.bound(done);
  }

  async unpark(now: number): Promise<number> {
    this.#environment.fresh();
    return this.#environment.watch.bound(this.#unpark(now));
  }

  async #unpark(now: number): Promise<number> {
    const { parked } = this.#tables;
    if (parked.getKeysCount({ limit: 1 }) === 0) return 0;
    return transact(this.#tables, () => {
      const rows = [...parked.getRange()];
      for (const { key, value } of rows) {
        const item: Due = JSON.parse(value);
        this.#putFree(this.#rows.newKey(item.kind, now), [item]);
        void parked.remove(key);
      }
      return rows.length;
    });
  }

  async oldest(now: number): Promise<Partial<Record<DueKind, number>>> {
    const { due } = this.#environment.fresh();
    const oldest: Partial<Record<DueKind, number>> = {};
    for (const kind of KINDS) {
      const range = { start: [kind, 0, ''] as DueKey, end: [kind, now, ''] as DueKey, limit: 1 };
      for (const [, at] of due.getKeys(range)) oldest[kind] = at;
    }
    return oldest;
  }

  async rewind(now: number): Promise<number> {
    let count = await rewindLooks(this.#environment, now);
    for (const kind of KINDS) {
      let from: DueKey = [kind, now + SET_MS, ''];
      for (;;) {
        const page = [...this.#environment.fresh().due.getRange({ start: from, limit: REWIND_PAGE })].filter(
          ({ key }) => key[0] === kind,
        );
        const wrong = page.flatMap(({ key, value }) => {
          const ms = aheadBy(key, JSON.parse(value), now);
          return ms > 0 ? [{ key, ms }] : [];
        });
        if (wrong.length > 0) count += await this.#rewindRows(wrong, now);
        const last = page.at(-1)?.key;
        if (page.length < REWIND_PAGE || last === undefined) break;
        from = [kind, last[1], `${last[2]}\0`];
        await new Promise(setImmediate);
      }
    }
    return count;
  }

  /** Puts rows that nobody has in hand as far ahead of now as they were of the time when they were made. */
  #rewindRows(rows: readonly { key: DueKey; ms: number }[], now: number): Promise<number> {
    return this.#environment.transaction(({ due }) => {
      let count = 0;
      for (const { key, ms } of rows) {
        const value = this.#held.has(key) ? undefined : due.get(key);
        if (value === undefined) continue;
        const { items }: DueRow = JSON.parse(value);
        const back = items.map((item) => (item === null ? null : earlier(item, ms)));
        void due.remove(key);
        this.#putFree(this.#rows.newKey(key[0] as DueKind, key[1] - ms), back, now);
        count += items.length;
      }
      return count;
    });
  }

  async tidy(now: number): Promise<void> {
    this.#environment.fresh();
    await this.#environment.watch.bound(this.#waits.tidy(now));
  }
}
