/** `attention`, `attention done`: what needs a person. */
import type { Command } from 'commander';
import { now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Item } from '../console/shapes.ts';
import type { Core } from '../core.ts';
import { itemIn } from '../domain/sentences/items.ts';
import { reais as brazilianReais } from '../domain/sentences/pt/words.ts';
import type { Language } from '../domain/sentences/refusals.ts';
import { attentionPage, type ListedPage } from '../engine/attention/list.ts';
import type { StuckRule } from '../engine/attention/stuck.ts';
import { ATTENTION_KINDS, type AttentionKind } from '../engine/journal.ts';
import type { AttentionFilter, AttentionItem, DoneBy } from '../engine/store.ts';
import { finish, itemsWith, whoText } from '../ops/attention.ts';
import { inSlices } from '../waiting.ts';
import { type ActingOptions, actingOf, addActing } from './by.ts';
import { Failure, wrongUsage } from './failure.ts';
import { expectAccount } from './find.ts';
import { LANGUAGE_OPTION, Values } from './options.ts';
import { inLine, type Outcome, reais } from './output.ts';
import type { Shell, Work } from './running/shell.ts';

const MAX_TEXT = 2_048;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

interface FilterOptions {
  kind?: string;
  account?: string;
  url?: string;
  since?: string;
}

interface ListOptions extends FilterOptions {
  limit?: string;
  after?: string;
  lang?: string;
}

/** Those of the list are taken by the outer command. */
type DoneOptions = ListOptions & ActingOptions;

/** For programs: the sentences are English, whoever asks. */
function listed(item: AttentionItem): Item {
  const { kind, id, code, about, data, amount, since } = item;
  const { what, next } = itemIn('en', item);
  return { kind, id, code, account: about.account, amount, since, what, next, about, data };
}

function ruleOf({ bank }: Core, { stuckAfterS }: Config): StuckRule {
  return { now: now(), stuckAfterMs: stuckAfterS * 1000, says: (id) => bank.says(id) };
}

/** The filter that the options name; mistakes are kept in `values`. */
function filterOf({ kind, account, url, since }: FilterOptions, values: Values): AttentionFilter {
  const filter: AttentionFilter = {};
  const [first, ...others] = ATTENTION_KINDS;
  if (kind !== undefined) filter.kind = values.choice<AttentionKind>('--kind', kind, [first, ...others]);
  if (account !== undefined) filter.account = values.text('--account', account, MAX_TEXT);
  if (url !== undefined) filter.url = values.text('--url', url, MAX_TEXT);
  if (since !== undefined) filter.since = values.time('--since', since);
  return filter;
}

/** What stands around the items. */
interface Frame {
  account: string;
  next: string;
  nothing: string;
  more(count: number, after: string | undefined): string;
  money(cents: number): string;
}

const FRAMES: Record<Language, Frame> = {
  en: {
    account: 'account',
    next: 'next',
    nothing: 'Nothing needs a person.',
    more: (count, after) => `and ${count} more: --after ${after} shows them`,
    money: reais,
  },
  pt: {
    account: 'conta',
    next: 'próximo passo',
    nothing: 'Nada precisa de atenção.',
    more: (count, after) => `e mais ${count}: --after ${after} mostra os próximos`,
    money: brazilianReais,
  },
};

function itemText(item: AttentionItem, language: Language): string {
  const { kind, id, about, amount, since } = item;
  const { account, next: label, money } = FRAMES[language];
  const { what, next } = itemIn(language, item);
  const whose = about.account === null ? '' : `\n  ${account} ${about.account}`;
  const howMuch = amount === null ? '' : `${whose === '' ? '\n ' : ','} ${money(amount)}`;
  return `${since}  ${kind}  ${inLine(id)}${whose}${howMuch}\n  ${inLine(what)}\n  ${label}: ${inLine(next)}`;
}

function notOnList(id: string, by: DoneBy | null): Failure {
  return new Failure('ITEM_NOT_FOUND', `nothing on the list has the id ${id}${whoText(by)}`);
}

/** The last of the items that have an id. @throws Failure where there is none */
async function lastWith(core: Core, rule: StuckRule, id: string): Promise<AttentionItem> {
  const last = (await itemsWith(core, rule, id)).at(-1);
  if (last === undefined) throw notOnList(id, await core.store.attention.doneBy(id));
  return last;
}

function list(config: Config, options: ListOptions): Work {
  const values = new Values();
  const filter = filterOf(options, values);
  const limit =
    options.limit === undefined ? DEFAULT_LIMIT : values.whole('--limit', options.limit, 1, MAX_LIMIT);
  const language = values.language(options.lang, config);
  values.check();
  return async (core, { output }) => {
    await expectAccount(core.store, filter.account);
    const rule = ruleOf(core, config);
    // One id may be on the list for several reasons: the page begins behind the last of them.
    const after = options.after === undefined ? null : await lastWith(core, rule, options.after);
    const page = await attentionPage(core.store, rule, filter, after, limit);
    return output.json ? pageDocument(page) : pageText(page, language);
  };
}

async function pageDocument({ items, more }: ListedPage): Promise<Outcome> {
  return { document: { items: await inSlices(items, listed), more }, text: '' };
}

async function pageText({ items, more, last }: ListedPage, language: Language): Promise<Outcome> {
  const frame = FRAMES[language];
  const lines = await inSlices(items, (item) => itemText(item, language));
  if (lines.length === 0) lines.push(frame.nothing);
  if (more > 0) lines.push(inLine(frame.more(more, last?.id)));
  return { document: {}, text: lines.join('\n\n') };
}

/** Of an action that came again, and of which nothing is left to do. */
const DONE_BEFORE = 'done before under this id: what has come on the list since stays';

function done(
  { config, user }: { config: Config; user: string },
  ids: readonly string[],
  options: DoneOptions,
): Work {
  const values = new Values();
  const filter = filterOf(options, values);
  const isFiltered = Object.keys(filter).length > 0;
  const acting = actingOf(options, user, values);
  for (const name of ['limit', 'after', 'lang'] as const)
    if (options[name] !== undefined) values.wrong(`--${name}`, 'is for the list: done takes all that fits');
  values.check();
  if (ids.length === 0 && !isFiltered) throw wrongUsage('name items by their ids, or by an option');
  return async (core) => {
    await expectAccount(core.store, filter.account);
    const finished = await finish(core, ruleOf(core, config), ids, filter, acting);
    if (finished.kind === 'notOnList') throw notOnList(finished.id, finished.by);
    const taken = finished.ids;
    const isSingle = ids.length === 1 && !isFiltered;
    const nothing = finished.again ? DONE_BEFORE : 'nothing on the list fits';
    const text = taken.length === 0 ? nothing : `done: ${inLine(taken.join(', '))}`;
    return { document: { done: isSingle ? ids[0] : taken }, text };
  };
}

/** Adds `attention` and `attention done`. */
export function addAttentionCommands(program: Command, shell: Shell): void {
  const kinds = ATTENTION_KINDS.join(', ');
  const attention = program
    .command('attention')
    .description('what needs a person, oldest first')
    .option('--kind <kind>', `only this kind: ${kinds}`)
    .option('--account <id>', "only this account's")
    .option('--limit <items>', `at most so many, to ${MAX_LIMIT} (default: ${DEFAULT_LIMIT})`)
    .option('--after <id>', 'only what is listed behind this item')
    .option(...LANGUAGE_OPTION)
    .action(async (options: ListOptions) => shell.run('reads', list(shell.config(), options)));
  const finishing = attention
    .command('done [ids...]')
    .description('takes items off the list; their entries stay')
    .option('--kind <kind>', 'all of this kind')
    .option('--account <id>', 'all of this account')
    .option('--url <url>', 'all about this URL')
    .option('--since <time>', 'all of this time or later (RFC 3339)');
  addActing(finishing).action(async (ids: string[], options: DoneOptions, command: Command) => {
    // Options that both commands have are taken by the outer one, and those that only that one has as well.
    const all = { ...command.parent?.opts<ListOptions>(), ...options };
    await shell.run('writes', done({ config: shell.config(), user: shell.user }, ids, all));
  });
}
