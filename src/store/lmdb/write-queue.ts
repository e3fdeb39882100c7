/**
 * Group commit: what is written in one turn of the event loop, or while the group before is being written,
 * travels in one LMDB transaction. A failed write or flush is fatal: what the disk holds is not known then.
 */

import { StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { onceATurn } from '../../waiting.ts';
import type { Tables } from './tables.ts';

export interface WriteOperation {
  /** Issues the writes, synchronously. */
  issue(group: WriteGroup): void;
  /** After the group is durable. */
  done(): void;
  reject(error: Error): void;
}

/** One group on its way to the disk. */
export interface WriteGroup {
  /** Writes whose outcome must be known before `done`. */
  readonly promises: Promise<unknown>[];
  /** Called once all operations have issued their writes, before the group is sent. */
  readonly last: (() => void)[];
}

const GROUP_OPERATIONS = 2048;

export class WriteQueue {
  readonly #tables: Tables;
  readonly #onFatal: (error: Error) => void;
  readonly #onFlush: (ms: number, writes: number) => void;
  readonly #starts: ((group: WriteGroup) => void)[] = [];
  #waiting: WriteOperation[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** How many operations the last group had. */
  #lastSize = 0;
  /** Everything that arrives in one turn of the event loop shares a group. */
  readonly #schedule = onceATurn(() => this.#send());
  #closed = false;
  #failed = false;

  /** `onFlush` hears of each group that is on the disk: how long that took, in ms, and how many writes it had. */
  constructor(
    tables: Tables,
    onFatal: (error: Error) => void,
    onFlush: (ms: number, writes: number) => void = () => {},
  ) {
    this.#tables = tables;
    this.#onFatal = onFatal;
    this.#onFlush = onFlush;
  }

  /** Calls `start` with each group that begins, before its operations issue anything; first come, first called. */
  onStart(start: (group: WriteGroup) => void): void {
    this.#starts.push(start);
  }

  add(operation: WriteOperation): void {
    if (this.#closed) {
      operation.reject(new StoreUnavailable('the store is closed'));
      return;
    }
    this.#waiting.push(operation);
    this.#schedule();
  }

  /** Writes what waits; takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    while (!this.#failed && (this.#waiting.length > 0 || this.#underWay.size > 0)) {
      this.#send();
      await Promise.all(this.#underWay);
    }
  }

  #send(): void {
    if (this.#failed || this.#waiting.length === 0) return;
    // A second group is handed over while the first is being written, so that the disk needn't wait for us; but
    // not a small one, which would only keep others from sharing a flush.
    const isBusy = this.#underWay.size > 0;
    if (isBusy && (this.#underWay.size > 1 || this.#waiting.length < this.#lastSize / 2)) return;
    const operations = this.#waiting.splice(0, GROUP_OPERATIONS);
    this.#lastSize = operations.length;
    const group = this.#write(operations).finally(() => {
      this.#underWay.delete(group);
      this.#send();
    });
    this.#underWay.add(group);
  }

  async #issue(operations: readonly WriteOperation[]): Promise<void> {
    const group: WriteGroup = { promises: [], last: [] };
    for (const start of this.#starts) start(group);
    let failure: unknown = null;
    // One LMDB transaction: what is issued within the batch is written together or not at all.
    const written = this.#tables.root.batch(() => {
      try {
        for (const operation of operations) operation.issue(group);
        for (const issue of group.last) issue();
      } catch (error) {
        failure = error ?? new Error('a write could not be issued');
      }
    });
    await Promise.all([written, ...group.promises]);
    // lmdb writes what was issued before a failure: that it has come to its end must be known, too.
    if (failure !== null) throw failure;
  }

  async #write(operations: readonly WriteOperation[]): Promise<void> {
    const begun = performance.now();
    try {
      await this.#tables.gate.write(() => this.#issue(operations));
      this.#onFlush(performance.now() - begun, operations.length);
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      this.#closed = true;
      this.#onFatal(asError(error));
      // Nobody is answered: the process stops, and what the disk holds is found at the next start.
      return;
    }
    if (this.#failed) return;
    for (const operation of operations) operation.done();
  }
}
