/** What every command works in: the configuration, the core beside a running server, and what it has to say. */
import { type Config, readConfig } from '../config.ts';
import { type Core, openCore, writeFailure } from '../core.ts';
import { OperatorError, textOf } from '../errors.ts';
import type { Access } from '../store/open.ts';
import { within } from '../waiting.ts';
import type { Outcome, Output } from './output.ts';

const DRAIN_MS = 10_000;
const READY_MS = 6_000;
const BEAT_MS = 1_000;

function beat({ store, now }: Core): void {
  // One that fails is followed by the next.
  store.due.beat(now()).catch(() => {});
}

export class Shell {
  readonly output: Output;
  exitCode = 0;

  constructor(output: Output) {
    this.output = output;
  }

  /** @throws ConfigError */
  config(): Config {
    return readConfig();
  }

  /** Opens the core for one piece of work; all that it wrote is durable when this resolves. */
  withCore<Result>(config: Config, work: (core: Core) => Promise<Result>): Promise<Result> {
    return this.#within(config, 'write', work);
  }

  /** Opens the core for work that only reads: it waits for no writer, not even for a frozen one. */
  reading<Result>(config: Config, work: (core: Core) => Promise<Result>): Promise<Result> {
    return this.#within(config, 'read', work);
  }

  async #within<Result>(
    config: Config,
    access: Access,
    work: (core: Core) => Promise<Result>,
  ): Promise<Result> {
    const core = await this.#open(config, access);
    // Where others share the store, they take up what a silent process leaves; this one isn't silent.
    const isToBeat = core.database !== null && access !== 'read';
    const beating = isToBeat ? setInterval(() => beat(core), BEAT_MS) : undefined;
    try {
      return await work(core);
    } finally {
      clearInterval(beating);
      await core.engine.drain(DRAIN_MS);
      await core.close();
    }
  }

  async #open(config: Config, access: Access): Promise<Core> {
    try {
      const onFatal = (error: Error): never => this.#fatal(error);
      const core = await openCore(config, { access, onFatal });
      await this.#ready(core);
      return core;
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      const reason = textOf(error);
      throw new OperatorError(`the store can't be opened: ${reason}`);
    }
  }

  /** A server waits for its database; a command is told soon. */
  async #ready({ ready, close, place }: Core): Promise<void> {
    const late = (): Error => new OperatorError(`${place} can't be reached within ${READY_MS / 1000} s`);
    try {
      await within(READY_MS, ready, late);
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** A write failed: what the disk holds is not known, and nobody waits for an answer that never comes. */
  #fatal(error: Error): never {
    this.output.failure(new OperatorError(writeFailure(error)));
    process.exit(1);
  }

  /** Ends a command with what it has to say. */
  say(outcome: Outcome): void {
    this.exitCode = this.output.outcome(outcome);
  }
}
