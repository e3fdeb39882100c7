/**
 * What every command works in. A command reads its arguments, and says then what it does with a core; where that is
 * done, in this process or in the one that holds the folder, is the shell's affair.
 */
import type { Config } from '../../config.ts';
import type { Core } from '../../core.ts';
import type { WorkKind } from '../../holder/works.ts';
import type { Access } from '../../store/open.ts';
import type { Outcome, Output } from '../output.ts';

/** What goes with a command's work. */
export interface Bench {
  output: Output;
  /** Aborted where the work is to stop: with the reason, which it then rejects with. */
  signal: AbortSignal;
}

/** What a command does, once its arguments are read. It knows neither this process's streams nor its end. */
export type Work = (core: Core, bench: Bench) => Promise<Outcome>;

/** What a command of a kind may do with the store. One that only reads may be asked to write for others in a folder. */
export function accessOf(kind: WorkKind): Access {
  if (kind === 'reads') return 'look';
  return kind === 'makes' ? 'make' : 'write';
}

export abstract class Shell {
  readonly output: Output;
  exitCode = 0;
  /** The command's name, `account create` for one. */
  command = '';
  /** The id under which what the command asks for is done once; null where it has none. */
  id: string | null = null;
  /** What the command has done by now, and has to say even where it fails later: null where that is nothing. */
  soFar: () => Outcome | null = () => null;

  constructor(output: Output) {
    this.output = output;
  }

  /** @throws ConfigError */
  abstract config(): Config;

  /** The system's user who gave the command; `uid N` where it has no name. */
  abstract get user(): string;

  /** Does a command's work, and ends the command with what it has to say. */
  abstract run(kind: WorkKind, work: Work): Promise<void>;

  /** Ends a command with what it has to say. */
  say(outcome: Outcome): void {
    this.exitCode = this.output.outcome(outcome);
  }

  /** Says why a command failed, and what it has done by then that is shown once; gives the exit code. */
  fail(error: unknown): number {
    return this.output.failure(error, this.id, this.soFar());
  }
}
