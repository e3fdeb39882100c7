/**
 * The time that requests may take, without a timer for each: all have the same, so they end in the order in
 * which they came, and one look at the oldest now and then is enough.
 */
export interface Deadline {
  /** The request has ended: nothing is left to do. */
  done: boolean;
}

interface Waiting extends Deadline {
  at: number;
  expire(): void;
}

const LOOK_MS = 250;

export class Deadlines {
  readonly #timeoutMs: number;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #first = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(timeoutMs: number, now: () => number) {
    this.#timeoutMs = timeoutMs;
    this.#now = now;
  }

  /** `expire` is called once the time is over, unless the deadline is done by then. */
  add(expire: () => void): Deadline {
    const waiting: Waiting = { at: this.#now() + this.#timeoutMs, done: false, expire };
    this.#waiting.push(waiting);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return waiting;
  }

  #look(): void {
    const now = this.#now();
    for (; this.#first < this.#waiting.length; this.#first++) {
      const oldest = this.#waiting[this.#first] as Waiting;
      if (!oldest.done && oldest.at > now) break;
      if (!oldest.done) oldest.expire();
    }
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
    if (this.#waiting.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
