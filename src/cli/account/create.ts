/** `account create`. */
import type { Command } from 'commander';
import type { IssuedAccount, NewAccount } from '../../accounts/manage.ts';
import type { Config } from '../../config.ts';
import type { Core } from '../../core.ts';
import { MAX_AMOUNT } from '../../domain/money.ts';
import { adjust } from '../../engine/ops/adjust.ts';
import type { Acting } from '../../ops/acting.ts';
import { createAccount } from '../../ops/settings.ts';
import { inSlices } from '../../waiting.ts';
import { actingOf, addByAndReason, type ByOptions } from '../by.ts';
import { collect, Values } from '../options.ts';
import { labelled, type Outcome } from '../output.ts';
import type { Shell, Work } from '../running/shell.ts';

const MAX_NAME = 140;
const MAX_COUNT = 10_000;
const MAX_EXPIRES_IN = 2_592_000;
export const WEBHOOK_HELP = 'gets events, all of them or those named; may stand 10 times';

/** Where a command was asked for. */
export interface Asked {
  config: Config;
  user: string;
}

export function askedOf(shell: Shell): Asked {
  return { config: shell.config(), user: shell.user };
}

interface CreateOptions extends ByOptions {
  name: string;
  webhookUrl?: string[];
  allowIp?: string[];
  balance?: string;
  expiresIn?: string;
  maxAmount?: string;
  fees?: string;
  count?: string;
  pixKey?: string;
  merchantName?: string;
  merchantCity?: string;
}

function issuedText(issued: IssuedAccount): string {
  const webhooks = issued.webhooks.flatMap(({ url, secret }): [string, string][] => [
    ['webhook', url],
    ['  secret', secret],
  ]);
  return labelled([
    ['account', issued.accountId],
    ['client id', issued.clientId],
    ['client secret', issued.clientSecret],
    ...webhooks,
  ]);
}

function optional<Value>(text: string | undefined, read: (text: string) => Value): Value | null {
  return text === undefined ? null : read(text);
}

function create(shell: Shell, options: CreateOptions): Work {
  const { config, user } = askedOf(shell);
  const values = new Values();
  const wanted: NewAccount = {
    name: values.text('--name', options.name, MAX_NAME),
    webhooks: values.webhooks('--webhook-url', options.webhookUrl ?? [], config),
    allowedIps: values.addresses('--allow-ip', options.allowIp ?? ['127.0.0.1']),
    fees: optional(options.fees, (text) => values.fees('--fees', text)),
    expiresIn: optional(options.expiresIn, (text) => values.whole('--expires-in', text, 1, MAX_EXPIRES_IN)),
    maxAmount: optional(options.maxAmount, (text) => values.whole('--max-amount', text, 1, MAX_AMOUNT)),
    pixKey: optional(options.pixKey, (text) => values.pixKey('--pix-key', text)),
    merchantName: optional(options.merchantName, (text) => values.text('--merchant-name', text, MAX_NAME)),
    merchantCity: optional(options.merchantCity, (text) => values.text('--merchant-city', text, MAX_NAME)),
  };
  const balance = optional(options.balance, (text) => values.whole('--balance', text, 0, MAX_AMOUNT)) ?? 0;
  const count = optional(options.count, (text) => values.whole('--count', text, 1, MAX_COUNT));
  if (options.balance !== undefined && config.bank !== 'sandbox') {
    values.wrong('--balance', 'makes money of nothing: it is for the sandbox bank only; see account adjust');
  }
  const acting = actingOf(options, user, values);
  values.check();
  return async (core, { output }) => {
    const made: IssuedAccount[] = [];
    shell.soFar = () =>
      made.length === 0 ? null : outcomeOf(made, { accounts: made }, made.map(issuedText));
    const onMade = (issued: IssuedAccount): void => void made.push(issued);
    const all = Array.from({ length: count ?? 1 }, (): Wanted => ({ wanted, balance, acting, onMade }));
    // The process may be serving beside: all at once they would keep its callers waiting.
    const accounts = await inSlices(all, (each) => createOne(core, each));
    // It may be long: what isn't written isn't made.
    const texts = output.json ? [] : await inSlices(accounts, issuedText);
    return outcomeOf(accounts, count === null ? (accounts[0] ?? {}) : { accounts }, texts);
  };
}

function outcomeOf(accounts: readonly IssuedAccount[], document: object, texts: readonly string[]): Outcome {
  const hint = 'The secrets are shown once: keep them now.';
  return { document, text: `${texts.join('\n\n')}\n\n${hint}`, ifLost: newSecrets(accounts) };
}

/** How secrets that nobody has seen are made anew. */
function newSecrets([first, ...others]: readonly IssuedAccount[]): string {
  const id = first === undefined || others.length > 0 ? 'ID' : first.accountId;
  const pair = `the secrets are lost: pixstate account rotate-secret ${id} makes new ones`;
  if (first === undefined || first.webhooks.length === 0) return pair;
  return `${pair}, and account rotate-webhook-secret ${id} URL those of its URLs`;
}

/** What a new account is to be. */
interface Wanted {
  wanted: NewAccount;
  /** Cents. */
  balance: number;
  acting: Acting;
  /** The account is durable, though its balance may not be there yet. */
  onMade(issued: IssuedAccount): void;
}

async function createOne(core: Core, { wanted, balance, acting, onMade }: Wanted): Promise<IssuedAccount> {
  const issued = await createAccount(core, wanted, acting);
  onMade(issued);
  if (balance > 0) {
    const reason = 'opening balance';
    const opening = { id: 'opening', amount: balance, reason, allowNegative: false, by: acting.by };
    const answer = await adjust(core.engine, issued.accountId, opening);
    if (answer.kind !== 'adjusted')
      throw new Error(`the opening balance of ${issued.accountId} was not posted`);
  }
  return issued;
}

/** Adds `create` to `account`. */
export function addCreateCommand(account: Command, shell: Shell): void {
  const creating = account
    .command('create')
    .description('creates an account and shows its secrets, once')
    .option('--name <text>', "the merchant's name", 'Merchant')
    .option('--webhook-url <url[,event,...]>', WEBHOOK_HELP, collect)
    .option(
      '--allow-ip <ip>',
      'an IPv4 address that may call, or *; may stand several times (default: 127.0.0.1)',
      collect,
    )
    .option('--balance <cents>', 'an opening balance; sandbox bank only')
    .option('--expires-in <seconds>', 'until a charge expires, where the request says nothing')
    .option('--max-amount <cents>', 'the largest amount of a charge or transfer')
    .option('--fees <json>', '{"pixIn": {"fixed", "percent", "min", "max"}, "cashout": {...}}')
    .option('--count <n>', `so many accounts, all alike, at most ${MAX_COUNT}`)
    .option('--pix-key <key>', 'who receives charges (default: none of its own; the sandbox shows one)')
    .option('--merchant-name <text>', "as in a charge's code (default: the name)")
    .option('--merchant-city <text>', "as in a charge's code (default: SAO PAULO)");
  addByAndReason(creating).action(async (options: CreateOptions) =>
    shell.run('makes', create(shell, options)),
  );
}
