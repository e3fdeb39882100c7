/** The command line: all commands on a store, as whoever runs them parses them. */
import { randomUUID } from 'node:crypto';
import { Command, CommanderError } from 'commander';
import { GivenWay } from '../holder/works.ts';
import { addAccountCommands } from './account/account.ts';
import { addAttentionCommands } from './attention.ts';
import { addAuditCommands } from './audit.ts';
import { addBankCommands } from './bank.ts';
import { addConsoleCommand } from './console.ts';
import { addDeliveryCommands } from './deliveries.ts';
import { wrongUsage } from './failure.ts';
import type { Shell } from './running/shell.ts';
import { addTransactionCommands } from './transactions.ts';

const HELP_CODES = new Set(['commander.helpDisplayed', 'commander.version']);

/** Gives every command `--json`: it may stand anywhere. */
function addJson(command: Command): void {
  if (!command.options.some(({ long }) => long === '--json')) {
    command.option('--json', 'one JSON document on stdout, all else on stderr');
  }
  for (const child of command.commands) addJson(child);
}

/** Of an option that may stand once, and stands twice, the last value would hold, in silence. */
function expectOnce(command: Command): void {
  for (const option of command.options) {
    // Those that may stand several times collect their values.
    if (!option.required || option.parseArg !== undefined) continue;
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (isGiven) throw wrongUsage(`--${option.name()} may stand once; --help tells more`);
      isGiven = true;
    });
  }
  for (const child of command.commands) expectOnce(child);
}

function nameOf(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each?.parent; each = each.parent) names.unshift(each.name());
  return names.join(' ');
}

/**
 * The id of a command that has one, be it a random one. Whoever asks chooses it and sends it along, so that it can be
 * told where no answer comes.
 */
function chooseId(command: Command, shell: Shell): void {
  if (!command.options.some(({ long }) => long === '--id')) return;
  const { id }: { id?: string } = command.opts();
  shell.id = id ?? shell.id ?? randomUUID();
  command.setOptionValue('id', shell.id);
}

function programOf(shell: Shell, addOwn: (program: Command) => void): Command {
  const program = new Command('pixstate');
  program
    .description('Charges, transfers, balances and webhooks on an append-only journal.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => shell.output.help(text), writeErr: () => {} })
    .hook('preAction', (_, command) => {
      shell.command = nameOf(command);
      chooseId(command, shell);
    });
  addOwn(program);
  addAccountCommands(program, shell);
  addTransactionCommands(program, shell);
  addDeliveryCommands(program, shell);
  addAttentionCommands(program, shell);
  addAuditCommands(program, shell);
  addBankCommands(program, shell);
  addConsoleCommand(program, shell);
  addJson(program);
  expectOnce(program);
  return program;
}

/** Commander's complaint as a failure; null where commander only showed help. */
function usageOf(error: CommanderError, args: readonly string[]): Error | null {
  if (HELP_CODES.has(error.code) || (error.code === 'commander.help' && error.exitCode === 0)) return null;
  if (error.code === 'commander.help')
    return wrongUsage(`a command is missing; pixstate ${namesOf(args)}--help lists them`);
  return wrongUsage(`${error.message.replace(/^error: /, '').replaceAll('\n', ' ')}; --help tells more`);
}

function namesOf(args: readonly string[]): string {
  const names = args.filter((arg) => !arg.startsWith('-'));
  return names.length === 0 ? '' : `${names.join(' ')} `;
}

/**
 * Runs a command line; the exit code. `addOwn` adds what only a process of its own does.
 * @throws GivenWay where the work was stopped, or not begun
 */
export async function runProgram(
  args: readonly string[],
  shell: Shell,
  addOwn: (program: Command) => void = () => {},
): Promise<number> {
  try {
    await programOf(shell, addOwn).parseAsync(args, { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    if (error instanceof GivenWay) throw error;
    const failure = error instanceof CommanderError ? usageOf(error, args) : error;
    return failure === null ? 0 : shell.fail(failure);
  }
}
