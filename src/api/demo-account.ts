/** Somebody to try the sandbox with. */
import type { Accounts, IssuedAccount } from '../accounts/manage.ts';
import { adjust } from '../engine/adjust.ts';
import type { Engine } from '../engine/engine.ts';

/** Cents. */
const DEMO_BALANCE = 100_000;

/**
 * On an empty store: an account with money, and the text with its credentials, which is shown only now. The
 * settings come last: a start that dies before them leaves no account, so that the next one makes another,
 * and an account that is there has its money and was shown.
 */
export async function createDemoAccount(
  accounts: Accounts,
  engine: Engine,
  port: number,
  show: (text: string) => void,
): Promise<void> {
  if ((await engine.store.accounts()).length > 0) return;
  const { account, issued } = accounts.prepare({
    name: 'Demo',
    webhooks: [],
    allowedIps: ['127.0.0.1'],
    fees: null,
    expiresIn: null,
    maxAmount: null,
    pixKey: null,
    merchantName: null,
    merchantCity: null,
  });
  await adjust(engine, account.id, {
    id: 'opening',
    amount: DEMO_BALANCE,
    reason: 'opening balance',
    allowNegative: false,
  });
  show(welcome(issued, port));
  await accounts.insert(account);
}

function welcome({ accountId, clientId, clientSecret }: IssuedAccount, port: number): string {
  return [
    'A demo account was created. Its secret is shown only now:',
    `  accountId:    ${accountId}`,
    `  clientId:     ${clientId}`,
    `  clientSecret: ${clientSecret}`,
    'Try it:',
    `  curl -u '${clientId}:${clientSecret}' -H 'Content-Type: application/json' -d '{"amount": 1001}' http://127.0.0.1:${port}/v1/pix-in`,
    '',
  ].join('\n');
}
