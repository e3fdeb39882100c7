/**
 * Deliveries that wait behind targets, on MongoDB. A delivery's document names its target (`behind`) instead of being
 * due; `targets` has a document for each of those.
 *
 * 1. A target's document is there before anything lies behind it, and goes after all of it: a process that dies in
 *    between leaves a look that finds nothing.
 * 2. A look that finds nothing marks the document `empty` before it makes sure; whoever put something there meanwhile
 *    sees the mark, or is seen. What comes behind an empty target gives it a look of its own.
 * 3. What lies behind a target is told by the deliveries; `waiting` is counted beside them, and begins anew with the
 *    target's document, so that an answer that was lost doesn't put it wrong for ever.
 */

import {
  type Backlog,
  LOOK_MS,
  type PutBehind,
  type Target,
  targetId,
  type WaitingTarget,
} from '../../engine/store/backlog.ts';
import { type ClaimOf, claimOn, isOf } from '../../engine/store/due.ts';
import type { Plain } from './bson.ts';
import { MAJORITY, type MongoConnection } from './connection.ts';
import { claimToken, type DeliveryDocument, dueDelivery, placeOfClaim } from './due/documents.ts';
import type { Leases } from './due/leases.ts';
import type { MongoReads } from './reads.ts';
import { allTaken, updateAll, type Written } from './writes/writes.ts';

interface TargetDocument extends Plain {
  _id: string;
  account: string;
  url: string;
  /** When to look after it. */
  lookAt: Date;
  /** It isn't forgotten before: whoever put something behind it may not have come to that yet. */
  keptUntil: Date;
  waiting: number;
  /** Its last look found nothing behind it, so that it has none before `keptUntil`. */
  empty?: true;
}

/** For so long after its look a target's document is kept. */
export const KEPT_MS = 60_000;

/** A delivery behind a target: `behindAt` is when it was due. */
type WaitingDocument = DeliveryDocument & { behind: string; behindAt: Date };

export interface MongoBacklogParts {
  connection: MongoConnection;
  reads: MongoReads;
  incarnation: string;
  leases: Leases;
}

export class MongoBacklog implements Backlog {
  readonly #parts: MongoBacklogParts;
  #tokens = 0;

  constructor(parts: MongoBacklogParts) {
    this.#parts = parts;
  }

  async put(waits: readonly PutBehind[]): Promise<number[]> {
    const { connection, reads } = this.#parts;
    connection.check();
    await this.#update(
      'targets',
      waits.map((wait) => countedIn(wait, 0)),
    );
    const counts = await Promise.all(waits.map((wait) => this.#putBehind(wait)));
    await this.#update(
      'targets',
      waits.map((wait, index) => countedIn(wait, counts[index] ?? 0)),
    );
    const ids = waits.map(({ target }) => targetId(target));
    const found = await reads.find<TargetDocument>('targets', { _id: { $in: ids } });
    const waiting = new Map(found.map((target) => [target._id, target.waiting]));
    return ids.map((id) => waiting.get(id) ?? 0);
  }

  async #update(
    collection: 'targets' | 'deliveries',
    statements: readonly object[],
  ): Promise<Written<object>> {
    return allTaken(await updateAll(this.#parts.connection, collection, statements));
  }

  /** How many there were. */
  async #putBehind({ target, claims }: PutBehind): Promise<number> {
    const id = targetId(target);
    const statements = claims.map((claim) => {
      const { document, token } = placeOfClaim(claim);
      const $set = { behind: id, behindAt: new Date(claim.due.at) };
      return {
        q: { _id: document, token },
        u: { $set, $unset: { due: '', since: '', token: '', owner: '' } },
      };
    });
    const { found } = await this.#update('deliveries', statements);
    this.#parts.leases.letGo(claims);
    return found;
  }

  async claimLooks(now: number, limit: number): Promise<Target[]> {
    const { connection, reads } = this.#parts;
    connection.check();
    const lookAt = { $lte: new Date(now) };
    const found = await reads.find<TargetDocument>('targets', { lookAt }, { sort: { lookAt: 1 }, limit });
    const claimed: Target[] = [];
    for (const { _id, account, url } of found) {
      const u = { $set: { lookAt: new Date(now + LOOK_MS) }, $unset: { empty: '' } };
      const { changed } = await this.#update('targets', [{ q: { _id, lookAt }, u }]);
      if (changed === 1) claimed.push({ account, url });
    }
    return claimed;
  }

  async take(
    target: Target,
    now: number,
    limit: number,
  ): Promise<{ claims: ClaimOf<'delivery'>[]; left: number }> {
    const { connection, reads, leases } = this.#parts;
    connection.check();
    const id = targetId(target);
    const options = { sort: { behindAt: 1, _id: 1 }, limit } as const;
    const found = await reads.find<WaitingDocument>('deliveries', { behind: id }, options);
    const claims = await this.#claim(id, found);
    try {
      const look = { $set: { lookAt: new Date(now + LOOK_MS) }, $inc: { waiting: -claims.length } };
      await this.#update('targets', [{ q: { _id: id }, u: look }]);
      const [row] = await reads.find<TargetDocument>('targets', { _id: id });
      return { claims, left: Math.max(0, row?.waiting ?? 0) };
    } catch (error) {
      // Nobody hears of them: what stayed in hand would be renewed for as long as this process lives.
      leases.letGo(claims);
      throw error;
    }
  }

  async #claim(id: string, found: readonly WaitingDocument[]): Promise<ClaimOf<'delivery'>[]> {
    const { incarnation, leases } = this.#parts;
    if (found.length === 0) return [];
    this.#tokens += 1;
    const token = `${incarnation}#b${this.#tokens}`;
    const end = leases.nextEnd();
    const $unset = { behind: '', behindAt: '' };
    const statements = found.map(({ _id, behindAt: since }) => {
      return { q: { _id, behind: id }, u: { $set: { due: new Date(end), since, token }, $unset } };
    });
    const claims = found.map((document) => {
      const { due } = dueDelivery({ ...document, due: document.behindAt });
      return claimOn(due, claimToken(due, document._id, '', token));
    });
    const written = await this.#update('deliveries', statements);
    const won = await leases.holdWon(claims, written.found === found.length, end);
    return won.filter((claim): claim is ClaimOf<'delivery'> => isOf(claim, 'delivery'));
  }

  async lookAgain(target: Target, at: number): Promise<void> {
    const { connection } = this.#parts;
    connection.check();
    const _id = targetId(target);
    if (await this.#isEmpty(_id)) {
      const deletes = [{ q: { _id, keptUntil: { $lte: new Date(at) } }, limit: 1 }];
      await connection.command({ delete: 'targets', deletes, writeConcern: MAJORITY });
      // One that is kept, since something may be on its way behind it, is looked after once more.
      const u = [{ $set: { lookAt: '$keptUntil', empty: true } }];
      await this.#update('targets', [{ q: { _id }, u }]);
      if (await this.#isEmpty(_id)) return;
    }
    const u = { $set: { lookAt: new Date(at) }, $unset: { empty: '' } };
    await this.#update('targets', [{ q: { _id }, u }]);
  }

  async #isEmpty(behind: string): Promise<boolean> {
    const options = { limit: 1, projection: { _id: 1 } };
    return (await this.#parts.reads.find<WaitingDocument>('deliveries', { behind }, options)).length === 0;
  }

  async targets(after: string, limit: number): Promise<WaitingTarget[]> {
    const { connection, reads } = this.#parts;
    connection.check();
    const filter = { _id: { $gt: after }, waiting: { $gt: 0 } };
    const found = await reads.find<TargetDocument>('targets', filter, { sort: { _id: 1 }, limit });
    return found.map(({ _id: id, account, url, waiting }) => ({ id, account, url, waiting }));
  }

  async total(): Promise<number> {
    const { connection, reads } = this.#parts;
    connection.check();
    // Each has a time of its look: by that index they are found.
    const all = { $match: { lookAt: { $gte: new Date(0) } } };
    const pipeline = [all, { $group: { _id: null, waiting: { $sum: '$waiting' } } }];
    const [sum] = await reads.aggregate<{ waiting: number }>('targets', pipeline);
    return Math.max(0, sum?.waiting ?? 0);
  }
}

/** The statement that makes a target's document where there is none, counts what came, and gives it a look if it has none. */
function countedIn({ target: { account, url }, lookAt }: PutBehind, added: number): object {
  const hasLook = { $and: [{ $ne: [{ $type: '$lookAt' }, 'missing'] }, { $ne: ['$empty', true] }] };
  const $set = {
    account,
    url: { $literal: url },
    lookAt: { $cond: [hasLook, '$lookAt', new Date(lookAt)] },
    waiting: { $add: [{ $ifNull: ['$waiting', 0] }, added] },
    keptUntil: { $max: ['$keptUntil', new Date(lookAt + KEPT_MS)] },
  };
  return { q: { _id: targetId({ account, url }) }, u: [{ $set }, { $unset: 'empty' }], upsert: true };
}
