/** `attention`, `verify`: the whole store. */
import type { Command } from 'commander';
import { type VerifyReport, verifyStore } from '../audit/verify.ts';
import { now } from '../clock.ts';
import type { Config } from '../config.ts';
import { attentionList, dismissAttention, type StuckRule } from '../engine/attention.ts';
import type { AttentionItem } from '../engine/store.ts';
import { Failure, REFUSED } from './failure.ts';
import type { Outcome } from './output.ts';
import type { Shell } from './shell.ts';

/** No item has a longer id, and the store's keys are bounded. */
const MAX_ID = 400;

interface VerifyOptions {
  heads?: boolean;
  decide?: boolean;
}

function ruleOf(config: Config): StuckRule {
  return { now: now(), stuckAfterMs: config.stuckAfterS * 1000 };
}

type ListedItem = Pick<AttentionItem, 'kind' | 'id' | 'since' | 'what' | 'next'>;

function itemText({ kind, id, since, what, next }: ListedItem): string {
  return `${since}  ${kind}  ${id}\n  ${what}\n  next: ${next}`;
}

async function attention(shell: Shell): Promise<Outcome> {
  const config = shell.config();
  const found = await shell.reading(config, ({ store }) => attentionList(store, ruleOf(config)));
  const items = found.map(({ kind, id, since, what, next }) => ({ kind, id, since, what, next }));
  const text = items.length === 0 ? 'Nothing needs a person.' : items.map(itemText).join('\n\n');
  return { document: { items }, text };
}

async function done(shell: Shell, id: string): Promise<Outcome> {
  const config = shell.config();
  const isId = id !== '' && id.length <= MAX_ID;
  const found =
    isId && (await shell.withCore(config, ({ store }) => dismissAttention(store, ruleOf(config), id)));
  if (!found) throw new Failure('ITEM_NOT_FOUND', `nothing on the list has the id ${id}`);
  return { document: { done: id }, text: `done: ${id}` };
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

/** Adds `attention` and `verify`. */
export function addOpsCommands(program: Command, shell: Shell): void {
  const list = program
    .command('attention')
    .description('what needs a person')
    .action(async () => shell.say(await attention(shell)));
  list
    .command('done <id>')
    .description('takes an item off the list; its entry stays')
    .action(async (id: string) => shell.say(await done(shell, id)));
  program
    .command('verify')
    .description('replays every journal: chain, sums, projections')
    .option('--heads', "every account's last sequence number and hash, to be kept elsewhere")
    .option('--decide', 'each message runs through its chart again')
    .action(async (options: VerifyOptions) => shell.say(await verify(shell, options)));
}
