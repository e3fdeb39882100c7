/** The shell of a process of its own: its configuration, and where a command's work is done. */
import { type Config, readConfig } from '../../config.ts';
import { systemUser } from '../../console/user.ts';
import type { Core } from '../../core.ts';
import { OperatorError, writeFailure } from '../../errors.ts';
import type { WorkKind } from '../../holder/works.ts';
import { within } from '../../waiting.ts';
import type { Outcome, Output } from '../output.ts';
import { openedCore, runInFolder } from './folder.ts';
import { accessOf, Shell, type Work } from './shell.ts';

const DRAIN_MS = 10_000;
const READY_MS = 6_000;
const BEAT_MS = 1_000;

function beat({ store, now }: Core): void {
  // One that fails is followed by the next.
  store.due.beat(now()).catch(() => {});
}

/** A server waits for its database; a command is told soon. */
async function readySoon({ ready, close, place }: Core): Promise<void> {
  const late = (): Error => new OperatorError(`${place} can't be reached within ${READY_MS / 1000} s`);
  try {
    await within(READY_MS, ready, late);
  } catch (error) {
    await close();
    throw error;
  }
}

export class ProcessShell extends Shell {
  readonly #args: readonly string[];

  constructor(output: Output, args: readonly string[]) {
    super(output);
    this.#args = args;
  }

  config(): Config {
    return readConfig();
  }

  get user(): string {
    return systemUser();
  }

  async run(kind: WorkKind, work: Work): Promise<void> {
    const { output, id, command: name } = this;
    const config = this.config();
    if (config.mongodbUri !== null) {
      this.say(await this.#onDatabase(config, kind, work));
      return;
    }
    const onFatal = (error: Error): never => this.fatal(error);
    const own = { config, args: this.#args, user: this.user, id };
    this.exitCode = await runInFolder({ ...own, name, kind, work, output, onFatal });
  }

  /** All that the work wrote is durable when this resolves. */
  async #onDatabase(config: Config, kind: WorkKind, work: Work): Promise<Outcome> {
    const onFatal = (error: Error): never => this.fatal(error);
    const core = await openedCore({ config, onFatal }, kind === 'reads' ? 'read' : accessOf(kind));
    await readySoon(core);
    // Where others share the store, they take up what a silent process leaves; this one isn't silent.
    const beating = kind === 'reads' ? undefined : setInterval(() => beat(core), BEAT_MS);
    try {
      return await work(core, { output: this.output, signal: new AbortController().signal });
    } finally {
      clearInterval(beating);
      await core.engine.drain(DRAIN_MS);
      await core.close();
    }
  }

  /** A write failed: what the disk holds is not known, and nobody waits for an answer that never comes. */
  fatal(error: Error): never {
    this.output.failure(new OperatorError(writeFailure(error)));
    process.exit(1);
  }
}
