/**
 * Reads the journal again as it grows, on and on, and tells where it doesn't add up. It takes a twentieth of a core at
 * the most, in steps between which requests have their turn, and puts down where it stands now and then.
 */
import { type FollowedTo, Following } from '../../../audit/following/log.ts';
import type { AttentionItem } from '../../../engine/store.ts';
import type { Follower } from '../../../store/open.ts';
import { turn } from '../../../waiting.ts';
import { Findings } from './findings.ts';
import { BUSY_MS, Pace } from './pace.ts';

export interface JournalFollowerOptions {
  follower: Pick<Follower, 'look' | 'settled' | 'now'>;
  /** Puts an item on the list of what needs a person. */
  note(item: AttentionItem): Promise<void>;
  swapMark(name: string, before: string | null, text: string): Promise<boolean>;
  /** All adds up until then (ms since 1970), but for what was noted. */
  onFollowed(at: number): void;
  onTrouble(error: unknown): void;
}

/** How far it has come. */
export interface Progress {
  /** Up to then all was read, ms since 1970; null before that was so. */
  at: number | null;
  /** Rows of the log that are still to be read. */
  lag: number;
  /** Charges that wait, as of then. */
  waiting: number;
}

const MARK = 'journal:followed';
const ENTRIES_A_STEP = 100;
/** How far it has come is put down so often: each time is a row of the log. */
const WRITTEN_EVERY_MS = 60_000;

/** What was put down; null where that is none of ours. */
function parsed(text: string | null): FollowedTo | null {
  if (text === null) return null;
  const { row, waiting } = JSON.parse(text) as Partial<FollowedTo>;
  return typeof row === 'number' && typeof waiting === 'number' ? { row, waiting } : null;
}

export class JournalFollower {
  readonly #options: JournalFollowerOptions;
  #following: Following | null = null;
  /** What lies in the store, and whether any batch was read since. */
  #mark: string | null = null;
  #isNews = false;
  #writtenAt = performance.now();
  #progress: (Progress & { at: number }) | null = null;
  readonly #findings: Findings;
  readonly #pace: Pace;

  constructor(options: JournalFollowerOptions) {
    this.#options = options;
    this.#findings = new Findings(options.note);
    this.#pace = new Pace(() => this.#read(), options.onTrouble);
  }

  /** Null before it has begun, and where the store has no log of all accounts. */
  get progress(): Progress | null {
    return this.#progress;
  }

  /** Puts down where it stands, and reads no more. */
  async close(): Promise<void> {
    await this.#pace.close();
    await this.#write().catch(this.#options.onTrouble);
  }

  async #read(): Promise<void> {
    const { follower, onFollowed } = this.#options;
    const following = this.#following ?? (await this.#begin());
    await this.#findings.tell();
    const startedAt = follower.now();
    const endsAt = performance.now() + BUSY_MS;
    await follower.settled(async ({ journal }) => {
      const { log } = journal;
      if (log === undefined) return;
      const last = log.lastRow();
      let at = this.#progress?.at ?? 0;
      for (const page of log.pages(ENTRIES_A_STEP, following.to.row)) {
        const faults = await following.judge(journal, page);
        this.#findings.add(faults, startedAt);
        await this.#findings.tell();
        const newest = page.batches.at(-1)?.batch.at;
        this.#isNews ||= newest !== undefined;
        at = newest === undefined ? at : Date.parse(newest);
        if (this.#pace.isClosed || performance.now() > endsAt) break;
        await turn();
      }
      const { row, waiting } = following.to;
      this.#progress = { at: row >= last ? startedAt : at, lag: Math.max(0, last - row), waiting };
    });
    if (this.#progress !== null) onFollowed(this.#progress.at);
    if (performance.now() - this.#writtenAt >= WRITTEN_EVERY_MS) await this.#write();
  }

  /** Goes on where a former run stood; a log that ends before that is another one. */
  async #begin(): Promise<Following> {
    const { follower } = this.#options;
    const { text, last } = await follower.look(async ({ marks, journal }) => ({
      text: await marks.mark(MARK),
      last: journal.log?.lastRow() ?? 0,
    }));
    this.#mark = text;
    const known = parsed(text);
    this.#following = new Following(known !== null && known.row <= last ? known : { row: 0, waiting: 0 });
    return this.#following;
  }

  /** Nothing is written where no batch was read, since that is a row of the log by itself, nor before all is told. */
  async #write(): Promise<void> {
    if (this.#following === null || !this.#isNews || !this.#findings.isTold) return;
    this.#writtenAt = performance.now();
    const text = JSON.stringify(this.#following.to satisfies FollowedTo);
    const isOurs = await this.#options.swapMark(MARK, this.#mark, text);
    this.#isNews = false;
    // Whoever was first has read the same log.
    this.#mark = isOurs ? text : await this.#options.follower.look(({ marks }) => marks.mark(MARK));
  }
}
