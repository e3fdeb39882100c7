/** What the start page is made of: causes of what needs a person, figures, and the newest entries. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, told, transfer } from '../support/flows.ts';
import { at, type Json, list, text, whole } from '../support/json.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  receiver: Receiver;
  shop: Merchant;
  other: Merchant;
  eva: Visitor;
}

const test = suite<Context>('now');
const CHARGES = 4;

test.before(async (context) => {
  context.server = await startConsole({ env: { STUCK_AFTER_S: '1' } });
  context.eva = await visitor(context.server, ['--by', 'Eva', '--role', 'viewer']);
});
test.after(async ({ server, receiver }) => {
  await server.stop();
  await receiver?.close();
});

async function now(eva: Visitor): Promise<Json> {
  const { status, body, text: answer } = await eva.get('/now');
  assert.is(status, 200, answer);
  return body;
}

/** The causes of a kind. */
async function causes(eva: Visitor, kind: string): Promise<Json[]> {
  return list(await now(eva), 'causes').filter((cause) => text(cause, 'kind') === kind);
}

test('where nothing is wrong there are no causes', async ({ eva }) => {
  const body = await now(eva);
  assert.equal(list(body, 'causes'), []);
  assert.equal([at(body, 'others'), at(body, 'counted.complete')], [0, true]);
  assert.is(list(body, 'figures.perMin').length, 60);
});

test('dead deliveries are a cause a URL, transfers without an answer one of all accounts', async (context) => {
  const { server, eva } = context;
  context.receiver = await startReceiver();
  const { receiver } = context;
  receiver.answer('/down', () => ({ status: 503 }));
  receiver.answer('/bad', () => ({ status: 400 }));
  const urls = ['/down', '/bad', '/good'].flatMap((path) => ['--webhook-url', receiver.url(path)]);
  context.shop = await merchant(server, ['--name', 'Loja Azul', '--balance', '100000', ...urls]);
  context.other = await merchant(server, ['--name', 'Outra', '--balance', '100000']);
  const { shop, other } = context;
  for (let nth = 0; nth < CHARGES; nth++) await told(shop, text(await charge(shop, 2_050), 'id'), 'PAY');
  await transfer(shop, 1_007);
  const sent = text(await transfer(other, 2_507), 'id');
  const all = CHARGES * 2 + 1;
  await until(
    async () => (await causes(eva, 'dead')).some((cause) => whole(cause, 'count') >= all),
    30_000,
    'all are dead',
  );
  const [dead = null, ...more] = await causes(eva, 'dead');
  assert.equal(more, []);
  assert.equal(
    [text(dead, 'code'), text(dead, 'action'), text(dead, 'about.url'), text(dead, 'about.account')],
    ['DELIVERY_DEAD', 'retry', receiver.url('/down'), shop.accountId],
  );
  assert.is(text(dead, 'accountName'), 'Loja Azul');
  assert.is(at(dead, 'sum'), null);
  assert.is(list(dead, 'sample').length, 3);
  for (const item of list(dead, 'sample')) assert.match(text(item, 'id'), /^dlv_/);
  const [rejected = null] = await causes(eva, 'rejected');
  assert.is(text(rejected, 'about.url'), receiver.url('/bad'));
  assert.ok(whole(rejected, 'count') >= all);
  await until(async () => (await causes(eva, 'stuck')).length === 1, 10_000, 'the transfers are stuck');
  await until(async () => at((await causes(eva, 'stuck'))[0] ?? null, 'count') === 2, 10_000, 'both are');
  const [stuck = null] = await causes(eva, 'stuck');
  assert.equal(
    [text(stuck, 'code'), text(stuck, 'action'), whole(stuck, 'sum'), at(stuck, 'about.account')],
    ['TRANSFER_STUCK', 'answer', 3_514, null],
  );
  // Once the bank's word is recorded, the case is smaller.
  await cliJson(server, ['send', sent, 'SETTLE']);
  await until(
    async () => at((await causes(eva, 'stuck'))[0] ?? null, 'sum') === 1_007,
    10_000,
    'one is left',
  );
  // Tried again and taken, nothing is left of it.
  receiver.answer('/down', () => ({ status: 200 }));
  await cliJson(server, ['deliveries', 'retry', '--account', shop.accountId, '--url', receiver.url('/down')]);
  await until(async () => (await causes(eva, 'dead')).length === 0, 20_000, 'no delivery is dead');
});

test('the figures tell what this server has done, and what is open', async ({ eva, shop }) => {
  const body = await now(eva);
  const perMin = list(body, 'figures.perMin');
  const counted = perMin.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
  // Of each charge its creation and its payment, of each transfer its creation at least.
  assert.ok(counted >= 2 * CHARGES + 2, `${counted} messages`);
  assert.is(perMin[0], null);
  const of = whole(body, 'figures.firstAttempt.of');
  const taken = whole(body, 'figures.firstAttempt.taken');
  assert.ok(of >= 3 * (2 * CHARGES + 1) && taken > 0 && taken < of, `${taken} of ${of}`);
  assert.equal([whole(body, 'figures.openCashouts.n'), whole(body, 'figures.openCashouts.sum')], [1, 1_007]);
  const waited = async (): Promise<unknown> => at(await now(eva), 'figures.waiting.n');
  await until(async () => (await waited()) === 0, 10_000, 'no charge waits');
  await charge(shop, 5_000);
  await until(async () => (await waited()) === 1, 10_000, 'one waits');
});

test('the newest entries of all accounts come first, at most so many', async ({
  server,
  eva,
  shop,
  other,
}) => {
  const id = text(await charge(shop, 7_712), 'id');
  await charge(other, 8_813);
  const { body } = await eva.get('/journal?limit=5');
  const rows = list(body, 'rows');
  assert.is(rows.length, 5);
  assert.equal(
    rows.slice(0, 2).map((row) => [text(row, 'accountName'), whole(row, 'amount'), text(row, 'message')]),
    [
      ['Outra', 8_813, 'CREATE'],
      ['Loja Azul', 7_712, 'CREATE'],
    ],
  );
  assert.equal(
    [text(rows[1] ?? null, 'transaction'), text(rows[1] ?? null, 'status')],
    [id, 'waiting_payment'],
  );
  assert.is(new Set(rows.map((row) => text(row, 'id'))).size, 5);
  assert.is((await eva.get('/journal?limit=101')).status, 400);
  await cliJson(server, ['account', 'adjust', shop.accountId, '-250', '--reason', 'a test']);
  const newest = list((await eva.get('/journal?limit=1')).body, 'rows')[0] ?? null;
  assert.equal(
    [text(newest, 'message'), whole(newest, 'amount'), at(newest, 'transaction'), at(newest, 'status')],
    ['ADJUST', -250, null, null],
  );
});

test.run();
