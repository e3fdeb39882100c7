/** `account ...`: an account's life. */
import type { Command } from 'commander';
import type { AccountChanges, IssuedAccount, NewAccount } from '../accounts/manage.ts';
import type { Config } from '../config.ts';
import type { Core } from '../core.ts';
import type { Account } from '../domain/account.ts';
import { MAX_AMOUNT } from '../domain/money.ts';
import { adjust } from '../engine/ops/adjust.ts';
import { turn } from '../waiting.ts';
import { addAdjustCommand } from './adjust.ts';
import { accountNotFound, Failure, wrongUsage } from './failure.ts';
import { collect, Values } from './options.ts';
import { labelled, type Outcome, reais } from './output.ts';
import type { Shell, Work } from './running/shell.ts';

const MAX_NAME = 140;
const MAX_COUNT = 10_000;
const MAX_EXPIRES_IN = 2_592_000;
/** Accounts that are made at the same time. */
const CREATED_TOGETHER = 500;
/** Accounts that are shown in one turn of the event loop: the process may be serving beside. */
const SHOWN_TOGETHER = 100;
const ACTIVITIES = ['active', 'inactive'] as const;

interface CreateOptions {
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

interface SetOptions {
  status?: string;
  userStatus?: string;
  allowIp?: string[];
  /** False: `--no-webhook-url`. */
  webhookUrl?: string[] | false;
  maxAmount?: string | false;
  pixKey?: string;
}

/** An account as ops see it; `issued`: secrets of URLs that are new. */
async function shown(core: Core, account: Account, issued: Record<string, string> = {}): Promise<Shown> {
  const { id, clientId, name, status, userStatus, allowedIps } = account;
  const balance = (await core.store.journal.head(id)).balances.available;
  const webhooks = account.webhooks.map(({ url, events }) => {
    const secret = issued[url];
    return secret === undefined ? { url, events } : { url, events, secret };
  });
  return { accountId: id, clientId, name, status, userStatus, allowedIps, balance, webhooks };
}

type Shown = Pick<Account, 'clientId' | 'name' | 'status' | 'userStatus' | 'allowedIps'> & {
  accountId: string;
  balance: number;
  webhooks: { url: string; events: string[] | null; secret?: string }[];
};

function shownText(account: Shown): string {
  const webhooks = account.webhooks.map(({ url, events, secret }): [string, string] => {
    const filter = events === null ? 'all events' : events.join(', ');
    return [
      'webhook',
      `${url} (${filter})${secret === undefined ? '' : `\n             secret ${secret}, shown once`}`,
    ];
  });
  const rows: [string, string][] = [
    ['client id', account.clientId],
    ['status', `account ${account.status}, user ${account.userStatus}`],
    ['allowed IPs', account.allowedIps.join(', ')],
    ['balance', reais(account.balance)],
    ...webhooks,
  ];
  return `${account.accountId}  ${account.name}\n${labelled(rows, '  ')}`;
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

function create(config: Config, options: CreateOptions): Work {
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
  values.check();
  return async (core) => {
    const accounts = await createAll(core, wanted, balance, count ?? 1);
    const hint = 'The secrets are shown once: keep them now.';
    const document = count === null ? (accounts[0] ?? {}) : { accounts };
    return { document, text: `${accounts.map(issuedText).join('\n\n')}\n\n${hint}` };
  };
}

async function createAll(
  core: Core,
  wanted: NewAccount,
  balance: number,
  count: number,
): Promise<IssuedAccount[]> {
  const accounts: IssuedAccount[] = [];
  while (accounts.length < count) {
    const length = Math.min(CREATED_TOGETHER, count - accounts.length);
    accounts.push(...(await Promise.all(Array.from({ length }, () => createOne(core, wanted, balance)))));
  }
  return accounts;
}

async function createOne(core: Core, wanted: NewAccount, balance: number): Promise<IssuedAccount> {
  const issued = await core.accounts.create(wanted);
  if (balance > 0) {
    const opening = { id: 'opening', amount: balance, reason: 'opening balance', allowNegative: false };
    const answer = await adjust(core.engine, issued.accountId, opening);
    if (answer.kind !== 'adjusted')
      throw new Error(`the opening balance of ${issued.accountId} was not posted`);
  }
  return issued;
}

async function listAll(core: Core): Promise<Outcome> {
  const all = await core.store.accounts.all();
  const accounts: Shown[] = [];
  for (let from = 0; from < all.length; from += SHOWN_TOGETHER) {
    const some = all.slice(from, from + SHOWN_TOGETHER);
    accounts.push(...(await Promise.all(some.map((account) => shown(core, account)))));
    await turn();
  }
  const text =
    accounts.length === 0
      ? 'There is no account: pixstate account create'
      : accounts.map(shownText).join('\n\n');
  return { document: { accounts }, text };
}

function set(config: Config, id: string, options: SetOptions): Work {
  const values = new Values();
  const { status, userStatus, allowIp, webhookUrl, maxAmount, pixKey } = options;
  const changes: AccountChanges = {
    ...(status !== undefined && { status: values.choice('--status', status, ACTIVITIES) }),
    ...(userStatus !== undefined && { userStatus: values.choice('--user-status', userStatus, ACTIVITIES) }),
    ...(allowIp !== undefined && { allowedIps: values.addresses('--allow-ip', allowIp) }),
    ...(webhookUrl !== undefined && {
      webhooks: webhookUrl === false ? [] : values.webhooks('--webhook-url', webhookUrl, config),
    }),
    ...(maxAmount !== undefined && {
      maxAmount: maxAmount === false ? null : values.whole('--max-amount', maxAmount, 1, MAX_AMOUNT),
    }),
    ...(pixKey !== undefined && { pixKey: values.pixKey('--pix-key', pixKey) }),
  };
  values.check();
  if (Object.keys(changes).length === 0) {
    throw wrongUsage(
      'nothing to set: give --status, --user-status, --allow-ip, --webhook-url, --no-webhook-url, --max-amount, --no-max-amount or --pix-key',
    );
  }
  return async (core) => {
    const changed = await core.accounts.set(id, changes);
    if (changed === null) throw accountNotFound(id);
    const document = await shown(core, changed.account, changed.issued);
    return { document, text: shownText(document) };
  };
}

async function rotateWebhookSecret(core: Core, id: string, url: string): Promise<Outcome> {
  const rotated = await core.accounts.rotateWebhookSecret(id, url);
  if (rotated === null) throw accountNotFound(id);
  if (rotated === false) throw new Failure('WEBHOOK_NOT_FOUND', `account ${id} has no webhook URL ${url}`);
  const text = `${labelled([
    ['webhook', rotated.url],
    ['secret', rotated.secret],
  ])}\n\nThe secret is shown once. The old one signs beside it for 24 hours.`;
  return { document: rotated, text };
}

async function rotateSecret(core: Core, id: string): Promise<Outcome> {
  const rotated = await core.accounts.rotateSecret(id);
  if (rotated === null) throw accountNotFound(id);
  const text = `${labelled([
    ['client id', rotated.clientId],
    ['client secret', rotated.clientSecret],
  ])}\n\nThe secret is shown once. The old pair stops working within a second.`;
  return { document: rotated, text };
}

/** Adds `account` with its commands. */
export function addAccountCommands(program: Command, shell: Shell): void {
  const account = program.command('account').description("an account's life");
  const webhookHelp = 'gets events, all of them or those named; may stand 10 times';
  account
    .command('create')
    .description('creates an account and shows its secrets, once')
    .option('--name <text>', "the merchant's name", 'Merchant')
    .option('--webhook-url <url[,event,...]>', webhookHelp, collect)
    .option(
      '--allow-ip <ip>',
      'an IPv4 address that may call, or *; may stand several times (default: 127.0.0.1)',
      collect,
    )
    .option('--balance <cents>', 'an opening balance; sandbox bank only')
    .option('--expires-in <seconds>', 'until a charge expires, where the request says nothing')
    .option('--max-amount <cents>', 'the largest amount of a charge or transfer')
    .option('--fees <json>', '{"pixIn": {"fixed", "percent", "min", "max"}, "cashout": {...}}')
    .option('--count <n>', 'so many accounts, all alike')
    .option('--pix-key <key>', 'who receives charges (default: none of its own; the sandbox shows one)')
    .option('--merchant-name <text>', "as in a charge's code (default: the name)")
    .option('--merchant-city <text>', "as in a charge's code (default: SAO PAULO)")
    .action(async (options: CreateOptions) => shell.run('writes', create(shell.config(), options)));
  account
    .command('list')
    .description('every account')
    .action(async () => shell.run('reads', listAll));
  account
    .command('set <id>')
    .description('changes what it names; lists are replaced whole')
    .option('--status <status>', 'of the account: active or inactive')
    .option('--user-status <status>', 'of its user: active or inactive')
    .option('--allow-ip <ip>', 'an IPv4 address or *; may stand several times', collect)
    .option('--webhook-url <url[,event,...]>', `${webhookHelp}; a URL that stays keeps its secret`, collect)
    .option('--no-webhook-url', 'takes all webhook URLs off: what waits for them is dead')
    .option('--max-amount <cents>', 'the largest amount of a charge or transfer')
    .option('--no-max-amount', "the account's own largest amount goes: the interface's holds")
    .option('--pix-key <key>', 'who receives charges from now on')
    .action(async (id: string, options: SetOptions) => shell.run('writes', set(shell.config(), id, options)));
  account
    .command('rotate-webhook-secret <id> <url>')
    .description('a new secret for a webhook URL; the old one signs beside it for 24 hours')
    .action(async (id: string, url: string) =>
      shell.run('writes', (core) => rotateWebhookSecret(core, id, url)),
    );
  account
    .command('rotate-secret <id>')
    .description('a new credential pair; the old one stops working')
    .action(async (id: string) => shell.run('writes', (core) => rotateSecret(core, id)));
  addAdjustCommand(account, shell);
}
