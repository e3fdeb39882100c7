/**
 * Reads the accounts' journals of a database again as they grow, on and on, and tells where they don't add up. One of the
 * servers does it, and the others know from it how far it is. It takes a twentieth of its time at the most, and puts down
 * now and then how far it has come.
 */
import { JournalsFollowing } from '../../../audit/following/journals.ts';
import type { FollowedJournals } from '../../../engine/store/journals.ts';
import type { Follower } from '../../../store/open.ts';
import { within } from '../../../waiting.ts';
import { Findings } from './findings.ts';
import type { JournalFollowerOptions, Progress } from './journal-follower.ts';
import { Lead } from './lead.ts';
import { BUSY_MS, Pace } from './pace.ts';

export interface JournalsFollowerOptions extends Omit<JournalFollowerOptions, 'follower'> {
  follower: Pick<Follower, 'look' | 'now'>;
  journals: FollowedJournals;
  /** Names this run of this process. */
  incarnation: string;
}

/** What the one that reads tells the others. */
type Told = Pick<Progress, 'at' | 'lag'>;

const MARK = 'journal:follower';
/** How far each account was read is put down so often, or where so many were read further. */
const KEPT_EVERY_MS = 60_000;
const MOST_UNKEPT = 2_000;
/** So long its end waits for the store. */
const CLOSE_MS = 2_000;

export class JournalsFollower {
  readonly #options: JournalsFollowerOptions;
  readonly #findings: Findings;
  readonly #lead: Lead;
  readonly #pace: Pace;
  #following: JournalsFollowing | null = null;
  #keptAt = Number.NEGATIVE_INFINITY;

  constructor(options: JournalsFollowerOptions) {
    const { follower, incarnation, note, swapMark, onTrouble } = options;
    this.#options = options;
    this.#findings = new Findings(note);
    this.#lead = new Lead({
      ...{ name: MARK, own: incarnation, swapMark, onTrouble },
      mark: (name) => follower.look(({ marks }) => marks.mark(name)),
      tell: () => this.#told,
    });
    this.#pace = new Pace(() => this.#read(), onTrouble);
  }

  /** Null before any of the servers has begun. */
  get progress(): Progress | null {
    const told = this.#told;
    return told === null ? null : { ...told, waiting: 0 };
  }

  /** Puts down how far it has come, and leaves the rest to the other servers. */
  async close(): Promise<void> {
    await this.#pace.close();
    const late = (): Error => new Error('the store takes too long');
    if (this.#lead.isHeld) await within(CLOSE_MS, this.#keep(), late).catch(this.#options.onTrouble);
    await this.#lead.close();
  }

  get #told(): Told | null {
    const following = this.#following;
    if (following === null) return this.#lead.told as Told | null;
    return { at: following.at, lag: following.lag };
  }

  async #read(): Promise<void> {
    if (this.#lead.isHeld) await this.#goOn();
    // What another one reads now, it knows from what is put down.
    else this.#following = null;
    const at = this.progress?.at ?? null;
    if (at !== null) this.#options.onFollowed(at);
  }

  async #goOn(): Promise<void> {
    const { follower, journals } = this.#options;
    this.#following ??= new JournalsFollowing((this.#lead.told as Told | null)?.at ?? null);
    const following = this.#following;
    await this.#findings.tell();
    const endsAt = performance.now() + BUSY_MS;
    do {
      const now = follower.now();
      this.#findings.add(await following.step(journals, now), now);
      await this.#findings.tell();
    } while (!following.isAtRest && performance.now() < endsAt && !this.#pace.isClosed);
    const isDue = performance.now() - this.#keptAt >= KEPT_EVERY_MS && following.isAtRest;
    if (isDue || following.unkept >= MOST_UNKEPT) await this.#keep();
  }

  /** Nothing is put down before all is told. */
  async #keep(): Promise<void> {
    const following = this.#following;
    if (following === null || following.unkept === 0 || !this.#findings.isTold) return;
    await following.keep(this.#options.journals);
    this.#keptAt = performance.now();
  }
}
