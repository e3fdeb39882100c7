/** A server with a real bank's protocol behind it: the fake bank over TLS, its door, a merchant, a receiver. */
import * as assert from 'uvu/assert';
import { freePort } from '../../../scripts/mongod/ports.ts';
import { FakeBank, type StartOptions } from '../../support/bank/bank.ts';
import { callBack } from '../../support/bank/callbacks.ts';
import type { Fields } from '../../support/bank/requests.ts';
import { type FakePayment, shownPayment } from '../../support/bank/state.ts';
import { cliJson } from '../../support/cli.ts';
import { type Merchant, merchant } from '../../support/client.ts';
import { charge, reaches } from '../../support/flows.ts';
import { at, type Json, list, text } from '../../support/json.ts';
import type { Env } from '../../support/process.ts';
import { type Server, type ServerOptions, startServer } from '../../support/server.ts';

/** Waits between tries, questions and probes are a hundredth of what they are. */
export const SCALE = '0.01';

export interface Served {
  bank: FakeBank;
  server: Server;
  client: Merchant;
}

/** The environment of a server with a door of its own at which the bank may call back. */
export async function doorEnv(bank: FakeBank): Promise<Env> {
  const port = await freePort();
  const door = bank.certificates.certificate('door');
  return {
    ...{ BANK_CALLBACK_PORT: String(port), BANK_CALLBACK_HOST: '127.0.0.1' },
    ...{ BANK_CALLBACK_CERT_FILE: door.certFile, BANK_CALLBACK_KEY_FILE: door.keyFile },
    ...{ BANK_CALLBACK_CA_FILE: bank.authority.certFile },
    BANK_WEBHOOK_URL: `https://127.0.0.1:${port}/bank/pix`,
  };
}

export async function serve(
  bank: FakeBank,
  env: Env = {},
  options: Pick<ServerOptions, 'dataDir' | 'entry'> = {},
): Promise<Server> {
  const own = { ...bank.env, ...(await doorEnv(bank)), BANK_RETRY_SCALE: SCALE, BANK_EXPIRY_GRACE_S: '1' };
  return startServer({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true', ...own, ...env }, ...options });
}

/** One bank, one server, one merchant; all of it ends with `body`. */
export async function withServed(
  options: StartOptions & { env?: Env; account?: string[]; balance?: number },
  body: (served: Served) => Promise<void>,
): Promise<void> {
  const { env = {}, account = [], balance = 0, ...bankOptions } = options;
  const bank = await FakeBank.start(bankOptions);
  try {
    const server = await serve(bank, env);
    try {
      const client = await merchant(server, account);
      if (balance > 0) await adjust(server, client, balance);
      await body({ bank, server, client });
    } finally {
      await server.stop();
    }
  } finally {
    await bank.stop();
  }
  assert.equal(bank.violations, [], 'a request broke the document');
}

export async function adjust(server: Server, client: Merchant, amount: number): Promise<void> {
  await cliJson(server, ['account', 'adjust', client.accountId, String(amount), '--reason', 'opening']);
}

/** The bank's id of a transaction of ours. */
export function bare(id: string): string {
  return id.replaceAll('-', '');
}

/** Somebody pays a charge at the bank. */
export function payAt({ bank }: Pick<Served, 'bank'>, created: Json, amount?: string): FakePayment {
  const charge = bank.state.charges.get(bare(text(created, 'id')));
  if (charge === undefined) throw new Error('the bank knows no such charge');
  const valor = amount ?? String((charge.body.valor as Fields).original);
  return bank.state.pay({ txid: charge.txid, amount: valor, key: String(charge.body.chave) });
}

/** The bank calls back about payments; the door's status. */
export function hint(
  { bank, server }: Pick<Served, 'bank' | 'server'>,
  elements: readonly Fields[],
): Promise<number> {
  return callBack({ webhookUrl: String(server.env.BANK_WEBHOOK_URL), elements, client: bank.client });
}

export function hintPayment(served: Pick<Served, 'bank' | 'server'>, payment: FakePayment): Promise<number> {
  return hint(served, [shownPayment(payment)]);
}

/** A charge of 50.00 that somebody has paid, as both sides know. */
export async function paidCharge(
  served: Served,
): Promise<{ id: string; created: Json; payment: FakePayment }> {
  const created = await charge(served.client, 5_000);
  const id = text(created, 'id');
  const payment = payAt(served, created);
  await hintPayment(served, payment);
  await reaches(served.client, 'pix-in', id, 'paid');
  return { id, created, payment };
}

/** What needs a person, of one kind. */
export async function attention(server: Server, kind: string): Promise<Json[]> {
  const items = list(await cliJson(server, ['attention']), 'items');
  return items.filter((item) => at(item, 'kind') === kind);
}
