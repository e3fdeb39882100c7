/** Somebody to try the sandbox with. */
import type { Accounts } from '../accounts/manage.ts';
import { adjust } from '../engine/adjust.ts';
import type { Engine } from '../engine/engine.ts';

/** Cents. */
const DEMO_BALANCE = 100_000;

/** On an empty store: an account, and the text with its credentials, which is shown only now; else null. */
export async function createDemoAccount(
  accounts: Accounts,
  engine: Engine,
  port: number,
): Promise<string | null> {
  if ((await engine.store.accounts()).length > 0) return null;
  const issued = await accounts.create({
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
  await adjust(engine, issued.accountId, {
    id: 'opening',
    amount: DEMO_BALANCE,
    reason: 'opening balance',
    allowNegative: false,
  });
  return [
    'A demo account was created. Its secret is shown only now:',
    `  accountId:    ${issued.accountId}`,
    `  clientId:     ${issued.clientId}`,
    `  clientSecret: ${issued.clientSecret}`,
    'Try it:',
    `  curl -u '${issued.clientId}:${issued.clientSecret}' -H 'Content-Type: application/json' -d '{"amount": 1001}' http://127.0.0.1:${port}/v1/pix-in`,
    '',
  ].join('\n');
}
