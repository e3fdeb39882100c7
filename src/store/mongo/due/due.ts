/**
 * Owns this incarnation's claims on what is due.
 *
 * 1. A due thing is free, an incarnation's, or parked; every change of hands is one conditional update, and
 *    each claim has a token of its own, so that a late result finds that it is late.
 * 2. Only what belongs to a process that fell silent is taken over.
 * 3. A claim ends where its thing lies: a delivery's progress and the end of its claim are one write.
 */
import {
  type Claim,
  type ClaimOf,
  claimOn,
  type DueIndex,
  type DueKind,
  isOf,
  type Settlement,
} from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { onceATurn } from '../../waiting.ts';
import type { Appends } from './appends.ts';
import { attentionAnew } from './attention.ts';
import type { MongoConnection } from './connection.ts';
import type { TransactionDocument } from './documents.ts';
import {
  ARRAYS,
  claimToken,
  type DeliveryDocument,
  type DueStatements,
  dueDelivery,
  dueInTransaction,
  type FoundDue,
  PARKED,
  parkingOf,
  placeOfClaim,
  statementsOf,
  stillStanding,
} from './due-documents.ts';
import { hasClaims, type MongoProcesses, ownersOf } from './processes.ts';
import type { MongoReads } from './reads.ts';
import { updateAll } from './writes.ts';

export interface MongoDueParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  processes: MongoProcesses;
  appends: Appends;
  /** This process's clock, ms since 1970. */
  localNow(): number;
}

/** How often to look for free things again where other processes claimed all that were found. */
const LOOKS = 3;

interface SettleCaller {
  settlements: readonly Settlement[];
  resolve(counts: boolean[]): void;
  reject(error: Error): void;
}

export class MongoDue implements DueIndex {
  readonly #parts: MongoDueParts;
  /** Claims in hand, with the count of silences when they were made. */
  readonly #held = new Map<string, number>();
  /** One claim of a kind at a time: a process does not race with itself. */
  readonly #turns = new Map<DueKind, Promise<unknown>>();
  #tokens = 0;
  readonly #settling: SettleCaller[] = [];
  #isSettling = false;
  readonly #scheduleSettling = onceATurn(() => void this.#settleAll());
  #finishing: Promise<void> | null = null;

  constructor(parts: MongoDueParts) {
    this.#parts = parts;
  }

  async beat(now: number): Promise<void> {
    const { connection, processes, localNow } = this.#parts;
    connection.check();
    await connection.run(() => connection.measureClock(localNow));
    await processes.beat(now);
    // Not waited for: it may take long, and the next beat must come in time. What fails is done at the next.
    this.#finishing ??= this.#finishOthers()
      .catch(() => {})
      .finally(() => {
        this.#finishing = null;
      });
  }

  /** Finishes what processes that fell silent cut off: the last batches that they appended. */
  async #finishOthers(): Promise<void> {
    const { processes, appends, reads } = this.#parts;
    for (const silent of processes.silentAtBeat) {
      await appends.finishAfter(silent._id, silent.projected);
      if (!(await hasClaims(reads, silent._id))) await processes.forget(silent);
    }
  }

  /** Looks for claims of processes that `processes` has forgotten: they are silent, too. */
  async tidy(_now: number): Promise<void> {
    const { connection, processes, reads } = this.#parts;
    connection.check();
    await processes.rememberAll(await ownersOf(reads));
  }

  /** Takes note of claims that were written with what they are on. */
  hold(claims: readonly Claim[]): void {
    const { silences } = this.#parts.processes;
    for (const { token } of claims) this.#held.set(token, silences);
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
      const claims = await this.#claimFound(kind, found, now);
      if (claims.length > 0) return claims;
    }
    return [];
  }

  /** Things that are due and free, earliest first; those of silent processes too. */
  async #findFree(kind: DueKind, now: number, limit: number): Promise<FoundDue[]> {
    const free = await this.#findOf([null], kind, now, limit);
    // A process that was silent a second ago may be back.
    const silent = await this.#parts.processes.silentNow();
    const left = silent.length === 0 ? [] : await this.#findOf(silent, kind, now, limit);
    return [...left, ...free].sort((a, b) => a.due.at - b.due.at).slice(0, limit);
  }

  /** Things that are due and belong to one of the owners; null stands for what is free. */
  async #findOf(
    owners: readonly (string | null)[],
    kind: DueKind,
    now: number,
    limit: number,
  ): Promise<FoundDue[]> {
    const { reads } = this.#parts;
    const due = { $lte: new Date(now) };
    const owner = owners[0] === null ? null : { $in: owners };
    // Not sorted: the index gives them in order, and a sort of arrays would have to read all that is due.
    if (kind === 'delivery') {
      return (await reads.find<DeliveryDocument>('deliveries', { owner, due }, { limit })).map(dueDelivery);
    }
    const array = ARRAYS[kind];
    const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: { owner, due } } };
    const options = { limit, projection: { account: 1, [array]: 1 } };
    const documents = await reads.find<TransactionDocument>('transactions', filter, options);
    return documents.flatMap((document) => dueInTransaction(kind, document, owners, now));
  }

  #newToken(): string {
    this.#tokens += 1;
    return `${this.#parts.incarnation}#${this.#tokens}`;
  }

  /** Writes this incarnation as the owner of what was found; gives what it got. */
  async #claimFound(kind: DueKind, found: readonly FoundDue[], now: number): Promise<Claim[]> {
    const { connection, reads } = this.#parts;
    const token = this.#newToken();
    const claims = found.map(({ due, element, document }) =>
      claimOn(due, claimToken(due, document, element, token)),
    );
    const written = await this.#writeOwner(kind, found, token, now);
    // Where each document held one thing, their number tells that all of them are ours.
    const isOneEach = new Set(found.map(({ document }) => document)).size === found.length;
    const isAll = isOneEach && written === found.length;
    const ours = isAll ? null : await connection.surely(() => stillStanding(reads, claims));
    const won = ours === null ? claims : claims.filter((_, index) => ours[index]);
    this.hold(won);
    return won;
  }

  /** How many documents were written. */
  async #writeOwner(kind: DueKind, found: readonly FoundDue[], token: string, now: number): Promise<number> {
    const { connection, incarnation: owner } = this.#parts;
    const owners = [...new Set(found.map((each) => each.owner))];
    const q = { _id: { $in: [...new Set(found.map(({ document }) => document))] } };
    const due = { $lte: new Date(now) };
    if (kind === 'delivery') {
      const filter = { ...q, due, owner: { $in: owners } };
      const statement = { q: filter, u: { $set: { owner, token } }, multi: true };
      return updateAll(connection, 'deliveries', [statement]);
    }
    const array = ARRAYS[kind];
    const $set = { [`${array}.$[e].owner`]: owner, [`${array}.$[e].token`]: token };
    const ids = found.map(({ element }) => element);
    const arrayFilters = [{ 'e.id': { $in: ids }, 'e.owner': { $in: owners }, 'e.due': due }];
    const statement = { q, u: { $set }, arrayFilters, multi: true };
    return updateAll(connection, 'transactions', [statement], 'changed');
  }

  /** Whether each claim counts: it is in hand, and no other process has taken it over. */
  async #counts(claims: readonly (Claim | null)[]): Promise<boolean[]> {
    const { connection, processes, reads } = this.#parts;
    const { silences } = processes;
    const doubtful = claims
      .filter((claim) => claim !== null)
      .filter(({ token }) => (this.#held.get(token) ?? silences) < silences);
    const standing =
      doubtful.length === 0 ? [] : await connection.surely(() => stillStanding(reads, doubtful));
    const gone = new Set(doubtful.filter((_, index) => !standing[index]).map(({ token }) => token));
    const seen = new Set<string>();
    return claims.map((claim) => {
      if (claim === null) return true;
      if (!this.#held.has(claim.token) || gone.has(claim.token) || seen.has(claim.token)) return false;
      seen.add(claim.token);
      return true;
    });
  }

  #letGo(claims: readonly (Claim | null)[]): void {
    for (const claim of claims) if (claim !== null) this.#held.delete(claim.token);
  }

  /** Settlements of many callers travel together: what waits while one write is under way goes with the next. */
  async settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    this.#parts.connection.check();
    return new Promise((resolve, reject) => {
      this.#settling.push({ settlements, resolve, reject });
      if (!this.#isSettling) this.#scheduleSettling();
    });
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true;
    while (this.#settling.length > 0) {
      const callers = this.#settling.splice(0);
      try {
        const counts = await this.#settleTogether(callers.flatMap((caller) => caller.settlements));
        for (const { settlements, resolve } of callers) resolve(counts.splice(0, settlements.length));
      } catch (error) {
        for (const { reject } of callers) reject(asError(error));
      }
    }
    this.#isSettling = false;
  }

  async #settleTogether(settlements: readonly Settlement[]): Promise<boolean[]> {
    const claims = settlements.map(({ claim }) => claim);
    const counts = await this.#counts(claims);
    const counting = settlements.filter((_, index) => counts[index]);
    const statements = statementsOf(counting, () => this.#newToken());
    // What needs a person is written before the claim is gone that would bring it up again.
    const items = counting.flatMap(({ attention }) => attention ?? []);
    await updateAll(this.#parts.connection, 'attention', items.map(attentionAnew));
    await this.#write(statements);
    this.#letGo(claims);
    return counts;
  }

  async #write({ deliveries, transactions }: DueStatements): Promise<void> {
    const { connection } = this.#parts;
    await Promise.all([
      updateAll(connection, 'deliveries', deliveries),
      updateAll(connection, 'transactions', transactions),
    ]);
  }

  async park(claims: readonly Claim[]): Promise<void> {
    this.#parts.connection.check();
    const counts = await this.#counts(claims);
    await this.#write(parkingOf(claims.filter((_, index) => counts[index]).map(placeOfClaim)));
    this.#letGo(claims);
  }

  async unpark(now: number): Promise<number> {
    const { connection, reads } = this.#parts;
    connection.check();
    let count = 0;
    for (const kind of ['timer', 'bank'] as const) {
      const array = ARRAYS[kind];
      const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: { owner: PARKED } } };
      const found = await reads.find<TransactionDocument>('transactions', filter);
      const parked = found.flatMap((document) =>
        dueInTransaction(kind, document, [PARKED], Number.MAX_SAFE_INTEGER),
      );
      count += parked.length;
      if (parked.length === 0) continue;
      const arrayFilters = [{ 'e.id': { $in: parked.map(({ element }) => element) }, 'e.owner': PARKED }];
      const u = { $set: { [`${array}.$[e].due`]: new Date(now) }, $unset: { [`${array}.$[e].owner`]: '' } };
      const q = { _id: { $in: found.map(({ _id }) => _id) } };
      await updateAll(connection, 'transactions', [{ q, u, arrayFilters, multi: true }]);
    }
    const u = { $set: { due: new Date(now) }, $unset: { owner: '' } };
    const q = { owner: PARKED, due: { $exists: true } };
    return count + (await updateAll(connection, 'deliveries', [{ q, u, multi: true }]));
  }
}
