/** All that a URL didn't take is tried again: one first, then the rest at a rate, until half of what was tried fails. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, type Json, type JsonObject, list, text, whole } from '../support/json.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  receiver: Receiver;
  shop: Merchant;
  eva: Visitor;
}

const CHARGES = 40;
const test = suite<Context>('retries');
let isUp = false;
let serial = 0;

test.before(async (context) => {
  context.server = await startConsole();
  context.receiver = await startReceiver();
  context.receiver.answer('/shop', () => ({ status: isUp ? 200 : 400 }));
  const urls = ['--webhook-url', context.receiver.url('/shop')];
  context.shop = await merchant(context.server, ['--name', 'Loja Azul', ...urls]);
  context.eva = await visitor(context.server, ['--role', 'operator', '--by', 'Eva']);
  for (let nth = 0; nth < CHARGES; nth++) await charge(context.shop, 2_050);
  await until(async () => (await failed(context)) === CHARGES, 20_000, 'all were turned away');
});
test.after(async ({ server, receiver }) => {
  await server.stop();
  await receiver.close();
});

/** How many deliveries to the URL have failed for good. */
async function failed({ eva, shop }: Context): Promise<number> {
  const { body } = await eva.get(`/deliveries?account=${shop.accountId}&status=rejected&limit=100`);
  return list(body, 'rows').length;
}

function wish({ receiver, shop }: Context, more: JsonObject = {}): JsonObject & { id: string } {
  serial += 1;
  const given = { id: `run ${serial}`, reason: 'the shop was down', account: shop.accountId };
  return { ...given, url: receiver.url('/shop'), since: '2026-01-01T00:00:00Z', perSecond: 50, ...more };
}

async function begun({ eva }: Context, body: JsonObject): Promise<Json> {
  const reply = await eva.act('POST', '/deliveries/retry', body);
  assert.is(reply.status, 200, reply.text);
  return reply.body;
}

/** A run's end. */
async function ended({ eva }: Context, id: string): Promise<Json> {
  return until(
    async () => {
      const { body } = await eva.get(`/deliveries/retries/${encodeURIComponent(id)}`);
      return text(body, 'state') !== 'running' && body;
    },
    20_000,
    'the run is over',
  );
}

test('a URL is asked with one delivery, and its answer is told', async (context) => {
  const first = wish(context, { first: true });
  const run = await begun(context, first);
  assert.is(whole(run, 'asked'), CHARGES);
  const over = await ended(context, first.id);
  assert.is(text(over, 'state'), 'done');
  assert.equal([whole(over, 'retried'), whole(over, 'delivered'), whole(over, 'failed')], [1, 0, 1]);
  assert.is(whole(over, 'last.statusCode'), 400);
  assert.is(await failed(context), CHARGES);
});

test('a run stops itself where half of what it tries fails, and leaves the rest', async (context) => {
  const before = context.receiver.at('/shop').length;
  const all = wish(context);
  await begun(context, all);
  const over = await ended(context, all.id);
  assert.is(text(over, 'state'), 'stopped');
  assert.ok(whole(over, 'failed') >= 5, JSON.stringify(over));
  assert.ok(whole(over, 'retried') <= 15, JSON.stringify(over));
  await until(async () => (await failed(context)) === CHARGES, 10_000, 'none is under way');
  assert.ok(context.receiver.at('/shop').length - before <= 15);
});

test('once the URL is up again all are delivered, each once', async (context) => {
  isUp = true;
  const before = context.receiver.at('/shop').length;
  const first = wish(context, { first: true });
  await begun(context, first);
  assert.is(whole(await ended(context, first.id), 'delivered'), 1);
  const all = wish(context);
  const run = await begun(context, all);
  assert.is(whole(run, 'asked'), CHARGES - 1);
  // The same id is the same run, whoever asks again and how often.
  for (let nth = 0; nth < 3; nth++) assert.is(text(await begun(context, all), 'id'), all.id);
  const over = await ended(context, all.id);
  assert.is(text(over, 'state'), 'done');
  assert.is(whole(over, 'delivered'), CHARGES - 1);
  assert.is(await failed(context), 0);
  assert.is(context.receiver.at('/shop').length - before, CHARGES);
  assert.equal(await begun(context, all), over, 'answered as it ended');
  const { eva } = context;
  const other = await eva.act('POST', '/deliveries/retry', { ...all, since: null });
  assert.is(other.status, 409);
  assert.is(text(other.body, 'error'), 'ID_REUSED');
});

test('each run has one entry in the journal, under a name and with a reason', async (context) => {
  const { shop, server, eva } = context;
  const { body } = await eva.get(`/accounts/${shop.accountId}/statement?door=ops`);
  assert.is(list(body, 'rows').length, 4);
  const verified = await cliJson(server, ['verify', '--decide']);
  assert.is(at(verified, 'ok'), true);
});

test('what did not fail since then, or went elsewhere, is not touched', async (context) => {
  const before = context.receiver.at('/shop').length;
  for (const more of [
    { since: new Date(Date.now() + 3_600_000).toISOString() },
    { url: context.receiver.url('/other') },
    { account: 'acc_none' },
  ]) {
    const none = wish(context, more);
    await begun(context, none);
    const over = await ended(context, none.id);
    assert.equal([text(over, 'state'), whole(over, 'asked'), whole(over, 'retried')], ['done', 0, 0]);
  }
  assert.is(context.receiver.at('/shop').length, before);
});

test('deliveries are tried again by their ids, and once for an id', async (context) => {
  const { shop, eva, receiver } = context;
  isUp = false;
  const transaction = text(await charge(shop, 2_050), 'id');
  await until(async () => (await failed(context)) === 1, 10_000, 'it was turned away');
  const { body } = await eva.get(`/deliveries?account=${shop.accountId}&status=rejected`);
  const id = text(list(body, 'rows')[0] ?? null, 'id');
  isUp = true;
  const before = receiver.at('/shop').length;
  const asked = { id: 'by ids', reason: 'the shop asks for it', ids: [id] };
  assert.equal(await begun(context, asked), { asked: 1, retried: 1, deliveries: [id] });
  await receiver.waitForCount('/shop', before + 1, 10_000);
  await until(async () => (await failed(context)) === 0, 10_000, 'it is delivered');
  assert.equal(await begun(context, asked), { asked: 1, retried: 0, deliveries: [] });
  const late = await eva.act('POST', '/deliveries/retry', { ...asked, id: 'too late' });
  assert.is(late.status, 409, late.text);
  assert.is(text(late.body, 'error'), 'DELIVERY_NOT_DEAD');
  assert.equal(await begun(context, { ...asked, id: 'all of it', ids: [transaction] }), {
    ...{ asked: 1, retried: 0, deliveries: [] },
  });
  assert.is(receiver.at('/shop').length - before, 1);
});

test.run();
