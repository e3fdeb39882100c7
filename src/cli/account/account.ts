/** `account ...`: an account's life. */
import type { Command } from 'commander';
import type { AccountChanges } from '../../accounts/manage.ts';
import type { Core } from '../../core.ts';
import type { Account } from '../../domain/account.ts';
import { MAX_AMOUNT } from '../../domain/money.ts';
import { pagesOfAccounts } from '../../engine/store/walks.ts';
import { changeSettings, rotateSecret, rotateWebhookSecret } from '../../ops/settings.ts';
import { turn } from '../../waiting.ts';
import { type ActingOptions, actingOf, addActing } from '../by.ts';
import { accountNotFound, Failure, wrongUsage } from '../failure.ts';
import { collect, Values } from '../options.ts';
import { inLine, labelled, type Outcome, reais } from '../output.ts';
import type { Bench, Shell, Work } from '../running/shell.ts';
import { addAdjustCommand } from './adjust.ts';
import { type Asked, addCreateCommand, askedOf, WEBHOOK_HELP } from './create.ts';

/** Accounts that are shown in one turn of the event loop: the process may be serving beside. */
const SHOWN_TOGETHER = 100;
const ACTIVITIES = ['active', 'inactive'] as const;

interface SetOptions extends ActingOptions {
  status?: string;
  userStatus?: string;
  allowIp?: string[];
  /** False: `--no-webhook-url`. */
  webhookUrl?: string[] | false;
  maxAmount?: string | false;
  pixKey?: string | false;
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
  return `${account.accountId}  ${inLine(account.name)}\n${labelled(rows, '  ')}`;
}

async function listAll(core: Core, { output }: Bench): Promise<Outcome> {
  const accounts: Shown[] = [];
  for await (const page of pagesOfAccounts(core.store.accounts, SHOWN_TOGETHER)) {
    accounts.push(...(await Promise.all(page.map((account) => shown(core, account)))));
    await turn();
  }
  // It may be long: what isn't written isn't made.
  if (output.json) return { document: { accounts }, text: '' };
  const none = 'There is no account: pixstate account create';
  return { document: {}, text: accounts.length === 0 ? none : accounts.map(shownText).join('\n\n') };
}

function set({ config, user }: Asked, id: string, options: SetOptions): Work {
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
    ...(pixKey !== undefined && {
      pixKey: pixKey === false ? null : values.pixKey('--pix-key', pixKey),
    }),
  };
  const acting = actingOf(options, user, values);
  const again = newWebhookSecret(id, 'URL');
  values.check();
  if (Object.keys(changes).length === 0) {
    throw wrongUsage(
      'nothing to set: give --status, --user-status, --allow-ip, --webhook-url, --no-webhook-url, --max-amount, --no-max-amount, --pix-key or --no-pix-key',
    );
  }
  return async (core) => {
    const changed = await changeSettings(core, id, changes, acting);
    if (changed === null) throw accountNotFound(id);
    const document = await shown(core, changed.account, changed.issued);
    const text = shownText(document);
    return Object.keys(changed.issued).length === 0 ? { document, text } : { document, text, ifLost: again };
  };
}

/** What to do where the secret of a URL was lost. */
function newWebhookSecret(id: string, url: string): string {
  return `the secret is lost: pixstate account rotate-webhook-secret ${id} ${url} makes a new one`;
}

function rotateUrl(user: string, id: string, url: string, options: ActingOptions): Work {
  const values = new Values();
  const again = newWebhookSecret(id, url);
  const acting = actingOf(options, user, values);
  values.check();
  return async (core) => {
    const rotated = await rotateWebhookSecret(core, id, url, acting);
    if (rotated === null) throw accountNotFound(id);
    if (rotated === false) throw new Failure('WEBHOOK_NOT_FOUND', `account ${id} has no webhook URL ${url}`);
    const text = `${labelled([
      ['webhook', rotated.url],
      ['secret', rotated.secret],
    ])}\n\nThe secret is shown once. The old one signs beside it for 24 hours.`;
    return { document: rotated, text, ifLost: again };
  };
}

function rotate(user: string, id: string, options: ActingOptions): Work {
  const values = new Values();
  const acting = actingOf(options, user, values);
  values.check();
  return async (core) => {
    const rotated = await rotateSecret(core, id, acting);
    if (rotated === null) throw accountNotFound(id);
    const text = `${labelled([
      ['client id', rotated.clientId],
      ['client secret', rotated.clientSecret],
    ])}\n\nThe secret is shown once. The old pair stops working within a second.`;
    const ifLost = `the secret is lost: pixstate account rotate-secret ${id} makes a new one`;
    return { document: rotated, text, ifLost };
  };
}

/** Adds `account` with its commands. */
export function addAccountCommands(program: Command, shell: Shell): void {
  const account = program.command('account').description("an account's life");
  addCreateCommand(account, shell);
  account
    .command('list')
    .description('every account')
    .action(async () => shell.run('reads', listAll));
  addSet(account, shell);
  const url = account
    .command('rotate-webhook-secret <id> <url>')
    .description('a new secret for a webhook URL; the old one signs beside it for 24 hours');
  addActing(url).action(async (id: string, url: string, options: ActingOptions) =>
    shell.run('writes', rotateUrl(shell.user, id, url, options)),
  );
  const pair = account
    .command('rotate-secret <id>')
    .description('a new credential pair; the old one stops working');
  addActing(pair).action(async (id: string, options: ActingOptions) =>
    shell.run('writes', rotate(shell.user, id, options)),
  );
  addAdjustCommand(account, shell);
}

function addSet(account: Command, shell: Shell): void {
  const setting = account
    .command('set <id>')
    .description('changes what it names; lists are replaced whole')
    .option('--status <status>', 'of the account: active or inactive')
    .option('--user-status <status>', 'of its user: active or inactive')
    .option('--allow-ip <ip>', 'an IPv4 address or *; may stand several times', collect)
    .option('--webhook-url <url[,event,...]>', `${WEBHOOK_HELP}; a URL that stays keeps its secret`, collect)
    .option('--no-webhook-url', 'takes all webhook URLs off: what waits for them is dead')
    .option('--max-amount <cents>', 'the largest amount of a charge or transfer')
    .option('--no-max-amount', "the account's own largest amount goes: the interface's holds")
    .option('--pix-key <key>', 'who receives charges from now on')
    .option('--no-pix-key', 'no key of its own: BANK_PIX_KEY receives, or the one that the sandbox shows');
  const given = new Set<string>();
  for (const option of TAKEN_BACK.flatMap((name) => [name, `no-${name}`]))
    setting.on(`option:${option}`, () => given.add(option));
  addActing(setting).action(async (id: string, options: SetOptions) => {
    expectNoBoth(given);
    await shell.run('writes', set(askedOf(shell), id, options));
  });
}

/** What `account set` gives, and takes back with a `no-` before it. */
const TAKEN_BACK = ['webhook-url', 'max-amount', 'pix-key'];

/** Of the two the last one would hold, in silence. @throws Failure */
function expectNoBoth(given: ReadonlySet<string>): void {
  const both = TAKEN_BACK.find((name) => given.has(name) && given.has(`no-${name}`));
  if (both !== undefined) throw wrongUsage(`--${both} and --no-${both} exclude each other`);
}
