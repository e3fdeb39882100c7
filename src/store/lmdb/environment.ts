/**
 * The embedded store while it is open, as its roles share it: the log, the projections behind it, the queue of what is
 * written in groups, and the watch over all writes. It is closed once, for all roles.
 */
import { StoreUnavailable } from '../../engine/store.ts';
import { asError, type Unwritten } from '../../errors.ts';
import type { LogGroup } from './log/group.ts';
import type { Log } from './log/log.ts';
import type { Fact } from './log/rows.ts';
import { WriteQueue } from './log/write-queue.ts';
import { WriteWatch } from './log/write-watch.ts';
import { applyFacts } from './projections/apply.ts';
import type { ProjectionsFile } from './projections/file.ts';
import type { Projections } from './projections/projections.ts';

export interface EnvironmentOptions {
  log: Log;
  file: ProjectionsFile;
  projections: Projections;
  /** As `LmdbStoreOptions` has it. */
  onFatal(error: Error, unwritten: Unwritten): void;
  onFlush(ms: number, writes: number): void;
}

export class Environment {
  readonly watch = new WriteWatch();
  readonly #options: EnvironmentOptions;
  readonly #queue: WriteQueue;
  #closing: Promise<void> | null = null;

  constructor(options: EnvironmentOptions) {
    const { log, projections, onFlush } = options;
    this.#options = options;
    this.#queue = new WriteQueue({
      begin: () => log.begin(),
      write: (group, issue) => log.write(group, issue),
      onWritten: (group, ms, writes) => {
        if (group.last > 0) projections.upTo(group.last);
        else projections.changed();
        onFlush(ms, writes);
      },
      onFatal: (error) => this.fatal(error, 'log'),
    });
  }

  fatal(error: Error, unwritten: Unwritten): void {
    // lmdb tells the cause in a promise of its own.
    const cause = (error as Error & { commitError?: Promise<never> }).commitError;
    const { onFatal } = this.#options;
    if (cause === undefined) onFatal(error, unwritten);
    else cause.catch((reason: unknown) => onFatal(reason instanceof Error ? reason : error, unwritten));
  }

  /** For what is under way; all else begins with `opened`. */
  get projections(): Projections {
    return this.#options.projections;
  }

  /** As `projections`. */
  get log(): Log {
    return this.#options.log;
  }

  /** @throws StoreUnavailable after `close` */
  get opened(): this {
    this.expectOpen();
    return this;
  }

  /** @throws StoreUnavailable after `close` */
  expectOpen(): void {
    if (this.#closing !== null) throw new StoreUnavailable('the store is closed');
  }

  /**
   * Issues with a group of writes; resolves with what `applied` gives once the group is durable. `isPatient`: nobody waits
   * for it.
   */
  write<Issued, Result>(
    issue: (group: LogGroup) => Issued,
    applied: (issued: Issued) => Result,
    isPatient = false,
  ): Promise<Result> {
    this.expectOpen();
    return new Promise((resolve, reject) => {
      let finish: () => Result;
      const operation = {
        issue: (group: LogGroup): void => {
          const issued = issue(group);
          finish = () => applied(issued);
        },
        done: () => resolve(finish()),
        reject,
      };
      this.#queue.add(operation, isPatient);
    });
  }

  /**
   * Writes the facts that are decided on at their turn; resolves once they are durable and applied. The caller of one
   * that waits too long is told; the write goes on.
   */
  async facts<Result>(
    decide: (projections: Projections) => { facts: Fact[]; result: Result },
  ): Promise<Result> {
    const { projections } = this.#options;
    const written = this.write(
      (group) => {
        const { facts, result } = decide(projections);
        return { facts, result, place: group.facts(facts) };
      },
      ({ facts, result, place }) => {
        applyFacts(projections, facts, place);
        return result;
      },
    );
    return this.watch.bound(written);
  }

  /** Writes something that says nothing. Its failure is fatal, as any other write's. */
  beat(now: number): Promise<void> {
    const beaten = this.opened.log.beat(now).catch((error: unknown) => {
      this.fatal(asError(error), 'log');
      throw error;
    });
    return this.watch.bound(beaten);
  }

  /** @throws StoreUnavailable after `close`, and while a write has been waiting for too long. */
  check(): void {
    this.opened.log.check();
    this.watch.check();
  }

  /** Writes what waits, then closes. @throws OperatorError where the projections can't be written: all is closed then, too */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { log, file, projections } = this.#options;
    await this.#queue.close();
    try {
      await projections.close();
    } finally {
      await file.close();
      await log.close();
    }
  }
}
