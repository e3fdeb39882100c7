/**
 * Whose turn it is: accounts with commands in their mailboxes, in the order in which they got them. What waits is
 * decided in one turn of the event loop, for all accounts, so that it shares a group of writes; a round is bounded, so
 * that requests, decisions and writes overlap.
 */
import { onceATurn } from '../../waiting.ts';

/** An account's actor, as far as its turn is concerned. */
export interface InTurn {
  /** Has the next commands decided; how many. */
  begin(): number;
}

/**
 * Commands decided in one turn where nothing is said: were it all that waits, all clients would travel as one, and each
 * thread wait for the other.
 */
export const IN_A_ROUND = 16;

export class Rounds {
  #ready: InTurn[] = [];
  readonly #most: number;
  readonly #schedule = onceATurn(() => this.#round());

  /**
   * With `most` commands in hand no other account's are taken up in the same turn. An account's own batch is not split.
   */
  constructor(most = IN_A_ROUND) {
    this.#most = most;
  }

  /** Its turn comes once; it asks again where something is left. */
  add(actor: InTurn): void {
    this.#ready.push(actor);
    this.#schedule();
  }

  #round(): void {
    let actors = 0;
    let commands = 0;
    for (const actor of this.#ready) {
      if (commands >= this.#most) break;
      actors += 1;
      commands += actor.begin();
    }
    this.#ready = this.#ready.slice(actors);
    if (this.#ready.length > 0) this.#schedule();
  }
}
