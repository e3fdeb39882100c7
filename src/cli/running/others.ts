/** Runs commands that others ask for, in the process that holds the data folder and on its core. */
import type { Config } from '../../config.ts';
import type { Core } from '../../core.ts';
import type { Call, Run } from '../../holder/answering.ts';
import type { WorkKind, Works } from '../../holder/works.ts';
import { Output } from '../output.ts';
import { runProgram } from '../program.ts';
import { Shell, type Work } from './shell.ts';

/** Keys, bank, store and clock are the holder's; the rest of the settings came with the command. */
class CallShell extends Shell {
  readonly #call: Call;
  readonly #core: Core;
  readonly #works: Works;

  constructor(call: Call, core: Core, works: Works) {
    super(new Output(call));
    this.#call = call;
    this.#core = core;
    this.#works = works;
    this.id = call.id;
  }

  config(): Config {
    return { ...this.#core.config, language: 'en', ...this.#call.settings };
  }

  get user(): string {
    return this.#call.user;
  }

  async run(kind: WorkKind, work: Work): Promise<void> {
    const { output, command: name } = this;
    const { gone } = this.#call;
    const outcome = await this.#works.run({ kind, name, gone }, async (signal) => {
      // Whoever opened the core may only have wanted to read.
      if (kind !== 'reads') await this.#core.checkWritable();
      return work(this.#core, { output, signal });
    });
    this.say(outcome);
  }
}

/** Runs commands on the core, among the other works in the folder. */
export function runOn(core: Core, works: Works): Run {
  return (call) => runProgram(call.args, new CallShell(call, core, works));
}
