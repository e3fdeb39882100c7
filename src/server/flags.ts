/** The steps of a server's start and end, in memory that its threads share: all see one at once, and without a message. */

const CLOSING = 0;
const DRAINING = 1;
const OPENED = 2;
const STARTED = 3;

/** The flags of a server; each thread has one of these on the same memory. */
export class Flags {
  readonly memory: SharedArrayBuffer;
  readonly #flags: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#flags = new Int32Array(memory);
  }

  /** The end has begun: requests are still served, and connections end with their answers. */
  get closing(): boolean {
    return Atomics.load(this.#flags, CLOSING) === 1;
  }

  close(): void {
    Atomics.store(this.#flags, CLOSING, 1);
  }

  /** Nothing is begun any more. */
  get draining(): boolean {
    return Atomics.load(this.#flags, DRAINING) === 1;
  }

  drain(): void {
    Atomics.store(this.#flags, DRAINING, 1);
  }

  /** What must be known before anything is done is: whose money the store holds, for one. */
  get opened(): boolean {
    return Atomics.load(this.#flags, OPENED) === 1;
  }

  open(): void {
    Atomics.store(this.#flags, OPENED, 1);
  }

  /** The start is through. */
  start(): void {
    Atomics.store(this.#flags, STARTED, 1);
  }

  /** Why nothing is served, as far as no store has to be asked. `awaited`: what a start has yet to do. */
  whyNot(awaited: string): string | null {
    if (this.closing) return 'shutting down';
    return Atomics.load(this.#flags, STARTED) === 1 ? null : awaited;
  }
}
