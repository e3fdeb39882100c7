#!/usr/bin/env node
/** `pixstate`: the server and all that ops do beside it (docs/operations.md, "Commands"). */
import { type Command, CommanderError } from 'commander';
import { withoutPretenuring } from '../pretenuring.ts';
import { packageVersion } from '../version.ts';
import { addMigrateCommand } from './migrate.ts';
import { Output } from './output.ts';
import { runProgram } from './program.ts';
import { ProcessShell } from './running/process.ts';
import { outliveOutput } from './running/streams.ts';

/** Whether a program reads: known before parsing, since a command line that can't be parsed is told in JSON, too. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
}

/** What only a process of its own does. */
function addOwn(program: Command, shell: ProcessShell): void {
  program.option('--version', "the package's version").on('option:version', () => {
    const version = packageVersion();
    shell.say({ document: { version }, text: version });
    throw new CommanderError(0, 'commander.version', version);
  });
  program
    .command('serve')
    .description('the server')
    .action(async () => {
      const { serve, tellCantStart } = await import('../main.ts');
      const { output } = shell;
      await serve(shell.config(), output.json ? (error) => void output.failure(error) : tellCantStart);
    });
  program
    .command('demo')
    .description('shows it all in seconds, with a server of its own in a temporary folder')
    .action(async () => {
      const { demo } = await import('./demo/demo.ts');
      shell.exitCode = await demo(shell.output.json);
      // What it waits for doesn't come any more.
      if (shell.exitCode > 128) process.exit(shell.exitCode);
    });
  addMigrateCommand(program, shell);
}

const out = outliveOutput();
withoutPretenuring();
const args = process.argv.slice(2);
const json = wantsJson(args);
const output = new Output({
  json,
  isWatched: json || process.stderr.isTTY,
  out,
  err: (text) => void process.stderr.write(text),
});
const shell = new ProcessShell(output, args);
const code = await runProgram(args, shell, (program) => addOwn(program, shell));
// Output that was lost is a failure of its own.
if (code !== 0) process.exitCode = code;
