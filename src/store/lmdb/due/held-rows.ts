/**
 * Rows of the due index that this incarnation has in hand, in memory, and its claims on what lies in them. An
 * incarnation that fell silent is fenced by the one that takes its rows over: it has nothing in hand from then on.
 */
import { type Claim, claimOn, type Due } from '../../../engine/store/due.ts';
import type { DueKey, Tables } from '../tables.ts';

/** Stands in place of an incarnation's last heartbeat once its rows were taken over. */
export const FENCED = -1;

interface HeldRow {
  key: DueKey;
  /** Indexes of the row's things that are not settled yet. */
  left: Set<number>;
  /** Tells this holding of the row from an earlier one. */
  claim: number;
}

export class HeldRows {
  readonly #beats: Tables['beats'];
  readonly #incarnation: string;
  readonly #rows = new Map<string, HeldRow>();
  #claims = 0;

  constructor(beats: Tables['beats'], incarnation: string) {
    this.#beats = beats;
    this.#incarnation = incarnation;
  }

  has(key: DueKey): boolean {
    return this.#rows.has(key.join('|'));
  }

  /** Claims one thing of a row of ours. */
  hold(key: DueKey, index: number, due: Due): Claim {
    const id = key.join('|');
    let held = this.#rows.get(id);
    if (held === undefined) {
      this.#claims += 1;
      held = { key, left: new Set(), claim: this.#claims };
      this.#rows.set(id, held);
    }
    held.left.add(index);
    return claimOn(due, `${id}#${index}#${held.claim}`);
  }

  /** Whether a claim is ours still. */
  holds({ token }: Claim): boolean {
    const [id = '', index, claim] = token.split('#');
    const held = this.#rows.get(id);
    if (held?.claim !== Number(claim) || !held.left.has(Number(index))) return false;
    return this.#beats.get(this.#incarnation) !== FENCED;
  }

  /** Ends a claim; the row's key once nothing of it is left, `false` where the claim isn't ours any more. */
  letGo({ token }: Claim): DueKey | boolean {
    const [id = '', index, claim] = token.split('#');
    const held = this.#rows.get(id);
    if (held === undefined || held.claim !== Number(claim) || !held.left.delete(Number(index))) return false;
    if (held.left.size > 0) return true;
    this.#rows.delete(id);
    return held.key;
  }

  dropIfFenced(): void {
    if (this.#beats.get(this.#incarnation) === FENCED) this.#rows.clear();
  }
}
