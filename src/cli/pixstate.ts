#!/usr/bin/env node
/** `pixstate`: the server and all that ops do beside it (docs/operations.md, "Commands"). */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './account.ts';
import { addAttentionCommands } from './attention.ts';
import { addAuditCommands } from './audit.ts';
import { wrongUsage } from './failure.ts';
import { addMigrateCommand } from './migrate.ts';
import { Output } from './output.ts';
import { Shell } from './shell.ts';
import { addTransactionCommands } from './transactions.ts';

const HELP_CODES = new Set(['commander.helpDisplayed', 'commander.version']);

/** Whether a program reads: known before parsing, since a command line that can't be parsed is told in JSON, too. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
}

/** Gives every command `--json`: it may stand anywhere. */
function addJson(command: Command): void {
  if (!command.options.some(({ long }) => long === '--json')) {
    command.option('--json', 'one JSON document on stdout, all else on stderr');
  }
  for (const child of command.commands) addJson(child);
}

function serverCommands(program: Command, shell: Shell): void {
  program
    .command('serve')
    .description('the server')
    .action(async () => {
      const { serve } = await import('../main.ts');
      await serve(shell.config());
    });
  program
    .command('demo')
    .description('shows it all in seconds, with a server of its own in a temporary folder')
    .action(async () => {
      const { demo } = await import('./demo.ts');
      shell.exitCode = await demo(shell.output.json);
    });
}

/** The version in the package's own description, which lies somewhere above the build. */
function packageVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path))
      return String((JSON.parse(readFileSync(path, 'utf8')) as { version: unknown }).version);
    if (dirname(folder) === folder) throw new Error('the package has no package.json');
  }
}

function programOf(shell: Shell): Command {
  const program = new Command('pixstate');
  program
    .description('Charges, transfers, balances and webhooks on an append-only journal.')
    .option('--version', "the package's version")
    .on('option:version', () => {
      const version = packageVersion();
      shell.say({ document: { version }, text: version });
      throw new CommanderError(0, 'commander.version', version);
    })
    .exitOverride()
    .configureOutput({ writeOut: (text) => shell.output.help(text), writeErr: () => {} });
  serverCommands(program, shell);
  addAccountCommands(program, shell);
  addTransactionCommands(program, shell);
  addAttentionCommands(program, shell);
  addAuditCommands(program, shell);
  addMigrateCommand(program, shell);
  addJson(program);
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

async function main(args: readonly string[]): Promise<number> {
  const output = new Output(wantsJson(args));
  const shell = new Shell(output);
  try {
    await programOf(shell).parseAsync(args, { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    const failure = error instanceof CommanderError ? usageOf(error, args) : error;
    return failure === null ? 0 : output.failure(failure);
  }
}

// The reader of our output may leave early, `head` for one: that is no failure of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await main(process.argv.slice(2));
