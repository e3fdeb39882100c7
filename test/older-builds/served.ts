/** An older build's store with a server of this build on it: what the tests of it share. */
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchantOf } from '../support/client.ts';
import { deliveries, reaches } from '../support/flows.ts';
import { type Json, list, text } from '../support/json.ts';
import {
  type Copy,
  type Kept,
  type KeptTransaction,
  keptMerchant,
  keptOf,
  receiverOf,
} from '../support/older-build.ts';
import type { Received, Receiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { isSignedWith } from '../support/signature.ts';
import { until } from '../support/wait.ts';

/** A store that an older build left, with a server of this build on it and a receiver where its webhooks go. */
export interface Served {
  kept: Kept;
  server: Server;
  receiver: Receiver;
}

export const SOON_MS = 20_000;

/** A kept merchant's client. */
export function clientOf({ kept, server }: Served, name: string): Merchant {
  const { accountId, clientId, clientSecret, webhooks } = keptMerchant(kept, name);
  return merchantOf(server, { accountId, clientId, clientSecret, webhooks });
}

/** The transaction of a story, and its merchant. */
export function played(
  served: Served,
  story: string,
): { client: Merchant; transaction: KeptTransaction; body: Json } {
  const transaction = keptOf(served.kept, story);
  if (transaction.merchant === null) throw new Error(`nobody knows the merchant of '${story}'`);
  const body = served.kept.bodies[transaction.id];
  if (body === undefined) throw new Error(`the body of '${story}' was not kept`);
  return { client: clientOf(served, transaction.merchant), transaction, body };
}

/** Waits until the transaction of a story shows a status. */
export async function comesTo(
  served: Served,
  story: string,
  status: string,
  timeoutMs = SOON_MS,
): Promise<Json> {
  const { client, transaction } = played(served, story);
  return reaches(client, transaction.type, transaction.id, status, timeoutMs);
}

/** Waits until all deliveries of a story's transaction have arrived. */
export async function allArrive(served: Served, story: string, timeoutMs = SOON_MS): Promise<void> {
  const { client, transaction } = played(served, story);
  const arrived = async (): Promise<boolean> =>
    (await deliveries(client, transaction.id)).every((delivery) => text(delivery, 'status') === 'delivered');
  await until(arrived, timeoutMs, `the deliveries of '${story}'`);
}

/** Requests at a path about one transaction; each is signed with the newest secret of the merchant's URL. */
export function signedAt(served: Served, path: string, story: string): Received[] {
  const { client, transaction } = played(served, story);
  const url = served.receiver.url(path);
  const secret = client.webhooks.find((webhook) => webhook.url === url)?.secret;
  if (secret === undefined) throw new Error(`nobody knows the secret of ${url}`);
  const got = served.receiver
    .at(path)
    .filter(({ headers }) => headers['x-transaction-id'] === transaction.id);
  for (const { headers, rawBody } of got)
    assert.ok(isSignedWith(secret, headers, rawBody), `signed for ${url}`);
  return got;
}

/** Restores a store and starts a server on it; `end` undoes all of it. */
export async function serve(copied: () => Promise<Copy>): Promise<{ served: Served; end(): Promise<void> }> {
  const copy = await copied();
  // First of all the address: its holder has it for itself until its server has ended.
  const receiver = await receiverOf(copy.kept).catch(async (error: unknown) => {
    await copy.remove();
    throw error;
  });
  let server: Server | null = null;
  const end = async (): Promise<void> => {
    await server?.stop();
    await receiver.close();
    await copy.remove();
  };
  try {
    server = await startServer({ dataDir: copy.dataDir, env: copy.env });
    return { served: { kept: copy.kept, server, receiver }, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** What the list for ops says, of one kind. */
export async function listed({ server }: Served, kind: string): Promise<string[]> {
  const items = list(await cliJson(server, ['attention']), 'items');
  return items.filter((item) => text(item, 'kind') === kind).map((item) => text(item, 'what'));
}
