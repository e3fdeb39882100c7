/**
 * Reads the embedded store beside the one who writes it, in another thread of the process that has the folder.
 *
 * 1. A look sees all that was answered before it: what is durable is in the log, and what isn't in the projections' file
 *    yet is taken up from there, by each look a little.
 * 2. What is taken up is let go of with the file's state, which looks share for a second: it stays small, and the file's
 *    old pages come free. While nobody looks, nothing is kept.
 */
import type { StoreReads } from '../../engine/store.ts';
import { LmdbAccounts, LmdbMarks } from './accounts.ts';
import { LmdbAttention } from './attention.ts';
import { Environment } from './environment.ts';
import { logIn, projectionsIn } from './files.ts';
import { LmdbJournal } from './journal.ts';
import { Log } from './log/log.ts';
import { ProjectionsFile } from './projections/file.ts';
import { Projections } from './projections/projections.ts';
import { follow } from './projections/replay.ts';
import { LmdbTail } from './tail.ts';

/** The projections' file as it was at a time, and what came after it. */
interface View {
  file: ProjectionsFile;
  projections: Projections;
  environment: Environment;
  openedAt: number;
  /** How many look at it. */
  looks: number;
}

export interface FollowerOptions {
  folder: string;
  /** Names this run of this process. */
  incarnation: string;
  now(): number;
}

/** So long looks share a view. */
const VIEW_MS = 1_000;
/** With more changes behind it a view is given up. */
const MOST_BEHIND = 20_000;

export class LmdbFollower {
  readonly #options: FollowerOptions;
  readonly #log: Log;
  readonly #file: ProjectionsFile;
  #view: View | null = null;
  #idle: NodeJS.Timeout | undefined;

  private constructor(options: FollowerOptions, log: Log, file: ProjectionsFile) {
    this.#options = options;
    this.#log = log;
    this.#file = file;
    file.leave();
  }

  /** The store must be open in this process. @throws Error where it isn't */
  static async open(options: FollowerOptions): Promise<LmdbFollower> {
    const log = new Log(logIn(options.folder), { readOnly: true });
    const file = await ProjectionsFile.beside(projectionsIn(options.folder), log);
    if (file !== null) return new LmdbFollower(options, log, file);
    await log.close();
    throw new Error('its projections belong to another log');
  }

  async look<Result>(work: (reads: StoreReads) => Promise<Result>): Promise<Result> {
    const view = this.#current();
    view.looks += 1;
    try {
      follow(this.#log, view.projections);
      return await work(this.#readsOf(view));
    } finally {
      view.looks -= 1;
      if (view !== this.#view && view.looks === 0) view.file.leave();
    }
  }

  /** A look at what was in the projections' file by now, which takes up nothing of the log: that is up to a second old. */
  async settled<Result>(work: (reads: StoreReads) => Promise<Result>): Promise<Result> {
    const view = this.#open();
    this.#log.renew();
    try {
      return await work(this.#readsOf(view));
    } finally {
      view.file.leave();
    }
  }

  #readsOf({ environment }: View): StoreReads {
    // What a journal keeps in mind would be old at the next look.
    const journal = new LmdbJournal(environment, this.#options.now);
    return {
      journal,
      accounts: new LmdbAccounts(environment),
      marks: new LmdbMarks(environment),
      attention: new LmdbAttention(environment),
    };
  }

  #current(): View {
    const known = this.#view;
    const isFresh = known !== null && performance.now() - known.openedAt < VIEW_MS;
    if (known !== null && isFresh && known.projections.waiting < MOST_BEHIND) return known;
    this.#giveUp();
    this.#view = this.#open();
    this.#idle = setTimeout(() => this.#giveUp(), VIEW_MS);
    return this.#view;
  }

  /** The next look sees what was put into the file without a row of the log, too. */
  refresh(): void {
    this.#giveUp();
  }

  #giveUp(): void {
    clearTimeout(this.#idle);
    const view = this.#view;
    this.#view = null;
    if (view?.looks === 0) view.file.leave();
  }

  #open(): View {
    const { incarnation, now } = this.#options;
    const log = this.#log;
    const file = this.#file.asOfNow();
    const onFatal = (error: Error): never => {
      throw error;
    };
    const projections = new Projections({ file, log, incarnation, now, onFailure: onFatal });
    const environment = new Environment({ log, file, projections, onFatal, onFlush: () => {} });
    return { file, projections, environment, openedAt: performance.now(), looks: 0 };
  }

  /** Reads what is written from now on. */
  tail(): LmdbTail {
    return new LmdbTail(this.#log);
  }

  async close(): Promise<void> {
    this.#giveUp();
    await this.#file.closeRead();
    await this.#log.close();
  }
}
