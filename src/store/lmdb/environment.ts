/**
 * The embedded store's LMDB environment while it is open, as its roles share it: the tables, the queue of what is
 * written in groups, and the watch over all writes. It is closed once, for all roles.
 */
import { StoreUnavailable } from '../../engine/store.ts';
import { asError } from '../../errors.ts';
import { closeTables, type Tables, transact } from './tables.ts';
import { WriteQueue } from './write-queue.ts';
import { WriteWatch } from './write-watch.ts';

export class Environment {
  /** For what is issued within a group; other reads begin with `fresh`. */
  readonly tables: Tables;
  readonly queue: WriteQueue;
  readonly watch = new WriteWatch();
  readonly #onFatal: (error: Error) => void;
  #closing: Promise<void> | null = null;

  /** `onFatal`: a write or flush failed, and the process must stop. */
  constructor(
    tables: Tables,
    onFatal: (error: Error) => void,
    onFlush: (ms: number, writes: number) => void,
  ) {
    this.tables = tables;
    this.queue = new WriteQueue(tables, (error) => this.#fatal(error), onFlush);
    this.#onFatal = onFatal;
  }

  #fatal(error: Error): void {
    // lmdb tells the cause in a promise of its own.
    const cause = (error as Error & { commitError?: Promise<never> }).commitError;
    if (cause === undefined) this.#onFatal(error);
    else cause.catch((reason: unknown) => this.#onFatal(reason instanceof Error ? reason : error));
  }

  /**
   * The tables as they are now: without the reset, a read may be as old as the event loop's last turns.
   * @throws StoreUnavailable after `close`
   */
  fresh(): Tables {
    if (this.#closing !== null) throw new StoreUnavailable('the store is closed');
    this.tables.root.resetReadTxn();
    return this.tables;
  }

  /** A write that reads first, in one transaction, for what is rare. Its failure is fatal. */
  async transaction<Result>(body: (tables: Tables) => Result): Promise<Result> {
    return this.watch.bound(this.#transact(this.fresh(), body));
  }

  async #transact<Result>(tables: Tables, body: (tables: Tables) => Result): Promise<Result> {
    try {
      return await transact(tables, () => body(tables));
    } catch (error) {
      this.#fatal(asError(error));
      throw error;
    }
  }

  /** @throws StoreUnavailable after `close`, and while a write has been waiting for too long. */
  check(): void {
    this.fresh().accounts.doesExist('');
    this.watch.check();
  }

  /** Writes what waits, then closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.queue.close();
    await closeTables(this.tables);
  }
}
