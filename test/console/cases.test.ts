/** A transaction's page has what needs a person about it, and each of it is done with by itself. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, newEndToEndId, tell, told, transfer } from '../support/flows.ts';
import { at, type Json, list, text } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  shop: Merchant;
  eva: Visitor;
  rui: Visitor;
}

const test = suite<Context>('cases');

test.before(async (context) => {
  context.server = await startConsole({ env: { STUCK_AFTER_S: '1' } });
  context.shop = await merchant(context.server, ['--name', 'Loja Azul', '--balance', '100000']);
  context.eva = await visitor(context.server, ['--by', 'Eva', '--role', 'viewer']);
  context.rui = await visitor(context.server, ['--by', 'Rui', '--role', 'operator']);
});
test.after(async ({ server }) => {
  await server.stop();
});

async function itemsOf(eva: Visitor, id: string): Promise<Json[]> {
  const { status, body, text: answer } = await eva.get(`/transactions/${id}`);
  assert.is(status, 200, answer);
  return list(body, 'items');
}

/** The texts under a name. */
async function namesOf(eva: Visitor, id: string, name: string): Promise<string[]> {
  return (await itemsOf(eva, id)).map((item) => text(item, name));
}

/** A charge that is paid, and paid again by others. */
async function paidTwice(shop: Merchant, others: readonly string[]): Promise<string> {
  const id = text(await charge(shop, 3_300), 'id');
  await told(shop, id, 'PAY', { endToEndId: newEndToEndId() });
  for (const each of others) await tell(shop, id, 'PAY', { endToEndId: each });
  return id;
}

test('each is there with its code and sentences, the oldest first, and nobody else has it', async ({
  shop,
  eva,
}) => {
  const twice = [newEndToEndId(), newEndToEndId()];
  const id = await paidTwice(shop, twice);
  const other = text(await charge(shop, 9_950), 'id');
  const items = await itemsOf(eva, id);
  assert.equal(
    items.map((item) => [text(item, 'kind'), text(item, 'code'), text(item, 'data.endToEndId')]),
    twice.map((endToEndId) => ['return', 'PAYMENT_GIVEN_BACK', endToEndId]),
  );
  assert.equal(at(items[0] ?? null, 'about.transaction'), id);
  assert.equal(await itemsOf(eva, other), []);
});

test('one is done with by itself, by operators alone, with a reason in the journal', async (context) => {
  const { server, shop, eva, rui } = context;
  const id = await paidTwice(shop, [newEndToEndId(), newEndToEndId()]);
  const [first = '', second = ''] = await namesOf(eva, id, 'id');
  const wish = { id: randomUUID(), kind: 'return', ids: [first], reason: 'the payer was called' };
  assert.is((await eva.act('POST', '/attention/done', wish)).status, 403);
  assert.equal((await rui.act('POST', '/attention/done', wish)).body, { done: [first] });
  assert.equal(await namesOf(eva, id, 'id'), [second]);
  const listed = list(await cliJson(server, ['attention', '--account', shop.accountId]), 'items');
  assert.not(listed.some((item) => text(item, 'id') === first));
  const { body } = await eva.get(`/accounts/${shop.accountId}/statement?door=ops`);
  assert.match(JSON.stringify(body), /the payer was called/);
});

test('what is stuck is there until the bank has spoken, and goes with its word', async ({ shop, eva }) => {
  const id = text(await transfer(shop, 1_007), 'id');
  await until(async () => (await itemsOf(eva, id)).length === 1, 15_000, 'it is stuck');
  assert.equal(await namesOf(eva, id, 'code'), ['TRANSFER_STUCK']);
  await told(shop, id, 'SETTLE');
  await until(async () => (await itemsOf(eva, id)).length === 0, 10_000, 'it is over');
});

test.run();
