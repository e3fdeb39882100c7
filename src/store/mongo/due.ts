/**
 * Owns this incarnation's claims on what is due.
 *
 * 1. A due thing is nobody's, an incarnation's, or parked; every change of hands is one conditional update, and
 *    each claim has a token of its own, so that a late result finds that it is late.
 * 2. Only what belongs to a process that fell silent is taken over.
 * 3. A claim ends where its thing lies: a delivery's progress and the end of its claim are one write.
 */

import type { Document } from 'mongodb';
import type { Claim, DueKind, Settlement } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import type { MongoConnection } from './connection.ts';
import { attentionDocument, type DeliveryDocument, type TransactionDocument } from './documents.ts';
import {
  ARRAYS,
  again,
  deliveryIn,
  endOfDelivery,
  endsOf,
  isAgain,
  newDelivery,
  newDue,
  PARKED,
  parkedDelivery,
  parkedElement,
  progressOf,
} from './due-documents.ts';
import { stillStanding } from './owners.ts';
import { dueIn, dueOfDelivery, type Found, type Place, placeOf, tokenOf } from './place.ts';
import type { MongoProcesses } from './processes.ts';
import type { MongoReads } from './reads.ts';
import { updateAll } from './writes.ts';

export interface MongoDueOptions {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  processes: MongoProcesses;
}

/** Of things that one looks for another took some: look again. */
const LOOKS = 3;

interface Writes {
  deliveries: Document[];
  transactions: Document[];
  ends: Place[];
}

interface SettleCaller {
  settlements: readonly Settlement[];
  resolve(counts: boolean[]): void;
  reject(error: Error): void;
}

export class MongoDue {
  readonly #options: MongoDueOptions;
  /** Claims in hand, with the count of silences when they were made. */
  readonly #held = new Map<string, number>();
  /** One claim of a kind at a time: a process does not race with itself. */
  readonly #turns = new Map<DueKind, Promise<unknown>>();
  #claims = 0;
  readonly #settling: SettleCaller[] = [];
  #isSettling = false;

  constructor(options: MongoDueOptions) {
    this.#options = options;
  }

  /** Takes note of claims that were written with what they are on. */
  hold(claims: readonly Claim[]): void {
    const { silences } = this.#options.processes;
    for (const { token } of claims) this.#held.set(token, silences);
  }

  claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    const before = this.#turns.get(kind) ?? Promise.resolve();
    const turn = before.then(() => this.#claim(kind, now, limit));
    this.#turns.set(
      kind,
      turn.catch(() => {}),
    );
    return turn;
  }

  async #claim(kind: DueKind, now: number, limit: number): Promise<Claim[]> {
    await this.#options.processes.present();
    for (let look = 0; look < LOOKS; look++) {
      const found = await this.#find(kind, now, limit);
      if (found.length === 0) return [];
      const claims = await this.#take(kind, found, now);
      if (claims.length > 0) return claims;
    }
    return [];
  }

  /** Things that are due and free, earliest first; those of silent processes too. */
  async #find(kind: DueKind, now: number, limit: number): Promise<Found[]> {
    const free = await this.#lookFor(kind, [null], now, limit);
    // Who was silent a second ago may be back.
    const silent = await this.#options.processes.silentNow();
    const left = silent.length === 0 ? [] : await this.#lookFor(kind, silent, now, limit);
    return [...left, ...free].sort((a, b) => a.due.at - b.due.at).slice(0, limit);
  }

  async #lookFor(
    kind: DueKind,
    owners: readonly (string | null)[],
    now: number,
    limit: number,
  ): Promise<Found[]> {
    const { reads } = this.#options;
    const due = { $lte: new Date(now) };
    const owner = owners[0] === null ? null : { $in: owners };
    // Not sorted: the index gives them in order, and a sort of arrays would have to read all that is due.
    if (kind === 'delivery') {
      return (await reads.find<DeliveryDocument>('deliveries', { owner, due }, { limit })).map(dueOfDelivery);
    }
    const array = ARRAYS[kind];
    const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: { owner, due } } };
    const options = { limit, projection: { account: 1, [array]: 1 } };
    const documents = await reads.find<TransactionDocument>('transactions', filter, options);
    return documents.flatMap((document) => dueIn(kind, document, owners, now));
  }

  #newToken(): string {
    this.#claims += 1;
    return `${this.#options.incarnation}#${this.#claims}`;
  }

  async #take(kind: DueKind, found: readonly Found[], now: number): Promise<Claim[]> {
    const { connection, incarnation } = this.#options;
    const token = this.#newToken();
    const set = { owner: incarnation, token };
    const owners = [...new Set(found.map(({ owner }) => owner))];
    const documents = [...new Set(found.map(({ document }) => document))];
    const claims = found.map(({ due, id, document }): Claim => {
      const place: Place = { kind, document, account: due.account, element: id, token };
      return { due, token: tokenOf(place) };
    });
    const q = { _id: { $in: documents } };
    const due = { $lte: new Date(now) };
    let taken: number;
    if (kind === 'delivery') {
      const filter = { ...q, due, owner: { $in: owners } };
      taken = await updateAll(connection, 'deliveries', [{ q: filter, u: { $set: set }, multi: true }]);
    } else {
      const array = ARRAYS[kind];
      const $set = { [`${array}.$[e].owner`]: incarnation, [`${array}.$[e].token`]: token };
      const ids = found.map(({ id }) => id);
      const arrayFilters = [{ 'e.id': { $in: ids }, 'e.owner': { $in: owners }, 'e.due': due }];
      const statement = { q, u: { $set }, arrayFilters, multi: true };
      taken = await updateAll(connection, 'transactions', [statement], 'changed');
    }
    // Where each document held one thing, their number tells that all of them are ours.
    const isAll = taken === found.length && documents.length === found.length;
    const ours = isAll ? null : await connection.surely(() => stillStanding(this.#options.reads, claims));
    const won = claims.filter((_, index) => ours === null || ours[index]);
    this.hold(won);
    return won;
  }

  /** Whether each claim counts: it is in hand, and where others may have taken over, nobody has. */
  async #counts(claims: readonly (Claim | null)[]): Promise<boolean[]> {
    const { connection, processes } = this.#options;
    const { silences } = processes;
    const doubtful = claims.filter(
      (claim): claim is Claim => claim !== null && (this.#held.get(claim.token) ?? silences) < silences,
    );
    const standing =
      doubtful.length === 0
        ? []
        : await connection.surely(() => stillStanding(this.#options.reads, doubtful));
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
  settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    return new Promise((resolve, reject) => {
      this.#settling.push({ settlements, resolve, reject });
      if (this.#isSettling) return;
      this.#isSettling = true;
      setImmediate(() => void this.#settleAll());
    });
  }

  async #settleAll(): Promise<void> {
    while (this.#settling.length > 0) {
      const callers = this.#settling.splice(0);
      try {
        const counts = await this.#settle(callers.flatMap((caller) => caller.settlements));
        for (const { settlements, resolve } of callers) resolve(counts.splice(0, settlements.length));
      } catch (error) {
        for (const { reject } of callers) reject(asError(error));
      }
    }
    this.#isSettling = false;
  }

  async #settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    const { connection } = this.#options;
    const claims = settlements.map(({ claim }) => claim);
    const counts = await this.#counts(claims);
    const counting = settlements.filter((_, index) => counts[index]);
    const deliveries: Document[] = [];
    const transactions: Document[] = [];
    const attention: Document[] = [];
    const ends: Place[] = [];
    for (const settlement of counting) {
      if (settlement.attention !== undefined) {
        const { _id, ...parts } = attentionDocument(settlement.attention);
        attention.push({ q: { _id }, u: { $set: parts }, upsert: true });
      }
      this.#issue(settlement, { deliveries, transactions, ends });
    }
    // What needs a person is written before the claim is gone that would bring it up again.
    await updateAll(connection, 'attention', attention);
    await Promise.all([
      updateAll(connection, 'deliveries', deliveries),
      updateAll(connection, 'transactions', [...transactions, ...endsOf(ends)]),
    ]);
    this.#letGo(claims);
    return counts;
  }

  #issue({ claim, next, record }: Settlement, { deliveries, transactions, ends }: Writes): void {
    const place = claim === null ? null : placeOf(claim);
    const isSame = claim !== null && next !== null && isAgain(claim.due, next);
    // Progress lies in its delivery's own document: where that is the claim's or what is due next, in one write.
    const isApart = record !== undefined && record.id !== place?.document && record.id !== deliveryIn(next);
    if (isApart) deliveries.push(progressOf(record));
    const own = isApart ? undefined : record;
    if (place?.kind === 'delivery') deliveries.push(endOfDelivery(place, isSame ? next : null, own));
    else if (place !== null && next !== null && isSame) transactions.push(again(place, next));
    else if (place !== null) ends.push(place);
    if (next === null || isSame) return;
    if (next.kind === 'delivery') deliveries.push(newDelivery(next, own));
    else transactions.push(newDue(next, this.#newToken()));
  }

  async park(claims: readonly Claim[]): Promise<void> {
    const { connection } = this.#options;
    const counts = await this.#counts(claims);
    const places = claims.filter((_, index) => counts[index]).map(placeOf);
    const deliveries = places.filter(({ kind }) => kind === 'delivery').map((place) => parkedDelivery(place));
    const transactions = places
      .filter(({ kind }) => kind !== 'delivery')
      .map((place) => parkedElement(place));
    await Promise.all([
      updateAll(connection, 'deliveries', deliveries),
      updateAll(connection, 'transactions', transactions),
    ]);
    this.#letGo(claims);
  }

  async unpark(now: number): Promise<number> {
    const { connection, reads } = this.#options;
    let count = 0;
    for (const kind of ['timer', 'bank'] as const) {
      const array = ARRAYS[kind];
      const filter = { [`${array}.due`]: { $exists: true }, [array]: { $elemMatch: { owner: PARKED } } };
      const found = await reads.find<TransactionDocument>('transactions', filter);
      const parked = found.flatMap((document) => dueIn(kind, document, [PARKED], Number.MAX_SAFE_INTEGER));
      count += parked.length;
      if (parked.length === 0) continue;
      const arrayFilters = [{ 'e.id': { $in: parked.map(({ id }) => id) }, 'e.owner': PARKED }];
      const u = { $set: { [`${array}.$[e].due`]: new Date(now) }, $unset: { [`${array}.$[e].owner`]: '' } };
      const q = { _id: { $in: found.map(({ _id }) => _id) } };
      await updateAll(connection, 'transactions', [{ q, u, arrayFilters, multi: true }]);
    }
    const u = { $set: { due: new Date(now) }, $unset: { owner: '' } };
    const q = { owner: PARKED, due: { $exists: true } };
    return count + (await updateAll(connection, 'deliveries', [{ q, u, multi: true }]));
  }
}
