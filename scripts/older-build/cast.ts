/** The merchants: accounts with all that an account can have. Their names and secrets are made up. */
import { type Merchant, merchantOf } from '../../test/support/client.ts';
import { type Json, text } from '../../test/support/json.ts';
import type { Receiver } from '../../test/support/receiver.ts';
import type { Server } from '../../test/support/server.ts';

const NAMES = [
  'shop',
  'troubled',
  'leaving',
  'patient',
  'hung',
  'quick',
  'overdrawn',
  'rotated',
  'suspended',
  'user suspended',
  'idle',
  'flooded',
] as const;

export type MerchantName = (typeof NAMES)[number];

/** The merchants by their names. */
export class Cast {
  readonly #merchants = new Map<MerchantName, Merchant>();

  of(name: MerchantName): Merchant {
    const merchant = this.#merchants.get(name);
    if (merchant === undefined) throw new Error(`there is no merchant ${name}`);
    return merchant;
  }

  put(name: MerchantName, merchant: Merchant): void {
    this.#merchants.set(name, merchant);
  }

  all(): [MerchantName, Merchant][] {
    return [...this.#merchants];
  }
}

const FEES = {
  pixIn: { fixed: 10, percent: 99, min: 25, max: 5_000 },
  cashout: { fixed: 75, percent: 0, min: 0, max: null },
};

/** Seconds until a charge of the merchant `quick` expires. */
const QUICK_S = 4;

/** The arguments of `account create` beside the name. */
function settings(receiver: Receiver): Record<MerchantName, string[]> {
  const url = (path: string, events = ''): string[] => ['--webhook-url', `${receiver.url(path)}${events}`];
  return {
    shop: [
      ...['--balance', '5000000', '--fees', JSON.stringify(FEES), '--pix-key', 'loja@exemplo.com.br'],
      ...['--merchant-name', 'Padaria São João', '--merchant-city', 'São Luís'],
      ...['--allow-ip', '127.0.0.1', '--allow-ip', '192.0.2.7'],
      ...url('/all'),
      ...url('/paid', ',pix-in.paid,cashout.completed'),
      ...url('/charges?loja=s%C3%A3o', ',pix-in.*'),
    ],
    troubled: [...url('/down'), ...url('/gone'), ...url('/revived')],
    leaving: url('/leaving'),
    patient: [...url('/later'), ...url('/flaky')],
    hung: url('/hung'),
    quick: ['--expires-in', String(QUICK_S), '--balance', '100000', ...url('/quick')],
    overdrawn: ['--balance', '3000'],
    rotated: ['--balance', '12345', ...url('/rotated', ',pix-in.*')],
    suspended: ['--balance', '777'],
    'user suspended': ['--max-amount', '500', '--expires-in', '90'],
    idle: ['--allow-ip', '*', ...Array.from({ length: 10 }, (_, index) => url(`/idle/${index}`)).flat()],
    flooded: ['--balance', '1000000'],
  };
}

function displayName(name: MerchantName): string {
  return name === 'shop' ? 'Padaria São João — pão & café ☕ 日本 e\u0301' : `Merchant ${name}`;
}

/** Creates all of them. */
export async function createCast(
  server: Server,
  receiver: Receiver,
  command: (args: string[]) => Promise<Json>,
): Promise<Cast> {
  const cast = new Cast();
  const all = settings(receiver);
  for (const name of NAMES) {
    const created = await command(['account', 'create', '--name', displayName(name), ...all[name]]);
    cast.put(name, merchantOf(server, created));
  }
  return cast;
}

/** What ops change about accounts after their first transactions; the credentials that one had before. */
export async function changeAccounts(
  server: Server,
  cast: Cast,
  command: (args: string[]) => Promise<Json>,
): Promise<{ clientId: string; clientSecret: string }> {
  await command(['account', 'set', cast.of('suspended').accountId, '--status', 'inactive']);
  await command(['account', 'set', cast.of('user suspended').accountId, '--user-status', 'inactive']);
  const { accountId, clientId, clientSecret, webhooks } = cast.of('rotated');
  const pair = await command(['account', 'rotate-secret', accountId]);
  const rotated = await command(['account', 'rotate-webhook-secret', accountId, webhooks[0]?.url ?? '']);
  const secret = { url: text(rotated, 'url'), secret: text(rotated, 'secret') };
  const credentials = { clientId: text(pair, 'clientId'), clientSecret: text(pair, 'clientSecret') };
  cast.put('rotated', merchantOf(server, { accountId, ...credentials, webhooks: [secret] }));
  return { clientId, clientSecret };
}
