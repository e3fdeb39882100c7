/**
 * What is due, in memory. Owns the rows and who has them.
 *
 * 1. A row is in at most one hand; each claim has a token of its own, which dies with the claim.
 * 2. A row leaves by its token alone, so a due thing that was added meanwhile is never ended with it.
 * 3. A parked row is in no hand and can't be claimed.
 * 4. A claim that was let go comes free once its time is over; until then its token still ends it.
 */
import {
  broughtBackBy,
  type Claim,
  claimOn,
  type Due,
  type DueKind,
  isClaimed,
  putForward,
  type SetForward,
} from '../../../src/engine/store/due.ts';

interface Row {
  due: Due;
  /** The append that brought it; null: a settlement did. */
  source: string | null;
  /** `freeAt`: nobody has it in hand any more, and from then on it is free, ms; null: somebody has. */
  claim: { incarnation: string; token: string; freeAt: number | null } | null;
  parked: boolean;
  /** When it was made due, ms since 1970. */
  made: number;
}

/** Whose claims they are, and what becomes theirs at once: what is due by `until` (ms). */
export interface Claimant {
  incarnation: string;
  until: number;
}

/** The due index that the incarnations share. */
export class MemoryDue {
  readonly #rows = new Set<Row>();
  readonly #claimed = new Map<string, Row>();
  #tokens = 0;

  /** Adds what an append brought. */
  append(dues: readonly Due[], source: string, claimant: Claimant, made: number): Claim[] {
    const rows = dues.map((due): Row => ({ due, source, claim: null, parked: false, made }));
    for (const row of rows) this.#rows.add(row);
    return rows
      .filter((row) => isClaimed(row.due, claimant.until))
      .map((row) => this.#claimRow(row, claimant.incarnation));
  }

  /** Adds what a settlement made due. */
  add(due: Due, made: number): void {
    this.#rows.add({ due, source: null, claim: null, parked: false, made });
  }

  /** Adds what an incarnation has in hand already. */
  addClaimed(due: Due, incarnation: string): Claim {
    const row: Row = { due, source: null, claim: null, parked: false, made: due.at };
    this.#rows.add(row);
    return this.#claimRow(row, incarnation);
  }

  /** The claims that an incarnation still has from an append: the answer to the same append again. */
  heldFrom(source: string, incarnation: string): Claim[] {
    const claims: Claim[] = [];
    for (const { due, source: from, claim } of this.#rows) {
      if (from !== source || claim?.incarnation !== incarnation) continue;
      claim.freeAt = null;
      claims.push(claimOn(due, claim.token));
    }
    return claims;
  }

  /** Earliest first; rows of silent incarnations change hands. One's own claims are never given twice. */
  claim(kind: DueKind, now: number, limit: number, incarnation: string, silent: Set<string>): Claim[] {
    const free: Row[] = [];
    for (const row of this.#rows) {
      if (row.due.kind !== kind || row.parked) continue;
      const { claim } = row;
      // What was in a hand was due, whatever the clock says now.
      const isFree =
        claim === null
          ? row.due.at <= now
          : silent.has(claim.incarnation) || (claim.freeAt !== null && claim.freeAt <= now);
      if (isFree) free.push(row);
    }
    free.sort((a, b) => a.due.at - b.due.at);
    return free.slice(0, limit).map((row) => this.#claimRow(row, incarnation));
  }

  /** Whether a claim is one still. */
  holds(token: string): boolean {
    return this.#claimed.has(token);
  }

  /** Nobody has these in hand any more: they are free from `freeAt` (ms) on. */
  letGo(claims: readonly Claim[], freeAt: number): void {
    for (const { token } of claims) {
      const claim = this.#claimed.get(token)?.claim;
      if (claim) claim.freeAt = freeAt;
    }
  }

  /** How many things are due, now or later, in whose hands they may be. */
  get size(): number {
    return this.#rows.size;
  }

  /** Ends a claim and its row; false where the claim is no longer. */
  end(token: string): boolean {
    const row = this.#claimed.get(token);
    if (!row) return false;
    this.#release(row);
    this.#rows.delete(row);
    return true;
  }

  /** Parks a claimed row; a claim that is no longer changes nothing. */
  park(token: string): void {
    const row = this.#claimed.get(token);
    if (!row) return;
    this.#release(row);
    row.parked = true;
  }

  oldest(now: number): Partial<Record<DueKind, number>> {
    const oldest: Partial<Record<DueKind, number>> = {};
    for (const { due } of this.#rows)
      if (due.at <= now) oldest[due.kind] = Math.min(due.at, oldest[due.kind] ?? due.at);
    return oldest;
  }

  /** What was made due by a clock that was ahead is due as long from now. */
  rewind(now: number): number {
    for (const { claim } of this.#rows) if (claim?.freeAt) claim.freeAt = Math.min(claim.freeAt, now);
    const wrong = [...this.#rows].filter(({ made, claim }) => claim === null && made > now + 1_000);
    for (const row of wrong) {
      row.due = broughtBackBy(row.due, row.made - now);
      row.made = now;
    }
    return wrong.length;
  }

  /** What was brought back since then is put off by as much, up to its time of before. */
  unwind(forward: SetForward): number {
    let count = 0;
    for (const row of this.#rows) {
      if (row.claim !== null) continue;
      const after = putForward(row, forward);
      if (after === row) continue;
      Object.assign(row, after);
      count += 1;
    }
    return count;
  }

  /** Makes all that was parked due at `now`; how many. */
  unpark(now: number): number {
    let count = 0;
    for (const row of this.#rows) {
      if (!row.parked) continue;
      row.parked = false;
      row.due = { ...row.due, at: now };
      count += 1;
    }
    return count;
  }

  #claimRow(row: Row, incarnation: string): Claim {
    this.#release(row);
    this.#tokens += 1;
    const token = `${incarnation}#${this.#tokens}`;
    row.claim = { incarnation, token, freeAt: null };
    this.#claimed.set(token, row);
    return claimOn(row.due, token);
  }

  #release(row: Row): void {
    if (row.claim) this.#claimed.delete(row.claim.token);
    row.claim = null;
  }
}
