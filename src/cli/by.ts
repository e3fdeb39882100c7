/** Who does what a command does, and why: the options of all commands that act. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { By } from '../domain/messages.ts';
import type { Acting } from '../ops/acting.ts';
import type { Values } from './options.ts';

const MAX_NAME = 140;
const MAX_REASON = 500;
const MAX_ID = 255;

export interface ByOptions {
  by?: string;
  reason?: string;
}

/** Those of commands that are applied once for an id. */
export interface ActingOptions extends ByOptions {
  id?: string;
}

/** Adds `--by`. */
export function addBy(command: Command): Command {
  return command.option('--by <name>', "who does it, for the journal (default: the system's user)");
}

/** Adds `--by` and `--reason`. */
export function addByAndReason(command: Command): Command {
  return addBy(command).option('--reason <text>', 'why, for the journal');
}

/** Adds `--by`, `--reason` and `--id`. */
export function addActing(command: Command): Command {
  return addByAndReason(command).option(
    '--id <id>',
    'what is asked for is done once for an id (default: a random one)',
  );
}

/** Who does something; mistakes are kept in `values`. `user`: the system's. */
export function byOf({ by, reason }: ByOptions, user: string, values: Values): By {
  return {
    name: values.text('--by', by ?? user, MAX_NAME),
    reason: reason === undefined ? null : values.text('--reason', reason, MAX_REASON),
    role: 'operator',
  };
}

/** The same, with the id that it is done under. */
export function actingOf(options: ActingOptions, user: string, values: Values): Acting {
  const id = values.text('--id', options.id ?? randomUUID(), MAX_ID);
  return { id, by: byOf(options, user, values) };
}
