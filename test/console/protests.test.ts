/** Charges under protest (MED) on the start page: counted, listed by pages, and gone once they are decided. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, told } from '../support/flows.ts';
import { at, type Json, list, text } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { consoleReady, startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  shop: Merchant;
  eva: Visitor;
  rui: Visitor;
  /** Under protest, in that order. */
  protested: string[];
}

const test = suite<Context>('protests');
const AMOUNTS = [2_050, 3_050, 4_050, 5_050];

test.before(async (context) => {
  context.server = await startConsole();
  context.shop = await merchant(context.server, ['--name', 'Loja Azul', '--balance', '100000']);
  context.eva = await visitor(context.server, ['--by', 'Eva', '--role', 'viewer']);
  context.rui = await visitor(context.server, ['--by', 'Rui', '--role', 'operator']);
});
test.after(async ({ server }) => {
  await server.stop();
});

async function counted(eva: Visitor): Promise<Json> {
  const { protests } = (await eva.get('/now')).body as { protests: { n: number; sum: number } };
  return [protests.n, protests.sum];
}

async function idsOn(eva: Visitor, query = ''): Promise<string[]> {
  const { status, body, text: answer } = await eva.get(`/protests${query}`);
  assert.is(status, 200, answer);
  return list(body, 'rows').map((row) => text(row, 'id'));
}

/** As the page does it. */
async function decide(rui: Visitor, id: string, type: string, data?: Json): Promise<void> {
  const body = { id: randomUUID(), type, reason: 'looked into', ...(data ? { data } : {}) };
  const reply = await rui.act('POST', `/transactions/${id}/messages`, body);
  assert.is(reply.status, 200, reply.text);
}

test('where nobody protests there is nothing to decide', async ({ eva }) => {
  assert.equal(await counted(eva), [0, 0]);
  assert.equal((await eva.get('/protests')).body, { rows: [], after: null });
});

test('each protest is counted with its amount, and is no item of the command line', async (context) => {
  const { server, shop, eva } = context;
  context.protested = [];
  for (const amount of AMOUNTS) {
    const id = text(await charge(shop, amount, { externalRef: `pedido ${amount}` }), 'id');
    await told(shop, id, 'PAY');
    await told(shop, id, 'PROTEST');
    context.protested.push(id);
  }
  await told(shop, text(await charge(shop, 9_950), 'id'), 'PAY');
  const sum = AMOUNTS.reduce((all, amount) => all + amount);
  await until(
    async () => JSON.stringify(await counted(eva)) === JSON.stringify([AMOUNTS.length, sum]),
    5_000,
    'all are counted',
  );
  assert.equal(at((await eva.get('/now')).body, 'causes'), []);
  assert.equal(list(await cliJson(server, ['attention']), 'items'), []);
});

test('they are listed by pages, the one that was changed longest ago first', async ({ eva, protested }) => {
  assert.equal(await idsOn(eva), protested);
  const { body } = await eva.get('/protests?limit=3');
  assert.equal(
    list(body, 'rows').map((row) => [text(row, 'accountName'), text(row, 'status'), at(row, 'amount')]),
    AMOUNTS.slice(0, 3).map((amount) => ['Loja Azul', 'in_protest', amount]),
  );
  const after = encodeURIComponent(text(body, 'after'));
  assert.equal(await idsOn(eva, `?limit=3&after=${after}`), protested.slice(3));
  assert.is(at((await eva.get(`/protests?limit=3&after=${after}`)).body, 'after'), null);
  for (const wrong of ['?limit=101', '?after=x', '?after=2026-11-23T12:00:00Z~x~y'])
    assert.is((await eva.get(`/protests${wrong}`)).status, 400, wrong);
});

test('what is decided goes, and what is booked in part stays until all of it is', async (context) => {
  const { eva, rui, protested } = context;
  const [dismissed = '', refunded = '', part = '', untouched = ''] = protested;
  await decide(rui, dismissed, 'DISMISS');
  await decide(rui, refunded, 'REFUND');
  await decide(rui, part, 'CHARGEBACK', { amount: 1_000 });
  assert.equal(await idsOn(eva), [untouched, part]);
  // What is left of it.
  await decide(rui, part, 'CHARGEBACK');
  assert.equal(await idsOn(eva), [untouched]);
  await until(
    async () => JSON.stringify(await counted(eva)) === JSON.stringify([1, AMOUNTS[3]]),
    5_000,
    'one is left',
  );
});

test('a restart takes none of them away', async ({ server, eva, protested }) => {
  await server.restart();
  await consoleReady(server);
  // On a database the console's own connection may come a moment after the server's.
  await until(async () => (await eva.get('/protests')).status === 200, 10_000, 'the store is there');
  assert.equal(await idsOn(eva), protested.slice(3));
});

test.run();
