/** The shell of a process of its own: its configuration, and where a command's work is done. */
import { type Config, readConfig } from '../../config.ts';
import { systemUser } from '../../console/user.ts';
import type { Core } from '../../core.ts';
import { OperatorError } from '../../errors.ts';
import type { WorkKind } from '../../holder/works.ts';
import { within } from '../../waiting.ts';
import type { Outcome, Output } from '../output.ts';
import { behind, tellBehind } from './behind.ts';
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
    const own = { config, args: this.#args, user: this.user, id, name, kind, work, output };
    this.exitCode = await runInFolder({
      ...own,
      end: (failure) => this.end(failure),
      endAfter: (outcome, failure) => this.#endAfter(outcome, failure),
    });
  }

  /** All that the work wrote is durable when this resolves. */
  async #onDatabase(config: Config, kind: WorkKind, work: Work): Promise<Outcome> {
    const access = kind === 'reads' ? 'read' : accessOf(kind);
    // Only a folder's store fails for good.
    const core = await openedCore(config, { access, onFatal: () => {} });
    await readySoon(core);
    // Where others share the store, they take up what a silent process leaves; this one isn't silent.
    const beating = kind === 'reads' ? undefined : setInterval(() => beat(core), BEAT_MS);
    try {
      return await work(core, { output: this.output, signal: new AbortController().signal });
    } finally {
      clearInterval(beating);
      await behind(this.output, async () => {
        await core.engine.drain(DRAIN_MS);
        await core.close();
      });
    }
  }

  /** Ends the process where its store has failed, which answers nothing any more. */
  end(failure: unknown): never {
    process.exit(this.fail(failure));
  }

  /** Ends it the same way where all that was asked for is done. */
  #endAfter(outcome: Outcome, failure: Error): void {
    this.say(outcome);
    tellBehind(this.output, failure);
    if (this.exitCode !== 0) process.exitCode = this.exitCode;
    // That stdout can't be written comes to light a moment later.
    process.stdout.write('', () => setImmediate(() => process.exit()));
  }
}
