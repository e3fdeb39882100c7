/**
 * Group commit: what is written at one time, or while the group before is being written,
 * travels in one LMDB transaction. A failed write or flush is fatal: what the disk holds is not known then.
 */
import { StoreUnavailable } from '../../../engine/store.ts';
import { asError } from '../../../errors.ts';
import { onceThisEnds } from '../../../waiting.ts';
import type { LogGroup } from './group.ts';

export interface WriteOperation {
  /** Says what is to be written, synchronously. */
  issue(group: LogGroup): void;
  /** After the group is durable. */
  done(): void;
  reject(error: Error): void;
}

export interface WriteQueueOptions {
  /** Begins a group. */
  begin(): LogGroup;
  /** Writes what was issued; resolves once it is durable. */
  write(group: LogGroup, issue: () => void): Promise<void>;
  /** The group is durable and all of its operations know. */
  onWritten(group: LogGroup, ms: number, writes: number): void;
  /** A write or flush failed: nobody is answered, and the process must stop. */
  onFatal(error: Error): void;
}

const GROUP_OPERATIONS = 2048;
/** What nobody waits for is written with what somebody does, and alone where none of that comes within so long. */
const PATIENCE_MS = 5;

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #waiting: WriteOperation[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** How many operations the last group had. */
  #lastSize = 0;
  /** A round of the engine shares a group. */
  readonly #schedule = onceThisEnds(() => this.#send());
  /** Somebody waits for some of it, or it has waited long enough. */
  #isUrgent = false;
  #patience: NodeJS.Timeout | undefined;
  #closed = false;
  #failed = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** `isPatient`: nobody waits for it. */
  add(operation: WriteOperation, isPatient = false): void {
    if (this.#closed) {
      operation.reject(new StoreUnavailable('the store is closed'));
      return;
    }
    this.#waiting.push(operation);
    if (isPatient) {
      this.#patience ??= setTimeout(() => this.#sendAll(), PATIENCE_MS);
      return;
    }
    this.#isUrgent = true;
    this.#schedule();
  }

  #sendAll(): void {
    this.#isUrgent = true;
    this.#send();
  }

  /** Writes what waits; takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    while (!this.#failed && (this.#waiting.length > 0 || this.#underWay.size > 0)) {
      this.#sendAll();
      await Promise.all(this.#underWay);
    }
  }

  #send(): void {
    if (this.#failed || this.#waiting.length === 0 || !this.#isUrgent) return;
    // A second group is handed over while the first is being written, so that the disk needn't wait for us; but
    // not a small one, which would only keep others from sharing a flush.
    const isBusy = this.#underWay.size > 0;
    if (isBusy && (this.#underWay.size > 1 || this.#waiting.length < this.#lastSize / 2)) return;
    const operations = this.#waiting.splice(0, GROUP_OPERATIONS);
    this.#lastSize = operations.length;
    if (this.#waiting.length === 0) this.#rest();
    const group = this.#write(operations).finally(() => {
      this.#underWay.delete(group);
      this.#send();
    });
    this.#underWay.add(group);
  }

  #rest(): void {
    this.#isUrgent = false;
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  async #write(operations: readonly WriteOperation[]): Promise<void> {
    const { begin, write, onWritten, onFatal } = this.#options;
    const begun = performance.now();
    const group = begin();
    try {
      await write(group, () => {
        for (const operation of operations) operation.issue(group);
        group.end();
      });
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      this.#closed = true;
      // Nobody is answered: the process stops, and what the disk holds is found at the next start.
      onFatal(asError(error));
      return;
    }
    if (this.#failed) return;
    const ms = performance.now() - begun;
    for (const operation of operations) operation.done();
    onWritten(group, ms, operations.length);
  }
}
