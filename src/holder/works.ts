/**
 * What goes on in a folder for as long as one process holds it: the holder's own work, and what others asked for.
 *
 * 1. What only reads is stopped where somebody else is to have the folder; it starts anew there.
 * 2. What writes comes to its end, unless a server shuts down. It may make the store that it writes to.
 * 3. What hasn't begun, since the store is still being opened, is stopped whatever it is.
 * 4. What is to be alone in the folder (a move of its accounts, a rebuild) gives way to nobody.
 */
import { later } from '../waiting.ts';

export type WorkKind = 'reads' | 'writes' | 'makes' | 'alone';

/** The work was stopped, or not begun, since the folder is about to be free or somebody else's. */
export class GivenWay extends Error {}

/** Nothing is done for others while this goes on. */
export class Busy extends Error {
  readonly what: string;

  constructor(what: string) {
    super(`busy with ${what}`);
    this.what = what;
  }
}

/** What is told to stop ends by itself within this time, or is left to itself: who closes the core cuts it off. */
const STOP_MS = 1_000;

interface Running {
  kind: WorkKind;
  /** The command. */
  name: string;
  stop(why: Error): void;
}

export interface WorkOptions {
  kind: WorkKind;
  name: string;
  /** Whoever asked for it has gone: nobody wants to know what is only read. */
  gone?: AbortSignal;
}

export class Works {
  readonly #running = new Set<Running>();
  #isOpen = true;
  #waiting: (() => void)[] = [];
  readonly #left = new AbortController();

  /** Aborted once the folder is given away: whoever still opens what is in it stops, with that reason. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /**
   * Does the work. Its signal says, with the reason, that it is to stop.
   * @throws GivenWay where the folder is given away
   */
  async run<Result>(
    { kind, name, gone }: WorkOptions,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#isOpen) throw new GivenWay();
    const controller = new AbortController();
    const left = later<never>();
    let late: NodeJS.Timeout | undefined;
    const stop = (why: Error): void => {
      controller.abort(why);
      late ??= setTimeout(() => left.reject(why), STOP_MS);
    };
    const running = { kind, name, stop };
    const onGone = (): void => {
      if (kind === 'reads') stop(new GivenWay());
    };
    this.#running.add(running);
    gone?.addEventListener('abort', onGone);
    try {
      return await Promise.race([work(controller.signal), left.promise]);
    } finally {
      clearTimeout(late);
      gone?.removeEventListener('abort', onGone);
      this.#running.delete(running);
      if (this.#running.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  /** Gives the folder away; or gives the name of the work that is to be alone, and goes on. */
  giveWay(): string | null {
    for (const { kind, name } of this.#running) if (kind === 'alone') return name;
    void this.leave();
    return null;
  }

  /** Begins nothing more and stops what reads; resolves once the rest has come to its end. */
  leave(): Promise<void> {
    this.#isOpen = false;
    this.#left.abort(new GivenWay());
    for (const { kind, stop } of this.#running) if (kind === 'reads') stop(new GivenWay());
    return this.#idle();
  }

  /** Begins nothing more; what hasn't ended after `patienceMs` is stopped for that reason. */
  async end(patienceMs: number, why: Error): Promise<void> {
    this.#isOpen = false;
    const late = setTimeout(() => {
      for (const { stop } of this.#running) stop(why);
    }, patienceMs);
    await this.#idle();
    clearTimeout(late);
  }

  async #idle(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
