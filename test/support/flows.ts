import type { Client, Reply } from './client.ts';
import { expectStatus } from './expect.ts';
import { at, type Json, type JsonObject, list, text } from './json.ts';
import { until } from './wait.ts';

/** A CPF with right check digits. */
export const validCpf = '12345678909';

/** An end-to-end identifier that no other call has returned. */
export function newEndToEndId(): string {
  serial += 1;
  return `E12345678202601021530${String(serial).padStart(11, 'a')}`;
}
let serial = 0;

/** Creates a charge that waits (no sandbox scenario, unless `amount` ends in 01 to 10) and returns it. */
export async function charge(client: Client, amount = 10_000, more: JsonObject = {}): Promise<Json> {
  return expectStatus(await client.post('/pix-in', { amount, ...more }), 201);
}

/** Asks for a cashout to a valid key. An amount that ends in 07 stays pending in the sandbox. */
export function askTransfer(client: Client, amount = 1_007, more: JsonObject = {}): Promise<Reply> {
  return client.post('/cashout', { amount, pix: { pixKeyType: 'CPF', pixKey: validCpf }, ...more });
}

/** Creates a cashout and returns it. */
export async function transfer(client: Client, amount = 1_007, more: JsonObject = {}): Promise<Json> {
  return expectStatus(await askTransfer(client, amount, more), 201);
}

/** Sends a message to a transaction through the sandbox's endpoint. */
export function tell(
  client: Client,
  id: string,
  type: string,
  data?: Json,
  messageId?: string,
): Promise<Reply> {
  return client.post(`/sandbox/transactions/${id}/messages`, {
    type,
    ...(data === undefined ? {} : { data }),
    ...(messageId === undefined ? {} : { id: messageId }),
  });
}

/** Sends a message that must be applied, and returns the transaction after it. */
export async function told(client: Client, id: string, type: string, data?: Json): Promise<Json> {
  const body = expectStatus(await tell(client, id, type, data), 200);
  if (at(body, 'applied') !== true) throw new Error(`not applied: ${JSON.stringify(body)}`);
  return body;
}

/** A transaction as its GET shows it. */
export async function shown(client: Client, kind: 'pix-in' | 'cashout', id: string): Promise<Json> {
  return expectStatus(await client.get(`/${kind}?id=${id}`), 200);
}

/** The deliveries of a transaction, newest first. */
export async function deliveries(client: Client, id: string): Promise<Json[]> {
  return list(expectStatus(await client.get(`/webhooks?transactionId=${id}`), 200), 'data');
}

/** The events of a transaction in order, as the history of one unfiltered URL tells. */
export async function events(client: Client, id: string): Promise<string[]> {
  return (await deliveries(client, id)).map((delivery) => text(delivery, 'event')).reverse();
}

/** Waits until a transaction shows a status. */
export async function reaches(
  client: Client,
  kind: 'pix-in' | 'cashout',
  id: string,
  status: string,
  timeoutMs = 10_000,
): Promise<Json> {
  return until(
    async () => {
      const transaction = await shown(client, kind, id);
      return text(transaction, 'status') === status && transaction;
    },
    timeoutMs,
    `${kind} ${id} ${status}`,
  );
}
