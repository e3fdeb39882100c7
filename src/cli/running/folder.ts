/**
 * Runs a command on a data folder: in this process, which holds the folder meanwhile, or in the one that holds it. It is
 * the same work in both. Who holds the folder may change until the work is done: then it begins anew.
 */
import { newIncarnation, now } from '../../clock.ts';
import type { Config } from '../../config.ts';
import type { Core, CoreOptions } from '../../core.ts';
import { StoreUnavailable } from '../../engine/store.ts';
import { OperatorError, textOf, type Unwritten, writeFailure } from '../../errors.ts';
import type { Run } from '../../holder/answering.ts';
import { askToRun, described, otherVersion } from '../../holder/asking.ts';
import { FolderHold, Sighting } from '../../holder/hold.ts';
import { GivenWay, type WorkKind, type Works } from '../../holder/works.ts';
import { putClockDown } from '../../jobs/clock-watch.ts';
import { OlderLog } from '../../store/folder.ts';
import { CannotHold, type Holder, holderOf, sightOf } from '../../store/folder-lock.ts';
import { type Access, accessToHeld, dataFolder } from '../../store/open.ts';
import { packageVersion } from '../../version.ts';
import { type Later, later, pause } from '../../waiting.ts';
import type { Outcome, Output } from '../output.ts';
import { behind } from './behind.ts';
import { runOn } from './others.ts';
import { accessOf, type Work } from './shell.ts';

const DRAIN_MS = 10_000;
/** Longer than servers wait, which take precedence. */
const POLL_MS = 50;
/** A holder that takes nothing more is about to end; a server's end takes up to 9 s. */
const PATIENCE_MS = 20_000;
/** What stands there may be a dead holder's name, which the next one is about to write over. */
const NAMELESS_MS = 1_500;
/** Whoever the folder was given away to takes it within this time. */
const GIVEN_MS = 250;

/** A command that is to be run. */
export interface Errand {
  config: Config;
  /** The command line. */
  args: readonly string[];
  /** The system's user who gave it. */
  user: string;
  /** The id under which what it asks for is done once; null where it has none. */
  id: string | null;
  /** The command's name. */
  name: string;
  kind: WorkKind;
  work: Work;
  output: Output;
  /** Ends the process, whose command has failed. */
  end(failure: Error): void;
  /** Ends the process, whose command has come to its end, and says what has failed behind it. */
  endAfter(outcome: Outcome, failure: Error): void;
}

const MAY_BE_DONE = 'What was asked for may be done or not';

/** Opens a core. @throws OperatorError */
export async function openedCore(config: Config, options: CoreOptions): Promise<Core> {
  // A command that asks a server starts without engine and store.
  const { openCore } = await import('../../core.ts');
  try {
    return await openCore(config, { ...options, endsAtLack: true });
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the store can't be opened: ${textOf(error)}`);
  }
}

/** Who opened the store to read it alone writes for nobody: others do that themselves when it has ended. */
async function giveWay(): Promise<never> {
  throw new GivenWay();
}

class InFolder {
  readonly #errand: Errand;
  readonly #folder: string;
  readonly #access: Access;
  readonly #version = packageVersion();
  readonly #refusals = new Sighting();
  /** Whether something may have been done, should the store fail. */
  #isBegun = false;
  /** What was done, and is durable. */
  #outcome: Outcome | null = null;
  #isEnding = false;

  constructor(errand: Errand) {
    this.#errand = errand;
    this.#access = accessOf(errand.kind);
    this.#folder = dataFolder(errand.config.dataDir, this.#access);
  }

  async run(): Promise<number> {
    for (;;) {
      const code = (await this.#here()) ?? (await this.#there());
      if (code !== null) return code;
      await pause(POLL_MS);
    }
  }

  /** In this process; null where another one holds the folder, or was given it. */
  async #here(): Promise<number | null> {
    const { name, output } = this.#errand;
    const incarnation = newIncarnation();
    const since = new Date(now()).toISOString();
    const self = { incarnation, pid: process.pid, since, version: this.#version, what: name };
    const run = later<Run>();
    try {
      const hold = await FolderHold.take(this.#folder, self, run.promise);
      if (hold === null) return null;
      return output.outcome(await this.#holding(hold, incarnation, run).finally(() => hold.release()));
    } catch (error) {
      if (error instanceof CannotHold && this.#access === 'look') return this.#reading();
      if (!(error instanceof GivenWay)) throw error;
      await pause(GIVEN_MS);
      return null;
    }
  }

  /** Does the work, and what others ask for meanwhile. All that was written is durable when this resolves. */
  async #holding({ works }: FolderHold, incarnation: string, run: Later<Run>): Promise<Outcome> {
    const { kind, name, work, output } = this.#errand;
    this.#isBegun = false;
    let core: Core;
    let isOnlyRead: boolean;
    try {
      ({ core, isOnlyRead } = await this.#opened(incarnation, works.left));
    } catch (error) {
      // What others asked for they do themselves, and see what is wrong.
      run.reject(new GivenWay());
      throw works.left.aborted ? works.left.reason : error;
    }
    const forOthers = isOnlyRead ? { ...core, checkWritable: giveWay } : core;
    run.resolve(runOn(forOthers, works));
    try {
      this.#isBegun = true;
      this.#outcome = await works.run({ kind, name }, (signal) => work(core, { output, signal }));
      return this.#outcome;
    } finally {
      await behind(output, () => this.#leave(core, works));
      // The folder is held until the process has ended.
      if (this.#isEnding) await new Promise<never>(() => {});
    }
  }

  async #leave({ store, engine, now, close }: Core, works: Works): Promise<void> {
    try {
      if (this.#outcome !== null && this.#access !== 'look') await putClockDown(store.marks, now());
    } finally {
      await works.leave();
      await engine.drain(DRAIN_MS);
      await close();
    }
  }

  /** A write failed. Whether a log that fails has what was to be written, nobody knows, and it answers nothing any more. */
  #onFatal(error: Error, unwritten: Unwritten): void {
    // The projections follow from the log: who closes the store is told that they aren't written.
    if (unwritten === 'projections') return;
    this.#isEnding = true;
    const failure = new OperatorError(writeFailure(error));
    if (this.#outcome !== null) this.#errand.endAfter(this.#outcome, failure);
    else if (!this.#isBegun || this.#access === 'look') this.#errand.end(failure);
    else this.#errand.end(new StoreUnavailable(`${failure.message} ${MAY_BE_DONE}`));
  }

  /** Whoever looks at an older log only reads it. */
  async #opened(incarnation: string, left: AbortSignal): Promise<{ core: Core; isOnlyRead: boolean }> {
    const { config } = this.#errand;
    const onFatal: CoreOptions['onFatal'] = (error, unwritten) => this.#onFatal(error, unwritten);
    const opened = async (access: Access) => ({
      core: await openedCore(config, { access, incarnation, signal: left, onFatal }),
      isOnlyRead: access === 'read',
    });
    try {
      return await opened(accessToHeld(this.#folder, this.#access));
    } catch (error) {
      if (error instanceof OlderLog && this.#access === 'look') return opened('read');
      throw error;
    }
  }

  /**
   * Where the folder can't be written by this process, it holds nothing, and only reads; null where another one holds it,
   * or has held it meanwhile: what was read beside one who writes is worth nothing, be it an error.
   */
  async #reading(): Promise<number | null> {
    const before = sightOf(this.#folder);
    if (before === null) return null;
    let outcome: Outcome;
    try {
      outcome = await this.#read();
    } catch (error) {
      if (sightOf(this.#folder) !== before) return null;
      throw error;
    }
    return sightOf(this.#folder) === before ? this.#errand.output.outcome(outcome) : null;
  }

  async #read(): Promise<Outcome> {
    const { config, work, output } = this.#errand;
    // Nothing is written.
    const core = await openedCore(config, { access: 'read', onFatal: () => {} });
    try {
      return await work(core, { output, signal: new AbortController().signal });
    } finally {
      await core.close();
    }
  }

  /** In the process that holds the folder; null where nothing was done. @throws OperatorError after a while of that */
  async #there(): Promise<number | null> {
    const { args, user, id, config, output } = this.#errand;
    const folder = this.#folder;
    const version = this.#version;
    const holder = holderOf(folder);
    if (holder === null || holder.socket === null) {
      if (this.#refusals.of(holder) > NAMELESS_MS) throw this.#unasked(holder);
      return null;
    }
    const { stuckAfterS, allowPrivateWebhooks, language } = config;
    const settings = { stuckAfterS, allowPrivateWebhooks, ...(language === 'pt' ? { language } : {}) };
    const { json, isWatched } = output;
    const request = { args: [...args], user, id, settings, json, isWatched };
    const answer = await askToRun({ folder, holder, version }, request, (text) => output.aside(text));
    if (answer.kind === 'ended') {
      for (const text of answer.out) output.given(text, answer.ifLost);
      return answer.code;
    }
    if (this.#refusals.of(holder) > PATIENCE_MS) throw this.#unasked(holder);
    return null;
  }

  #unasked(holder: Holder | null): OperatorError {
    if (holder === null)
      return new OperatorError(`the data folder ${this.#folder} is held by another process`);
    if (holder.version !== this.#version)
      return otherVersion(this.#folder, holder, holder.version, this.#version);
    return new OperatorError(`${described(this.#folder, holder)}, which takes no commands now`);
  }
}

/** Runs a command on the data folder of the configuration; its exit code. @throws whatever its work throws */
export function runInFolder(errand: Errand): Promise<number> {
  return new InFolder(errand).run();
}
