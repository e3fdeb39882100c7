/** Waiting: for a while, for others, for a place, at most so long, again until it works, once for all. */
import { setMaxListeners } from 'node:events';

/** What is there at once, where it can be. */
export type Soon<Result> = Result | Promise<Result>;

/** Resolves after so many ms. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * A time around the given one, so that callers that failed together don't come back together. The spread comes
 * from the high-resolution clock: it is for chance, not for time.
 */
export function jittered(ms: number): number {
  const spread = Number(process.hrtime.bigint() % 1_000n) / 1_000;
  return ms * (0.5 + spread);
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** The pause after so many failed attempts, ms: longer each time. */
export function pauseAfter(attempt: number): number {
  return jittered(Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS));
}

/** Resolves once all that waits in the event loop has had its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Items that are worked on before others have their turn. */
const IN_A_SLICE = 100;

/** Does the work on each, in slices with a turn in between: where all is there at once, others are heard meanwhile. */
export async function inSlices<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Soon<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += IN_A_SLICE) {
    if (from > 0) await turn();
    results.push(...(await Promise.all(items.slice(from, from + IN_A_SLICE).map(work))));
  }
  return results;
}

/** A promise that others settle. */
export interface Later<Value> {
  promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: Error): void;
}

/** A promise, and how it is settled. Where nobody waits for it, nobody is surprised by its error. */
export function later<Value>(): Later<Value> {
  let settle: Pick<Later<Value>, 'resolve' | 'reject'> = { resolve() {}, reject() {} };
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => {});
  return { promise, ...settle };
}

/**
 * Waits for the work, at most `ms`. Work that takes longer goes on; its outcome is nobody's then.
 * @throws what `late` gives, after `ms`
 */
export async function within<Result>(ms: number, work: Promise<Result>, late: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until the work has ended, well or not, at most `ms`; what takes longer goes on. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  await within(ms, work, () => new Error('late')).catch(() => {});
}

/**
 * Gives signals that abort work which takes `ms`, and up to `spreadMs` more: whoever asks within so long gets the same
 * one. With an `AbortSignal.timeout` of its own a command to MongoDB takes a sixth more CPU.
 */
export function deadlines(ms: number, spreadMs: number): () => AbortSignal {
  let signal = AbortSignal.abort();
  let until = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() < until) return signal;
    const controller = new AbortController();
    const abort = (): void => controller.abort(new DOMException('The work took too long', 'TimeoutError'));
    setTimeout(abort, ms + spreadMs).unref();
    signal = controller.signal;
    // Each of many commands listens while it is under way.
    setMaxListeners(0, signal);
    until = performance.now() + spreadMs;
    return signal;
  };
}

/**
 * Does the work until it succeeds. `next` gives the ms until the next attempt (they count from 1), or null
 * where another attempt is no use.
 * @throws the error after which `next` gave null
 */
export async function again<Result>(
  work: () => Soon<Result>,
  next: (error: unknown, attempt: number) => number | null,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const ms = next(error, attempt);
      if (ms === null) throw error;
      await pause(ms);
    }
  }
}

/** A call of what it is given, once for all who ask for it until `begin` runs it. */
function onceBy(begin: (run: () => void) => void, work: () => void): () => void {
  let asked = false;
  const run = (): void => {
    asked = false;
    work();
  };
  return () => {
    if (asked) return;
    asked = true;
    begin(run);
  };
}

/** A call of what it is given, once for all who ask for it in one turn of the event loop, at the turn's end. */
export function onceATurn(work: () => void): () => void {
  // Looked up when it is needed: the simulator has timers of its own.
  return onceBy((run) => setImmediate(run), work);
}

/** As `onceATurn`, but not at the turn's end: as soon as what runs now has ended. */
export function onceThisEnds(work: () => void): () => void {
  return onceBy(queueMicrotask, work);
}

/** What has the turn, or waits for it, last. */
const turns = new Map<string, Promise<unknown>>();

/** Does the work once all that came before under the same name, in this process, has ended. */
export async function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const before = turns.get(name) ?? Promise.resolve();
  const own = before.then(work, work);
  turns.set(name, own);
  try {
    return await own;
  } finally {
    if (turns.get(name) === own) turns.delete(name);
  }
}

/** Places for what may be under way at once. Who finds none waits for one, behind those that came before. */
export class Semaphore {
  #free: number;
  /** Each lets one in; the first of them waits longest. */
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  /** Whether there was a place within so many ms, for ever where nothing is said; whoever has got one releases it. */
  async acquire(ms?: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    const { promise, resolve } = later<boolean>();
    const letIn = (): void => resolve(true);
    this.#waiting.add(letIn);
    if (ms === undefined) return promise;
    const timer = setTimeout(() => {
      this.#waiting.delete(letIn);
      resolve(false);
    }, ms);
    const isIn = await promise;
    clearTimeout(timer);
    return isIn;
  }

  release(): void {
    const [letIn] = this.#waiting;
    if (letIn === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(letIn);
    letIn();
  }
}
