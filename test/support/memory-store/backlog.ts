/** What waits behind targets, in memory. */

import {
  FAR_MS,
  LOOK_MS,
  type PutBehind,
  type Target,
  targetId,
  type WaitingTarget,
} from '../../../src/engine/store/backlog.ts';
import { type ClaimOf, type Due, isOf } from '../../../src/engine/store/due.ts';
import type { MemoryDue } from './due.ts';

interface Row {
  target: Target;
  look: number;
  waiting: (Due & { kind: 'delivery' })[];
}

export class MemoryBacklog {
  readonly #due: MemoryDue;

  readonly #rows = new Map<string, Row>();

  constructor(due: MemoryDue) {
    this.#due = due;
  }

  put({ target: { account, url }, claims, lookAt }: PutBehind): number {
    const id = targetId({ account, url });
    const row = this.#rows.get(id) ?? { target: { account, url }, look: lookAt, waiting: [] };
    this.#rows.set(id, row);
    for (const { due, token } of claims) if (this.#due.end(token)) row.waiting.push(due);
    row.waiting.sort((a, b) => a.at - b.at || (a.delivery < b.delivery ? -1 : 1));
    return row.waiting.length;
  }

  claimLooks(now: number, limit: number): Target[] {
    const due = [...this.#rows.values()].filter(({ look }) => look <= now).sort((a, b) => a.look - b.look);
    return due.slice(0, limit).map((row) => {
      row.look = now + LOOK_MS;
      return row.target;
    });
  }

  take(
    target: Target,
    now: number,
    limit: number,
    incarnation: string,
  ): { claims: ClaimOf<'delivery'>[]; left: number } {
    const row = this.#rows.get(targetId(target));
    if (row === undefined) return { claims: [], left: 0 };
    row.look = now + LOOK_MS;
    const claims = row.waiting.splice(0, limit).map((due) => this.#due.addClaimed(due, incarnation));
    return {
      claims: claims.filter((claim): claim is ClaimOf<'delivery'> => isOf(claim, 'delivery')),
      left: row.waiting.length,
    };
  }

  lookAgain(target: Target, at: number): void {
    const id = targetId(target);
    const row = this.#rows.get(id);
    if (row === undefined) return;
    if (row.waiting.length === 0) this.#rows.delete(id);
    else row.look = at;
  }

  /** No look lies so far ahead: the clock was set back. */
  rewind(now: number): void {
    for (const row of this.#rows.values()) if (row.look > now + FAR_MS) row.look = now;
  }

  targets(after: string, limit: number): WaitingTarget[] {
    return [...this.#rows]
      .filter(([id]) => id > after)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([id, { target, waiting }]) => ({ id, ...target, waiting: waiting.length }));
  }

  total(): number {
    return [...this.#rows.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }
}
