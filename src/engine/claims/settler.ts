/** Ends claims, in few writes, and for sure. */
import { again, turn } from '../../waiting.ts';
import type { Claim } from '../store/due.ts';
import { type DueIndex, type Settlement, StoreUnavailable } from '../store.ts';

const TRIES = 8;
const FIRST_PAUSE_MS = 50;

/** Does it again where the store can't be reached; @throws StoreUnavailable where it stays away for long. */
export function surely<Result>(work: () => Promise<Result>): Promise<Result> {
  return again(work, (error, attempt) => {
    const isAway = error instanceof StoreUnavailable && attempt < TRIES;
    return isAway ? FIRST_PAUSE_MS * 2 ** attempt : null;
  });
}

/**
 * Hears of a settlement's end, and doesn't throw. `isWritten`: the store was told. `counts`: and the claim was ours still:
 * what is due instead is due.
 */
type OnSettled = (isWritten: boolean, counts: boolean) => void;

interface SettlingGroup {
  settlements: Settlement[];
  parked: Claim[];
  /** Are told once the write has come to its end, each of the settlement at its place. */
  onSettled: { place: number; ended: OnSettled }[];
  /** Whether each settlement counts, by its place: false where another has the claim. */
  counting: readonly boolean[];
  written: Promise<boolean>;
}

/**
 * Ends claims: those of one turn of the event loop, and those that come while a write is under way, in one write.
 * It is tried again where the store can't be reached.
 */
export class Settler {
  readonly #due: Pick<DueIndex, 'settle' | 'park'>;
  readonly #onTrouble: (error: unknown) => void;
  #group: SettlingGroup | null = null;
  #underWay: Promise<unknown> = Promise.resolve();

  /** `onTrouble` gets what kept a write from being done: what it was about is found again. */
  constructor(due: Pick<DueIndex, 'settle' | 'park'>, onTrouble: (error: unknown) => void) {
    this.#due = due;
    this.#onTrouble = onTrouble;
  }

  /** Resolves once the store was told; false where it could not be. */
  settle(settlement: Settlement, ended?: OnSettled): Promise<boolean> {
    const group = this.#present();
    if (ended !== undefined) group.onSettled.push({ place: group.settlements.length, ended });
    group.settlements.push(settlement);
    return group.written;
  }

  /** As `settle`, without a promise for each. */
  settleThen(settlement: Settlement, ended: OnSettled): void {
    void this.settle(settlement, ended);
  }

  /** As `settle`. */
  park(claim: Claim): Promise<boolean> {
    const group = this.#present();
    group.parked.push(claim);
    return group.written;
  }

  #present(): SettlingGroup {
    if (this.#group === null) {
      const group: SettlingGroup = {
        settlements: [],
        parked: [],
        onSettled: [],
        counting: [],
        written: Promise.resolve(false),
      };
      group.written = this.#write(group, this.#underWay);
      this.#underWay = group.written;
      this.#group = group;
    }
    return this.#group;
  }

  async #write(group: SettlingGroup, before: Promise<unknown>): Promise<boolean> {
    await turn();
    await before;
    this.#group = null;
    const isWritten = await this.#tell(group);
    for (const { place, ended } of group.onSettled)
      ended(isWritten, isWritten && group.counting[place] !== false);
    return isWritten;
  }

  async #tell(group: SettlingGroup): Promise<boolean> {
    const { settlements, parked } = group;
    try {
      if (settlements.length > 0) group.counting = await surely(() => this.#due.settle(settlements));
      if (parked.length > 0) await surely(() => this.#due.park(parked));
      return true;
    } catch (error) {
      this.#onTrouble(error);
      return false;
    }
  }

  /** Resolves once the store was told of all that came until now: each group waits for the one before. */
  async idle(): Promise<void> {
    await this.#underWay;
  }
}
