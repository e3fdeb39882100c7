/** `verify`: the whole store. */
import type { Command } from 'commander';
import { type VerifyReport, verifyStore } from '../audit/verify.ts';
import { REFUSED } from './failure.ts';
import type { Outcome } from './output.ts';
import type { Shell } from './shell.ts';

interface VerifyOptions {
  heads?: boolean;
  decide?: boolean;
}

function reportText(report: VerifyReport): string {
  const [first] = report.differences;
  const counts = `${report.accounts} accounts, ${report.batches} batches, ${report.entries} entries`;
  const heads = (report.heads ?? []).map(({ account, seq, hash }) => `${account}  ${seq}  ${hash}`);
  if (first === undefined) return [`ok: ${counts}`, ...heads].join('\n');
  const told = `${first.account} #${first.seq}: ${first.what}`;
  return [`NOT OK: ${report.differences.length} differences in ${counts}; the first:`, told, ...heads].join(
    '\n',
  );
}

async function verify(shell: Shell, options: VerifyOptions): Promise<Outcome> {
  const wanted = { heads: options.heads === true, decide: options.decide === true };
  const report = await shell.reading(shell.config(), ({ store, bank }) =>
    verifyStore(store.journal, { ...wanted, everyDoorSpeaks: bank.everyDoorSpeaks }),
  );
  return { document: report, text: reportText(report), exitCode: report.ok ? 0 : REFUSED };
}

/** Adds `verify`. */
export function addOpsCommands(program: Command, shell: Shell): void {
  program
    .command('verify')
    .description('replays every journal: chain, sums, projections')
    .option('--heads', "every account's last sequence number and hash, to be kept elsewhere")
    .option('--decide', 'each message runs through its chart again')
    .action(async (options: VerifyOptions) => shell.say(await verify(shell, options)));
}
