/**
 * Owns this process's claims on what is due: each is a lease, which ends by itself unless it is renewed.
 *
 * 1. What is held is what was handed out and neither settled nor parked. A claim that can't be ended is let go: it
 *    runs out, and whoever comes next has it.
 * 2. A lease is renewed by its token alone: a claim that ran out and that another took doesn't come back.
 * 3. A lease that ends by a clock which was set back since tells nothing: it is renewed before it counts.
 */
import { type Claim, SET_MS } from '../../../engine/store/due.ts';
import { MAJORITY, type MongoConnection } from '../connection.ts';
import type { MongoReads } from '../reads.ts';
import { placeOfClaim, stillStanding } from './documents.ts';
import { renewalOf } from './statements.ts';

export interface LeasesParts {
  connection: MongoConnection;
  reads: MongoReads;
  /** The database's clock, ms since 1970. */
  now(): number;
  leaseMs: number;
}

/** A claim in hand, and until when it is ours in any case, ms since 1970. */
interface Lease {
  claim: Claim;
  end: number;
}

/** The part of a lease after which it is renewed. */
const RENEWED_AFTER = 0.3;

export class Leases {
  readonly #parts: LeasesParts;
  readonly #held = new Map<string, Lease>();

  constructor(parts: LeasesParts) {
    this.#parts = parts;
  }

  /** When a lease ends that begins now, ms since 1970. */
  nextEnd(): number {
    return this.#parts.now() + this.#parts.leaseMs;
  }

  /** After how long a process that couldn't renew its leases has done so, once it can. */
  get renewedAfterMs(): number {
    return this.#parts.leaseMs * RENEWED_AFTER;
  }

  /** Takes note of claims that were written where they lie. */
  hold(claims: readonly Claim[], end: number): void {
    for (const claim of claims) this.#held.set(claim.token, { claim, end });
  }

  /**
   * Takes note of claims that were to be written where they lie, and gives those that were: where not all are known to
   * (`isAll`), another process may have taken some, and a repeated write finds what is done.
   */
  async holdWon(claims: readonly Claim[], isAll: boolean, end: number): Promise<Claim[]> {
    const { connection, reads } = this.#parts;
    const standing = isAll ? null : await connection.surely(() => stillStanding(reads, claims));
    const won = claims.filter((_, index) => standing === null || standing[index] === true);
    this.hold(won, end);
    return won;
  }

  letGo(claims: readonly (Claim | null)[]): void {
    for (const claim of claims) if (claim !== null) this.#held.delete(claim.token);
  }

  /** Renews what has been in hand for a while. @throws StoreUnavailable */
  async renew(): Promise<void> {
    const latest = this.nextEnd() - this.renewedAfterMs;
    await this.#renew([...this.#held.values()].filter((each) => each.end <= latest || this.#isAhead(each)));
  }

  /** Whether a lease ends after all that begin now: the clock was set back, and others go by the new time. */
  #isAhead({ end }: Lease): boolean {
    return end > this.nextEnd() + SET_MS;
  }

  /** Lets others have at once what is left in hand. @throws StoreUnavailable */
  async giveBack(): Promise<void> {
    const held = [...this.#held.values()];
    this.#held.clear();
    await this.#write(held, this.#parts.now());
  }

  /** Whether each claim counts: it is in hand, and no other process has taken it over. Null stands for none. */
  count(claims: readonly (Claim | null)[]): Promise<boolean[]> {
    const now = this.#parts.now();
    // One that ran out is renewed before it counts: until it is settled nobody can take it.
    return this.#counted(claims, (each) => each.end <= now || this.#isAhead(each));
  }

  /** The same, as the database has it: no clock of a machine that was suspended tells that it was. */
  confirm(claims: readonly Claim[]): Promise<boolean[]> {
    return this.#counted(claims, () => true);
  }

  async #counted(
    claims: readonly (Claim | null)[],
    isDoubtful: (held: Lease) => boolean,
  ): Promise<boolean[]> {
    const held = claims.flatMap((claim) => this.#held.get(claim?.token ?? '') ?? []);
    const doubtful = held.filter(isDoubtful);
    await this.#parts.connection.surely(() => this.#renew(doubtful));
    const seen = new Set<string>();
    return claims.map((claim) => {
      if (claim === null) return true;
      if (!this.#held.has(claim.token) || seen.has(claim.token)) return false;
      seen.add(claim.token);
      return true;
    });
  }

  async #renew(held: readonly Lease[]): Promise<void> {
    if (held.length === 0) return;
    const end = this.nextEnd();
    const isAll = await this.#write(held, end);
    const claims = held.map(({ claim }) => claim);
    const standing = isAll ? null : await stillStanding(this.#parts.reads, claims);
    held.forEach((each, index) => {
      if (standing === null || standing[index] === true) each.end = end;
      // What was settled meanwhile is gone from what is held already.
      else if (this.#held.get(each.claim.token) === each) this.#held.delete(each.claim.token);
    });
  }

  /** Writes the end of leases; whether all of them stood. */
  async #write(held: readonly Lease[], end: number): Promise<boolean> {
    const { deliveries, transactions } = renewalOf(
      held.map(({ claim }) => placeOfClaim(claim)),
      new Date(end),
    );
    const changed = await Promise.all([
      this.#update('deliveries', deliveries),
      this.#update('transactions', transactions),
    ]);
    const count = changed.reduce((sum, each) => sum + each, 0);
    // Where documents held several things each, their number doesn't tell.
    return count === held.length;
  }

  async #update(collection: string, updates: readonly object[]): Promise<number> {
    if (updates.length === 0) return 0;
    // Where one shard is away, what lies on the others is renewed all the same.
    const command = { update: collection, updates, ordered: false, writeConcern: MAJORITY };
    return (await this.#parts.connection.pulse(command)).nModified;
  }
}
