/** `verify`, `rebuild`: journals against what is stored beside them. */
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { BrokenJournal } from '../audit/broken-journal.ts';
import type { RebuildReport } from '../audit/rebuild.ts';
import type { VerifyReport } from '../audit/verify.ts';
import type { Core } from '../core.ts';
import type { Store } from '../engine/store.ts';
import { Failure, REFUSED } from './failure.ts';
import { expectAccount } from './find.ts';
import { inLine, type Output } from './output.ts';
import { type Progress, withProgress } from './progress.ts';
import type { Shell, Work } from './running/shell.ts';

const NOT_ALL = "a stored record that no journal tells of can't be read: verify names it";

interface VerifyOptions {
  heads?: boolean;
  decide?: boolean;
  account?: string;
}

/** Tells how far the work has come, where somebody looks at it. */
function told<Result>(
  output: Output,
  name: string,
  work: (onPage: (progress: Progress) => void) => Promise<Result>,
): Promise<Result> {
  if (!output.isWatched) return work(() => {});
  return withProgress({ name, write: (line) => output.aside(line) }, work);
}

function reportText(report: VerifyReport): string {
  const [first] = report.differences;
  const counts = `${report.accounts} accounts, ${report.batches} batches, ${report.entries} entries`;
  const heads = (report.heads ?? []).map(({ account, seq, hash }) => `${account}  ${seq}  ${hash}`);
  if (first === undefined) return [`ok: ${counts}`, ...heads].join('\n');
  const told = inLine(`${first.account} #${first.seq}: ${first.what}`);
  return [`NOT OK: ${report.differences.length} differences in ${counts}; the first:`, told, ...heads].join(
    '\n',
  );
}

/** Fewer rows of the log are read by one thread before a second one is there. */
const FEW_ROWS = 4_000;
const MOST_THREADS = 4;
/** A server needs its memory, and a container may give it less of the cores than there are. */
const MOST_BESIDE_A_SERVER = 2;

/** In how many threads a folder is verified: one core is left to whoever is served by this process. */
function threadsFor({ store, consoleAt }: Core, account: string | undefined): number {
  const rows = store.journal.log?.lastRow() ?? 0;
  // Where the system doesn't tell its boot, each thread makes the projections anew.
  if (account !== undefined || rows < FEW_ROWS || process.platform !== 'linux') return 1;
  const cores = availableParallelism();
  return consoleAt === null
    ? Math.min(MOST_THREADS, cores)
    : Math.max(1, Math.min(MOST_BESIDE_A_SERVER, cores - 1));
}

function verify({ heads = false, decide = false, account }: VerifyOptions): Work {
  return async (core, { output, signal }) => {
    const { store, bank, database, incarnation, place: folder } = core;
    await expectAccount(store, account);
    const { everyDoorSpeaks } = bank;
    const options = { heads, decide, everyDoorSpeaks, ...(account === undefined ? {} : { account }) };
    // What an audit takes is loaded only where it is used, since every command starts with this module.
    const report = await told(output, 'verify', async (onPage) => {
      if (database !== null) {
        const { verifyStore } = await import('../audit/verify.ts');
        return verifyStore(store.journal, { ...options, onPage });
      }
      const { verifyInThreads } = await import('../reader/thread.ts');
      return verifyInThreads(options, threadsFor(core, account), { folder, incarnation, signal, onPage });
    });
    return { document: report, text: reportText(report), exitCode: report.ok ? 0 : REFUSED };
  };
}

function rebuildStore(account: string | undefined): Work {
  return async (core, { output, signal }) => {
    const { store, database, incarnation, place: folder } = core;
    await expectAccount(store, account);
    const options = account === undefined ? {} : { account };
    const report = await told(output, 'rebuild', async (onPage) => {
      if (database !== null) return rebuiltHere(store, { ...options, onPage });
      const { rebuildInThread } = await import('../reader/thread.ts');
      return rebuildInThread(options, store.journal, { folder, incarnation, signal, onPage });
    }).catch((error: unknown) => {
      throw error instanceof BrokenJournal ? new Failure('JOURNAL_BROKEN', error.message) : error;
    });
    const counts = `${report.accounts} accounts, ${report.entries} entries`;
    const text = report.ok ? `rebuilt: ${counts}` : `NOT ALL rebuilt: ${counts}; ${NOT_ALL}`;
    return { document: report, text, exitCode: report.ok ? 0 : REFUSED };
  };
}

/** A database is read from wherever: nobody is served here meanwhile. */
async function rebuiltHere(
  { journal }: Store,
  options: { account?: string; onPage(progress: Progress): void },
): Promise<RebuildReport> {
  const { rebuild } = await import('../audit/rebuild.ts');
  const { openTemporaryTable } = await import('../store/scratch.ts');
  const scratch = await openTemporaryTable();
  try {
    return await rebuild(journal, { ...options, scratch });
  } finally {
    await scratch.close();
  }
}

/** Adds `verify` and `rebuild`. */
export function addAuditCommands(program: Command, shell: Shell): void {
  program
    .command('verify')
    .description('replays every journal: chain, sums, projections')
    .option('--heads', "every account's last sequence number and hash, to be kept elsewhere")
    .option('--decide', 'each message runs through its chart again')
    .option('--account <id>', 'this account alone')
    .action(async (options: VerifyOptions) => shell.run('reads', verify(options)));
  program
    .command('rebuild [account]')
    .description('makes what follows from the journals again: of an account, or of all')
    .action(async (account: string | undefined) => shell.run('alone', rebuildStore(account)));
}
