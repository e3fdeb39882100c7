/**
 * Group commit: what is written in one turn of the event loop, or while the group before is being written,
 * travels in one LMDB transaction. A failed write or flush is fatal: what the disk holds is not known then.
 */
import { StoreUnavailable } from '../engine/store.ts';

export interface WriteOperation {
  /** Issues the writes, synchronously; what it returns settles once the group is durable. */
  issue(group: WriteGroup): void;
  /** After the group is durable. */
  done(): void;
  reject(error: Error): void;
}

/** One group on its way to the disk. */
export interface WriteGroup {
  /** Conditional writes that must be known before `done`. */
  readonly promises: Promise<unknown>[];
  /** Called once all operations have issued their writes, before the group is sent. */
  readonly last: (() => void)[];
}

const GROUP_OPERATIONS = 2048;

export class WriteQueue {
  readonly #onFatal: (error: Error) => void;
  readonly #startGroup: () => WriteGroup;
  #waiting: WriteOperation[] = [];
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(startGroup: () => WriteGroup, onFatal: (error: Error) => void) {
    this.#startGroup = startGroup;
    this.#onFatal = onFatal;
  }

  add(operation: WriteOperation): void {
    if (this.#closed) {
      operation.reject(new StoreUnavailable('the store is closed'));
      return;
    }
    this.#waiting.push(operation);
    this.#running ??= this.#run();
  }

  /** Writes what waits; takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const operations = this.#waiting.splice(0, GROUP_OPERATIONS);
      try {
        const group = this.#startGroup();
        for (const operation of operations) operation.issue(group);
        for (const issue of group.last) issue();
        await Promise.all(group.promises);
      } catch (error) {
        this.#closed = true;
        this.#onFatal(error instanceof Error ? error : new Error(String(error)));
        // Nobody is answered: the process stops, and what the disk holds is found at the next start.
        return;
      }
      for (const operation of operations) operation.done();
    }
    this.#running = null;
  }
}
