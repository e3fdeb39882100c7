/**
 * Owns the due index of the embedded store and this incarnation's claims on it.
 *
 * 1. A row belongs to one incarnation at a time; rows of incarnations that fell silent are taken over, and the
 *    silent one is marked, so that whatever it still settles is turned down.
 * 2. A row's key is never earlier than what lies in it: nothing is claimed before its time.
 * 3. A row goes once all that lies in it is settled.
 */
import type { Claim, Due, DueKind } from '../../engine/store.ts';
import type { DueKey, DueRow, Tables } from './tables.ts';
import type { WriteGroup } from './write-queue.ts';

/** Things due within the same so many ms share a row, due at the end of that time. */
const BUCKET_MS = 8;
const FENCED = -1;

export interface LmdbDueOptions {
  incarnation: string;
  now(): number;
  silentAfterMs: number;
}

/** A row that the present group makes. */
interface NewRow {
  key: DueKey;
  row: DueRow;
}

interface Place {
  target: NewRow;
  index: number;
}

/** What `issue` put where, and what of it is claimed. */
export interface Issued {
  claims: Claim[];
  places: Place[];
}

export class LmdbDue {
  readonly #tables: Tables;
  readonly #options: LmdbDueOptions;
  /** Rows in hand: what of each is not settled yet. */
  readonly #held = new Map<string, { key: DueKey; left: Set<number>; claim: number }>();
  #group: WriteGroup | null = null;
  #newRows = new Map<string, NewRow>();
  #rows = 0;
  #claims = 0;

  constructor(tables: Tables, options: LmdbDueOptions) {
    this.#tables = tables;
    this.#options = options;
  }

  startGroup(group: WriteGroup): void {
    this.#group = group;
    this.#newRows = new Map();
    const rows = this.#newRows;
    const fence = this.#tables.beats.get(this.#options.incarnation);
    if (fence === FENCED) this.#held.clear();
    group.last.push(() => {
      for (const { key, row } of rows.values())
        group.promises.push(this.#tables.due.put(key, JSON.stringify(row)));
    });
  }

  /** A write that reads first. */
  #transaction<Result>(body: () => Result): Promise<Result> {
    const { gate, root } = this.#tables;
    return gate.write(() => root.transaction(body));
  }

  #newKey(kind: DueKind, at: number): DueKey {
    this.#rows += 1;
    return [kind, at, `${this.#options.incarnation}.${this.#rows.toString(36)}`];
  }

  /** Puts things into the present group's rows; those due by `claimUntil` are claimed at once. */
  issue(due: readonly Due[], claimUntil: number): Issued {
    const claims: Claim[] = [];
    const places: Place[] = [];
    for (const item of due) {
      const own = item.at <= claimUntil;
      const at = Math.ceil(item.at / BUCKET_MS) * BUCKET_MS;
      const name = `${item.kind}${own ? '!' : '?'}${at}`;
      let target = this.#newRows.get(name);
      if (target === undefined) {
        target = {
          key: this.#newKey(item.kind, at),
          row: { owner: own ? this.#options.incarnation : null, items: [] },
        };
        this.#newRows.set(name, target);
      }
      const index = target.row.items.push(item) - 1;
      places.push({ target, index });
      if (own) claims.push(this.#hold(target.key, index, item));
    }
    return { claims, places };
  }

  #hold(key: DueKey, index: number, due: Due): Claim {
    const id = key.join('|');
    let held = this.#held.get(id);
    if (held === undefined) {
      this.#claims += 1;
      held = { key, left: new Set(), claim: this.#claims };
      this.#held.set(id, held);
    }
    held.left.add(index);
    return { due, token: `${id}#${index}#${held.claim}` };
  }

  /** Lets go of a claim; the row's key once nothing of it is left, `false` where the claim isn't ours any more. */
  #letGo({ token }: Claim): DueKey | boolean {
    const [id = '', index, claim] = token.split('#');
    const held = this.#held.get(id);
    if (held === undefined || held.claim !== Number(claim) || !held.left.delete(Number(index))) return false;
    if (held.left.size > 0) return true;
    this.#held.delete(id);
    return held.key;
  }

  /** Ends a claim within the present group; false where it isn't ours any more. */
  release(claim: Claim): boolean {
    const gone = this.#letGo(claim);
    if (typeof gone !== 'boolean') this.#group?.promises.push(this.#tables.due.remove(gone));
    return gone !== false;
  }

  /** Takes out again what a stale append put into its group's rows. */
  async retract({ claims, places }: Issued): Promise<void> {
    for (const claim of claims) this.#letGo(claim);
    const rows = new Set(places.map(({ target }) => target));
    // The places stay, so that other claims on a row keep theirs.
    for (const { target, index } of places) target.row.items[index] = null;
    const { due, gate } = this.#tables;
    const write = ({ key, row }: NewRow): Promise<boolean> =>
      row.items.every((item) => item === null) ? due.remove(key) : due.put(key, JSON.stringify(row));
    await gate.write(() => Promise.all([...rows].map(write)));
  }

  async beat(now: number): Promise<void> {
    const { beats } = this.#tables;
    await this.#transaction(() => {
      if (beats.get(this.#options.incarnation) === FENCED) this.#held.clear();
      void beats.put(this.#options.incarnation, now);
    });
  }

  #isSilent(incarnation: string): boolean {
    const beat = this.#tables.beats.get(incarnation);
    return beat === undefined || beat < this.#options.now() - this.#options.silentAfterMs;
  }

  #isFree(key: DueKey, value: string): boolean {
    // A row of ours that we don't hold was ours before we were fenced.
    if (this.#held.has(key.join('|'))) return false;
    const { owner } = JSON.parse(value) as DueRow;
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

  /** Claims what is due, earliest first. A row that holds more than the limit is split. */
  async claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    const { due, beats } = this.#tables;
    const range = { start: [kind, 0, ''] as DueKey, end: [kind, now + 1, ''] as DueKey };
    // Most ticks find nothing, and that must not cost a write.
    if (!this.#hasFree(due.getRange(range))) return [];
    return this.#transaction(() => {
      const claims: Claim[] = [];
      for (const { key, row } of this.#freeRows(due.getRange(range), limit)) {
        if (claims.length >= limit) break;
        if (row.owner !== null && row.owner !== this.#options.incarnation) void beats.put(row.owner, FENCED);
        const items = row.items.filter((item) => item !== null);
        const rest = items.splice(limit - claims.length);
        if (rest.length > 0)
          void due.put(this.#newKey(kind, key[1]), JSON.stringify({ owner: null, items: rest }));
        void due.put(key, JSON.stringify({ owner: this.#options.incarnation, items }));
        claims.push(...items.map((item, index) => this.#hold(key, index, item)));
      }
      return claims;
    });
  }

  /** Claims that nobody got: what they are of is free again. */
  drop(claims: readonly Claim[]): void {
    for (const claim of claims) this.#letGo(claim);
  }

  async park(claims: readonly Claim[]): Promise<void> {
    const { beats, due, parked } = this.#tables;
    await this.#transaction(() => {
      if (beats.get(this.#options.incarnation) === FENCED) this.#held.clear();
      for (const claim of claims) {
        const gone = this.#letGo(claim);
        if (gone !== false) void parked.put(claim.token, JSON.stringify(claim.due));
        if (typeof gone !== 'boolean') void due.remove(gone);
      }
    });
  }

  unpark(now: number): Promise<number> {
    const { due, parked } = this.#tables;
    if (parked.getKeysCount({ limit: 1 }) === 0) return Promise.resolve(0);
    return this.#transaction(() => {
      const rows = [...parked.getRange()];
      for (const { key, value } of rows) {
        const item = JSON.parse(value) as Due;
        void due.put(this.#newKey(item.kind, now), JSON.stringify({ owner: null, items: [item] }));
        void parked.remove(key);
      }
      return rows.length;
    });
  }
}
