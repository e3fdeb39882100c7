/** `bank`: what ops ask of the bank itself, with the configuration's own credentials. */
import type { Command } from 'commander';
import type { BankConnection } from '../bank/api-pix/connection.ts';
import type { Notes } from '../bank/api-pix/notes.ts';
import type { Report, Sum } from '../bank/api-pix/reconciling/report.ts';
import type { BankSettings } from '../bank/api-pix/settings.ts';
import { elapsed, now } from '../clock.ts';
import { readBankConfig } from '../config.ts';
import type { Core } from '../core.ts';
import { lookUp } from '../engine/lookups.ts';
import { addByAndReason, type ByOptions, byOf } from './by.ts';
import { Failure, REFUSED, WRONG_USAGE } from './failure.ts';
import { findTransaction } from './find.ts';
import { Values } from './options.ts';
import { inLine, labelled, type Outcome, reais } from './output.ts';
import type { Shell, Work } from './running/shell.ts';

const NO_BANK = 'the sandbox is no bank: bank commands are for BANK=api-pix';

/** @throws Failure with the sandbox: there is no bank to ask */
function settingsOfBank(): BankSettings {
  const settings = readBankConfig();
  if (settings !== null) return settings;
  throw new Failure('INVALID_REQUEST', NO_BANK, {}, WRONG_USAGE);
}

async function check(fix: boolean): Promise<Outcome> {
  const settings = settingsOfBank();
  // Commands that need no bank start without its client.
  const { BankConnection } = await import('../bank/api-pix/connection.ts');
  const { checkBank } = await import('../bank/api-pix/check.ts');
  const connection = new BankConnection(settings, { now, elapsed });
  try {
    const keys = settings.pixKey === null ? [] : [settings.pixKey];
    const checks = await checkBank({ connection, settings, keys, fix, now });
    const ok = checks.every((each) => each.ok);
    const rows = checks.map(
      (each) => [`${each.ok ? 'ok  ' : 'FAIL'} ${each.name}`, inLine(each.detail)] as const,
    );
    return { document: { ok, checks }, text: labelled(rows), exitCode: ok ? 0 : REFUSED };
  } finally {
    await connection.close();
  }
}

/** The bank that a core works with. @throws Failure with the sandbox */
function connectionOf({ connection, bankNotes: notes }: Core): { connection: BankConnection; notes: Notes } {
  if (connection !== null && notes !== null) return { connection, notes };
  throw new Failure('INVALID_REQUEST', NO_BANK, {}, WRONG_USAGE);
}

/** A failure of the bank's, for a person. */
async function atTheBank<Result>(work: () => Promise<Result>): Promise<Result> {
  const { CallFailed } = await import('../bank/api-pix/wire/outcome.ts');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    throw new Failure('BANK_UNAVAILABLE', error.message);
  }
}

function reconcile(options: { from?: string; to?: string }): Work {
  const values = new Values();
  const from = Date.parse(values.time('--from', options.from ?? ''));
  const to = Date.parse(values.time('--to', options.to ?? ''));
  if (from >= to) values.wrong('--to', 'must be later than --from');
  values.check();
  return async (core) => {
    const { connection, notes } = connectionOf(core);
    const { BankLists } = await import('../bank/api-pix/reconciling/bank-lists.ts');
    const { reconcileSpan } = await import('../bank/api-pix/reconciling/report.ts');
    const { journal, due } = core.store;
    const lists = new BankLists({ connection, notes, journal, due, now: core.now });
    const report = await atTheBank(() => reconcileSpan(lists, connection, journal, { from, to }));
    return { document: report, text: reportText(report), exitCode: report.ok ? 0 : REFUSED };
  };
}

function reportText(report: Report): string {
  const row = (name: 'payments' | 'sendings' | 'returns'): [string, string] => {
    const shown = ({ count, amount }: Sum): string => `${count}, ${reais(amount)}`;
    return [name, `${shown(report[name])}; in the journal ${shown(report.journal[name])}`];
  };
  const sums = labelled([
    ['from', report.from],
    ['to', report.to],
    row('payments'),
    row('sendings'),
    row('returns'),
  ]);
  const differences = report.differences.map(
    ({ kind, endToEndId, transactionId, amount, what }) =>
      `${kind}  ${endToEndId ?? '-'}  ${transactionId ?? '-'}  ${amount === null ? '-' : reais(amount)}  ${what}`,
  );
  const unseen = (report.unseen ?? []).map(
    ({ txid, amount }) =>
      `harmless  ${txid}  ${amount === null ? '-' : reais(amount)}  a charge that waits at the bank alone: nobody has its code`,
  );
  const rows = [...(differences.length === 0 ? ['Nothing differs.'] : differences), ...unseen];
  return [sums, ...rows.map(inLine)].join('\n');
}

function giveBack(user: string, given: string, options: ByOptions): Work {
  const values = new Values();
  const by = byOf(options, user, values);
  values.check();
  return async (core) => {
    const { connection } = connectionOf(core);
    const { journal } = core.store;
    const record = await findTransaction(core.store, given, undefined);
    const isGivenBack = (await lookUp(journal, record.account, 'returned', given)) !== null;
    if (!isGivenBack) throw new Failure('INVALID_REQUEST', NOT_GIVEN_BACK);
    const { nextReturn } = await import('../bank/api-pix/give-back.ts');
    const next = await atTheBank(() => nextReturn(connection, record, given));
    if ('refusal' in next) throw new Failure('RETURN_REFUSED', next.refusal);
    const { number, returnId, amount } = next;
    const order = { amount, endToEndId: given, number, reason: 'given back once more' };
    await core.engine.send(record.account, { kind: 'returnAgain', transaction: record.id, ...order, by });
    const text = `return ${returnId} of ${reais(amount)} is ordered; the server carries it out`;
    return { document: { returnId }, text };
  };
}

const NOT_GIVEN_BACK =
  'no payment of that end-to-end id was to be given back; a refund that failed is ordered anew by its merchant';

/** Adds `bank` with its commands. */
export function addBankCommands(program: Command, shell: Shell): void {
  const bank = program.command('bank').description('the bank of BANK=api-pix');
  bank
    .command('check')
    .description('whether token, scopes, certificate, clock, key and webhook are right')
    .option('--fix', "registers BANK_WEBHOOK_URL where it isn't")
    .action(async ({ fix = false }: { fix?: boolean }) => shell.say(await check(fix)));
  bank
    .command('reconcile')
    .description("holds the bank's list of a span against the journal")
    .requiredOption('--from <time>', 'the first moment, 2026-01-31T00:00:00-03:00 for one')
    .requiredOption('--to <time>', 'the last moment')
    .action(async (options: { from?: string; to?: string }) => shell.run('writes', reconcile(options)));
  const returning = bank
    .command('return <id>')
    .description("gives a payment back once more, where the bank couldn't before: by its end-to-end id");
  addByAndReason(returning).action(async (id: string, options: ByOptions) =>
    shell.run('writes', giveBack(shell.user, id, options)),
  );
}
