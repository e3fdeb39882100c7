/**
 * What is due, and how it is claimed, settled and parked.
 *
 * 1. A due thing is free, claimed until its lease ends, or parked; every change of hands is one conditional update,
 *    and each claim has a token of its own, so that a late result finds that it is late.
 * 2. A claim that nobody renewed is as free as what was never claimed.
 * 3. A claim ends where its thing lies: a delivery's progress and the end of its claim are one write.
 */

import type { Document } from 'mongodb';
import {
  type Claim,
  type ClaimOf,
  claimOn,
  DUE_KINDS,
  type DueKind,
  isOf,
  type SetForward,
} from '../../../engine/store/due.ts';
import type { DueIndex, Settlement } from '../../../engine/store.ts';
import { asError } from '../../../errors.ts';
import { onceATurn } from '../../../waiting.ts';
import { attentionAnew, countAll, type NotedAt, notedAt, withdrawSettled } from '../attention.ts';
import type { MongoConnection } from '../connection.ts';
import type { TransactionDocument } from '../documents.ts';
import type { MongoReads } from '../reads.ts';
import type { MongoProcesses } from '../recovery/processes.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { patchAll } from '../writes/patches.ts';
import { allTaken, updateAll } from '../writes/writes.ts';
import {
  ARRAYS,
  claimToken,
  type DeliveryDocument,
  dueDelivery,
  dueInTransaction,
  type FoundDue,
  inOrder,
  placeOfClaim,
} from './documents.ts';
import { begunByOthers } from './failed-deliveries.ts';
import type { Leases } from './leases.ts';
import { unparkAll } from './parked.ts';
import { rewindAll, unwindAll } from './rewind.ts';
import {
  claimOf,
  type DueStatements,
  END_OF_DELIVERY,
  parkingOf,
  type Settling,
  writesOf,
} from './statements.ts';

export interface MongoDueParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  processes: MongoProcesses;
  leases: Leases;
  recovery: Recovery;
  now(): number;
}

/** How often to look for free things again where other processes claimed all that were found. */
const LOOKS = 3;

/** Whether a settlement counted, or what it failed at. */
type Outcome = boolean | Error;

interface SettleCaller {
  settlements: readonly Settlement[];
  resolve(counts: boolean[]): void;
  reject(error: Error): void;
}

export class MongoDue implements DueIndex {
  readonly #parts: MongoDueParts;
  /** One claim of a kind at a time: a process does not race with itself. */
  readonly #turns = new Map<DueKind, Promise<unknown>>();
  #tokens = 0;
  readonly #settling: SettleCaller[] = [];
  #isSettling = false;
  readonly #scheduleSettling = onceATurn(() => void this.#settleAll());

  constructor(parts: MongoDueParts) {
    this.#parts = parts;
  }

  async beat(now: number): Promise<void> {
    const { connection, processes, leases, recovery } = this.#parts;
    connection.check();
    await connection.run(() => connection.measureClock());
    await Promise.all([processes.beat(now), leases.renew()]);
    // Not waited for: it may take long, and the next beat must come in time.
    recovery.begin();
  }

  /** Nothing is kept only to find things; what could not be projected is tried again. */
  async tidy(_now: number): Promise<void> {
    this.#parts.connection.check();
    await this.#parts.recovery.lookAgain();
  }

  async claim<Kind extends DueKind>(kind: Kind, now: number, limit: number): Promise<ClaimOf<Kind>[]> {
    this.#parts.connection.check();
    const before = this.#turns.get(kind) ?? Promise.resolve();
    const turn = before.then(() => this.#claimInTurn(kind, now, limit));
    const ended = turn.catch(() => {});
    this.#turns.set(kind, ended);
    return (await turn).filter((claim) => isOf(claim, kind));
  }

  async #claimInTurn(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    await this.#parts.processes.present();
    for (let look = 0; look < LOOKS; look++) {
      const found = await this.#findFree(kind, now, limit);
      if (found.length === 0) return [];
      const claims = await this.#claimFound(kind, found);
      if (claims.length > 0) return claims;
    }
    return [];
  }

  /** Things that are due and free, earliest first. */
  async #findFree(kind: DueKind, now: number, limit: number): Promise<FoundDue[]> {
    const { reads, processes, leases } = this.#parts;
    const takesLapsed = processes.isSteady(leases.renewedAfterMs);
    const free = { parked: null, due: { $lte: new Date(now) }, ...(takesLapsed ? {} : { token: null }) };
    // Not sorted: the index gives them in order, and a sort of arrays would have to read all that is due.
    if (kind === 'delivery') {
      const found = await reads.find<DeliveryDocument>('deliveries', free, { limit });
      return inOrder(found.map(dueDelivery), limit);
    }
    const array = ARRAYS[kind];
    const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: free } };
    const options = { limit, projection: { account: 1, [array]: 1 } };
    const documents = await reads.find<TransactionDocument>('transactions', filter, options);
    const found = documents.flatMap((each) => dueInTransaction(kind, each, { now, takesLapsed }));
    return inOrder(found, limit);
  }

  #newToken(): string {
    this.#tokens += 1;
    return `${this.#parts.incarnation}#${this.#tokens}`;
  }

  /** Writes a claim of this process on what was found; gives what it got. */
  async #claimFound(kind: DueKind, found: readonly FoundDue[]): Promise<Claim[]> {
    const { connection, leases } = this.#parts;
    const token = this.#newToken();
    const end = leases.nextEnd();
    const claims = found.map(({ due, element, document }) =>
      claimOn(due, claimToken(due, document, element, token)),
    );
    const statements = found.map((each) => claimOf(each, token, new Date(end)));
    const collection = kind === 'delivery' ? 'deliveries' : 'transactions';
    const written = allTaken(await updateAll(connection, collection, statements));
    return leases.holdWon(claims, written.found === found.length, end);
  }

  async holds(claims: readonly Claim[]): Promise<boolean[]> {
    this.#parts.connection.check();
    return this.#parts.leases.confirm(claims);
  }

  /** Settlements of many callers travel together: what waits while one write is under way goes with the next. */
  settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    return new Promise((resolve, reject) => {
      this.#parts.connection.check();
      this.#settling.push({ settlements, resolve, reject });
      if (!this.#isSettling) this.#scheduleSettling();
    });
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true;
    while (this.#settling.length > 0) {
      const callers = this.#settling.splice(0);
      const outcomes = await this.#settleTogether(callers.flatMap((caller) => caller.settlements));
      for (const { settlements, resolve, reject } of callers) {
        const own = outcomes.splice(0, settlements.length);
        const error = own.find((outcome) => outcome instanceof Error);
        if (error === undefined) resolve(own.map((outcome) => outcome === true));
        else reject(error);
      }
    }
    this.#isSettling = false;
  }

  async #settleTogether(settlements: readonly Settlement[]): Promise<Outcome[]> {
    const { connection, reads, leases } = this.#parts;
    const claims = settlements.map(({ claim }) => claim);
    try {
      // Before it is known that they count: who takes one over notes an item of its own.
      const noted = await connection.surely(() => notedAt(reads, settlements));
      const counts = await leases.count(claims);
      const settling = settlements.map((settlement) => ({ settlement, id: this.#newToken() }));
      const counted = settling.filter((_, index) => counts[index]);
      const failures = await this.#end(counted, noted);
      return settling.map((each, index) => failures.get(each) ?? counts[index] === true);
    } catch (error) {
      return settlements.map(() => asError(error));
    } finally {
      // What failed is held no more, either: its lease runs out, and whoever comes next has it.
      leases.letGo(claims);
    }
  }

  /** Ends claims; where that fails for many, each alone: the others are not concerned. Gives what failed, or doesn't count. */
  async #end(settling: readonly Settling[], noted: NotedAt): Promise<Map<Settling, Error | false>> {
    const failures = new Map<Settling, Error | false>();
    const [first, ...others] = settling;
    if (first === undefined) return failures;
    try {
      for (const late of await this.#endTogether(settling, noted)) failures.set(late, false);
    } catch (error) {
      if (others.length === 0) return failures.set(first, asError(error));
      for (const each of settling)
        for (const [failed, reason] of await this.#end([each], noted)) failures.set(failed, reason);
    }
    return failures;
  }

  /** Gives those that don't count: another was first. */
  async #endTogether(settling: readonly Settling[], noted: NotedAt): Promise<Settling[]> {
    const { connection, reads } = this.#parts;
    const settlements = settling.map(({ settlement }) => settlement);
    // What needs a person is written before the claim is gone that would bring it up again.
    const items = settlements.flatMap(({ attention }) => attention ?? []);
    allTaken(await updateAll(connection, 'attention', items.map(attentionAnew)));
    const tallied = settlements.flatMap(({ counted }) => counted ?? []);
    await countAll(connection, tallied);
    const { ends, anew, ...statements } = writesOf(settling);
    const [taken] = await Promise.all([this.#write(statements), patchAll(connection, END_OF_DELIVERY, ends)]);
    const late = await connection.surely(() => begunByOthers(reads, taken, anew));
    const ended = settling.filter((each) => !late.includes(each)).map(({ settlement }) => settlement);
    await withdrawSettled(connection, ended, noted);
    return late;
  }

  /** Gives the statements of deliveries whose place another has taken. */
  async #write({ deliveries, transactions }: DueStatements): Promise<Document[]> {
    const { connection } = this.#parts;
    const [{ taken }] = await Promise.all([
      updateAll(connection, 'deliveries', deliveries).then(allTaken),
      updateAll(connection, 'transactions', transactions).then(allTaken),
    ]);
    return taken;
  }

  async park(claims: readonly Claim[]): Promise<void> {
    const { connection, leases } = this.#parts;
    connection.check();
    try {
      const counts = await leases.count(claims);
      await this.#write(parkingOf(claims.filter((_, index) => counts[index]).map(placeOfClaim)));
    } finally {
      leases.letGo(claims);
    }
  }

  async oldest(now: number): Promise<Partial<Record<DueKind, number>>> {
    this.#parts.connection.check();
    const oldest: Partial<Record<DueKind, number>> = {};
    for (const kind of DUE_KINDS) {
      const [first] = await this.#findFree(kind, now, 1);
      if (first !== undefined) oldest[kind] = first.due.at;
    }
    return oldest;
  }

  rewind = (now: number): Promise<number> => rewindAll(this.#parts, now);

  unwind = (forward: SetForward): Promise<number> => unwindAll(this.#parts, forward);

  unpark = (now: number): Promise<number> => unparkAll(this.#parts, now);
}
