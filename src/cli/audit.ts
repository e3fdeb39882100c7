/** `verify`, `rebuild`: journals against what is stored beside them. */
import type { Command } from 'commander';
import { rebuild } from '../audit/rebuild.ts';
import { BrokenJournal } from '../audit/reprojection.ts';
import { type VerifyReport, verifyStore } from '../audit/verify.ts';
import type { Store } from '../engine/store.ts';
import { openTemporaryTable } from '../store/scratch.ts';
import { accountNotFound, Failure, REFUSED } from './failure.ts';
import type { Outcome } from './output.ts';
import { type Progress, withProgress } from './progress.ts';
import type { Shell } from './shell.ts';

const LONGEST_ID = 200;
const NOT_ALL = "a stored record that no journal tells of can't be read: verify names it";

interface VerifyOptions {
  heads?: boolean;
  decide?: boolean;
  account?: string;
}

/** Tells how far the work has come, where somebody looks at it. */
function told<Result>(
  { output }: Shell,
  name: string,
  work: (onPage: (progress: Progress) => void) => Promise<Result>,
): Promise<Result> {
  if (!output.json && !process.stderr.isTTY) return work(() => {});
  return withProgress({ name, write: (line) => process.stderr.write(line) }, work);
}

/** @throws Failure where neither settings nor a journal bear the id */
async function expectAccount({ accounts, journal }: Store, id: string): Promise<void> {
  // No id of ours is longer, and the store's keys are bounded.
  if (id.length > LONGEST_ID) throw accountNotFound(id);
  if ((await accounts.get(id)) !== null) return;
  if ((await journal.batchesFrom(id, 1, 1)).length === 0) throw accountNotFound(id);
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
  const { heads = false, decide = false, account } = options;
  const wanted = { heads, decide, ...(account === undefined ? {} : { account }) };
  const report = await shell.reading(shell.config(), async ({ store, bank: { everyDoorSpeaks } }) => {
    if (account !== undefined) await expectAccount(store, account);
    return told(shell, 'verify', (onPage) =>
      verifyStore(store.journal, { ...wanted, everyDoorSpeaks, onPage }),
    );
  });
  return { document: report, text: reportText(report), exitCode: report.ok ? 0 : REFUSED };
}

async function rebuildStore(shell: Shell, account: string | undefined): Promise<Outcome> {
  const report = await shell.withCore(shell.config(), async ({ store }) => {
    if (account !== undefined) await expectAccount(store, account);
    const scratch = await openTemporaryTable();
    try {
      const wanted = { scratch, ...(account === undefined ? {} : { account }) };
      return await told(shell, 'rebuild', (onPage) => rebuild(store.journal, { ...wanted, onPage }));
    } catch (error) {
      throw error instanceof BrokenJournal ? new Failure('JOURNAL_BROKEN', error.message) : error;
    } finally {
      await scratch.close();
    }
  });
  const counts = `${report.accounts} accounts, ${report.entries} entries`;
  const text = report.ok ? `rebuilt: ${counts}` : `NOT ALL rebuilt: ${counts}; ${NOT_ALL}`;
  return { document: report, text, exitCode: report.ok ? 0 : REFUSED };
}

/** Adds `verify` and `rebuild`. */
export function addAuditCommands(program: Command, shell: Shell): void {
  program
    .command('verify')
    .description('replays every journal: chain, sums, projections')
    .option('--heads', "every account's last sequence number and hash, to be kept elsewhere")
    .option('--decide', 'each message runs through its chart again')
    .option('--account <id>', 'this account alone')
    .action(async (options: VerifyOptions) => shell.say(await verify(shell, options)));
  program
    .command('rebuild [account]')
    .description('makes what follows from the journals again: of an account, or of all')
    .action(async (account: string | undefined) => shell.say(await rebuildStore(shell, account)));
}
