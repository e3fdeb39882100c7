/** Somebody to try the sandbox with. */

import type { Engine } from '../engine/engine.ts';
import { adjust } from '../engine/ops/adjust.ts';
import { pause } from '../waiting.ts';
import { type Accounts, type IssuedAccount, PLAIN_ACCOUNT } from './manage.ts';

/** Cents. */
const DEMO_BALANCE = 100_000;

/** The demo account of a store that several servers share: which of them makes it, its opening balance tells. */
export const SHARED_ID = 'acc_de300000000000000001';
/** How long the others wait for the one that makes it. */
const PATIENCE_MS = 3_000;

export interface DemoOptions {
  port: number;
  /** Whether other servers may start on the same store at the same time. */
  shared: boolean;
  show(text: string): void;
}

/**
 * On an empty store: an account with money, and the text with its credentials, which is shown only now. The
 * settings come last: a start that dies before them leaves no account, so that the next one makes another,
 * and an account that is there has its money and was shown.
 */
export async function createDemoAccount(
  accounts: Accounts,
  engine: Engine,
  { port, shared, show }: DemoOptions,
): Promise<void> {
  if (!(await accounts.isEmpty())) return;
  const prepared = accounts.prepare({ ...PLAIN_ACCOUNT, name: 'Demo' });
  const account = shared ? { ...prepared.account, id: SHARED_ID } : prepared.account;
  const issued = { ...prepared.issued, accountId: account.id };
  const opening = await adjust(engine, account.id, {
    id: 'opening',
    amount: DEMO_BALANCE,
    reason: 'opening balance',
    allowNegative: false,
  });
  if (opening.kind === 'adjusted' && !opening.applied) {
    // Another server is at it, or died at it.
    await pause(PATIENCE_MS);
    if (!(await accounts.isEmpty())) return;
  }
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
