/** What the console answers about what is there: at once, by pages, masked for all who may not see it. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { told } from '../support/flows.ts';
import { at, type Json, keys, list, text, whole } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { startConsole, type Visitor, visitor } from './visitor.ts';

const test = suite<{ server: Server; shop: Merchant; eva: Visitor; ops: Visitor }>('endpoints');

const CPF = '52998224725';
const KEY = 'segredo.da.maria@example.com';
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"; DROP TABLE x; --',
  '../../etc/passwd',
  '{"$ne":null}',
  '\u202e\u0000x',
  '%00',
  'ação 🧾',
  'x'.repeat(512),
  'constructor',
  '__proto__',
];

test.before(async (context) => {
  const server = await startConsole();
  context.server = server;
  context.shop = await merchant(server, ['--name', 'Loja <b>Azul</b>', '--balance', '100000']);
  context.eva = await visitor(server, ['--by', 'Eva']);
  context.ops = await visitor(server, ['--role', 'operator', '--by', 'Otto']);
});
test.after(async ({ server }) => {
  await server.stop();
});

async function charge(shop: Merchant, more: Record<string, Json> = {}): Promise<string> {
  const reply = await shop.post('/pix-in', { amount: 2_050, ...more });
  assert.is(reply.status, 201, reply.text);
  return text(reply.body, 'id');
}

async function paid(shop: Merchant, id: string): Promise<void> {
  const reply = await shop.post(`/sandbox/pix-in/${id}/pay`, {});
  assert.is(reply.status, 200, reply.text);
}

function ids(body: Json, name = 'rows'): string[] {
  return list(body, name).map((each) => text(each, 'id'));
}

test('it says who has signed in', async ({ eva }) => {
  const { body } = await eva.get('/me');
  assert.is(text(body, 'by'), 'Eva');
  assert.is(text(body, 'role'), 'viewer');
  assert.ok(Date.parse(text(body, 'until')) > Date.now());
});

test('what was answered is seen at once, a hundred times', async ({ shop, eva }) => {
  for (let count = 0; count < 100; count++) {
    const id = await charge(shop);
    const { status, body, text: answer } = await eva.get(`/transactions/${id}`);
    assert.is(status, 200, answer);
    assert.is(text(body, 'status'), 'waiting_payment');
  }
});

test('each kind of id leads to its transaction', async ({ shop, eva }) => {
  const externalRef = `order ${randomUUID()}`;
  const idempotencyKey = randomUUID();
  const reply = await shop.post(
    '/pix-in',
    { amount: 1_001, externalRef },
    { 'idempotency-key': idempotencyKey },
  );
  const id = text(reply.body, 'id');
  await until(
    async () => text((await eva.get(`/transactions/${id}`)).body, 'status') === 'paid',
    5_000,
    'it is paid',
  );
  const { body } = await eva.get(`/transactions/${id}`);
  const [event] = list(list(body, 'entries')[0] ?? null, 'events');
  const payment = text((body as { transaction: { pix: Json } }).transaction.pix, 'endToEndId');
  const quoted = { id, ID: id.toUpperCase(), event: text(event ?? null, 'id'), externalRef, payment };
  for (const [name, q] of Object.entries(quoted)) {
    const { body: found } = await eva.get(`/find?q=${encodeURIComponent(` ${q}`)}`);
    assert.equal(ids(found, 'hits'), [id], name);
    assert.is((found as { complete: boolean }).complete, true);
  }
  const elsewhere = await eva.get(`/find?q=${encodeURIComponent(externalRef)}&account=acc_none`);
  assert.equal(ids(elsewhere.body, 'hits'), []);
  for (const q of [shop.accountId, shop.clientId]) {
    const [hit = null] = list((await eva.get(`/find?q=${q}`)).body, 'hits');
    assert.is(text(hit, 'kind'), 'account');
    assert.is(text(hit, 'id'), shop.accountId);
    assert.is(text(hit, 'accountName'), 'Loja <b>Azul</b>');
  }
});

test('hostile texts find nothing, break nothing, and come back as they are', async ({ shop, eva }) => {
  for (const each of HOSTILE) {
    const q = encodeURIComponent(each);
    const found = await eva.get(`/find?q=${q}`);
    assert.is(found.status, 200, each);
    assert.equal(list(found.body, 'hits'), [], each);
    for (const path of [`/transactions/${q}`, `/transactions/${q}/payload/${q}`])
      assert.is((await eva.get(path)).status, 404, path);
    for (const path of [
      `/transactions?account=${q}`,
      `/transactions?status=${q}`,
      `/accounts?q=${q}&after=${q}`,
    ])
      assert.is((await eva.get(path)).status, 200, path);
    assert.ok([200, 400].includes((await eva.get(`/transactions?after=${q}`)).status));
  }
  for (const name of [
    'limit=0',
    'limit=101',
    'limit=x',
    'type=x',
    'account=a&account=b',
    `q=${'x'.repeat(2_000)}`,
  ]) {
    const path = name.startsWith('q=') ? '/find' : '/transactions';
    const { status, body } = await eva.get(`${path}?${name}`);
    assert.is(status, 400, name);
    assert.is(text(body, 'error'), 'INVALID_REQUEST');
  }
  const [hostile = ''] = HOSTILE;
  const id = await charge(shop, { externalRef: hostile, description: hostile });
  const reply = await eva.get(`/transactions/${id}`);
  assert.match(reply.headers['content-type'] ?? '', 'application/json');
  assert.is(text((reply.body as { transaction: Json }).transaction, 'description'), hostile);
  assert.equal(ids((await eva.get(`/find?q=${encodeURIComponent(hostile)}`)).body, 'hits'), [id]);
});

test('documents and keys are masked in the bytes, for an operator too who does not ask', async ({
  shop,
  eva,
  ops,
}) => {
  const id = await charge(shop, {
    customer: { name: 'Maria', document: { type: 'CPF', number: CPF }, email: KEY, phone: '+5511987654321' },
    description: `for ${CPF} (529.982.247-25)`,
    metadata: { note: CPF, 'of 529.982.247-25': 'a key', n: Number(CPF) },
  });
  await paid(shop, id);
  const transfer = await shop.post('/cashout', { amount: 1_000, pix: { pixKeyType: 'EMAIL', pixKey: KEY } });
  const events = list((await ops.get(`/transactions/${id}`)).body, 'entries').flatMap((entry) =>
    list(entry, 'events'),
  );
  const paths = [
    `/transactions/${id}`,
    `/transactions/${text(transfer.body, 'id')}`,
    ...events.map((event) => `/transactions/${id}/payload/${text(event, 'id')}`),
    '/transactions',
    `/find?q=${id}`,
  ];
  for (const path of paths) {
    for (const who of [eva, ops]) {
      const { text: bytes } = await who.get(path);
      for (const secret of [CPF, '529.982.247-25', KEY, '987654321', 'br.gov.bcb.pix'])
        assert.not.match(bytes, secret, path);
    }
  }
  const shown = await ops.get(`/transactions/${id}?reveal=1`);
  assert.match(shown.text, CPF);
  assert.match(shown.text, KEY);
  for (const wrong of ['0', 'false', 'no', 'true', '01', '1&reveal=1']) {
    const refused = await ops.get(`${paths[0]}?reveal=${wrong}`);
    assert.is(refused.status, 400, wrong);
    assert.is(text(refused.body, 'error'), 'INVALID_REQUEST');
    assert.not.match(refused.text, CPF);
  }
  assert.not.match((await ops.get(`${paths[0]}?reveal=`)).text, CPF);
  for (const path of paths.slice(0, 3)) {
    const refused = await eva.get(`${path}?reveal=1`);
    assert.is(refused.status, 403);
    assert.is(text(refused.body, 'error'), 'OPERATORS_ONLY');
    assert.not.match(refused.text, CPF);
  }
});

test('an entry says who of ops sent its message, and why', async ({ server, eva }) => {
  const shop = await merchant(server);
  const id = await charge(shop);
  await paid(shop, id);
  await cliJson(server, ['send', id, 'PROTEST', '--by', 'Ana', '--reason', `as ${CPF} asks`]);
  const { body } = await eva.get(`/transactions/${id}`);
  assert.equal(
    list(body, 'entries').map((entry) => at(entry, 'by')),
    [{ name: 'Ana', reason: 'as •••25 asks', role: 'operator' }, null, null],
  );
});

test('a transaction has its entries with balances, its legs, and what it takes next', async ({
  server,
  eva,
}) => {
  const shop = await merchant(server, ['--balance', '50000']);
  const id = await charge(shop, { amount: 2_100 });
  await paid(shop, id);
  const { body } = await eva.get(`/transactions/${id}`);
  const entries = list(body, 'entries');
  assert.equal(
    entries.map((entry) => text((entry as { message: Json }).message, 'type')),
    ['PAY', 'CREATE'],
  );
  const balance = await shop.balance();
  assert.equal(
    entries.map((entry) => whole(entry, 'balance')),
    [balance, 50_000],
  );
  const legs = list(body, 'legs').map((leg) => whole(leg, 'amount'));
  assert.is(
    legs.reduce((sum, amount) => sum + amount, 0),
    0,
  );
  assert.ok((body as { allowed: string[] }).allowed.includes('REFUND'));
  assert.is((body as { before: number | null }).before, null);
});

test('a long history comes by pages, each entry once', async ({ server, eva }) => {
  const shop = await merchant(server);
  const id = await charge(shop);
  await paid(shop, id);
  for (let count = 0; count < 120; count++)
    await shop.post(`/sandbox/transactions/${id}/messages`, { id: `m${count}`, type: 'APPROVE' });
  const seen: number[] = [];
  let pages = 0;
  for (let before: number | null = null; ; pages++) {
    const { body } = await eva.get(`/transactions/${id}${before === null ? '' : `?before=${before}`}`);
    const entries = list(body, 'entries');
    assert.ok(entries.length > 0);
    seen.push(...entries.map((entry) => whole(entry, 'seq')));
    before = (body as { before: number | null }).before;
    if (before === null) break;
  }
  assert.is(seen.length, 122);
  assert.equal(
    seen,
    [...seen].sort((a, b) => b - a),
  );
  assert.ok(pages >= 2);
  const refused = list((await eva.get(`/transactions/${id}`)).body, 'entries')[0] as { refusal: Json };
  assert.is(text(refused.refusal, 'code'), 'MESSAGE_NOT_ACCEPTED');
  assert.equal(keys(refused.refusal, 'data'), ['message', 'state', 'type']);
});

test('a list is the newest first, and its pages hold each transaction once', async ({ server, eva }) => {
  const shop = await merchant(server, ['--balance', '100000']);
  const made: string[] = [];
  for (let count = 0; count < 30; count++) made.push(await charge(shop));
  const transfer = await shop.post('/cashout', { amount: 1_000, pix: { pixKeyType: 'EMAIL', pixKey: KEY } });
  const wanted = [text(transfer.body, 'id'), ...[...made].reverse()];
  async function all(query: string): Promise<string[]> {
    const rows: string[] = [];
    for (let after: string | null = null; ; ) {
      const place: string = after === null ? '' : `&after=${encodeURIComponent(after)}`;
      const { body, status, text: answer } = await eva.get(`/transactions?limit=7&${query}${place}`);
      assert.is(status, 200, answer);
      const page = body as { rows: Json[]; after: string | null; lookedBackTo: string | null };
      assert.ok(page.rows.length <= 7);
      rows.push(...ids(body));
      if (page.after === null) {
        assert.is(page.lookedBackTo, null);
        return rows;
      }
      assert.ok(Date.parse(page.lookedBackTo ?? ''));
      after = page.after;
    }
  }
  assert.equal(await all(`account=${shop.accountId}`), wanted);
  assert.equal(await all(`account=${shop.accountId}&type=cashout`), wanted.slice(0, 1));
  assert.equal(await all(`account=${shop.accountId}&type=pix-in&status=waiting_payment`), wanted.slice(1));
  assert.equal(await all(`account=${shop.accountId}&status=paid`), []);
  const everywhere = await all('');
  assert.equal(everywhere.slice(0, 31), wanted);
  assert.is(new Set(everywhere).size, everywhere.length);
  assert.ok(everywhere.length > 130);
});

test('a list is of what was created between two times, and of a family of states', async (context) => {
  const { server, eva } = context;
  const shop = await merchant(server, ['--balance', '100000']);
  const made: { id: string; at: string }[] = [];
  for (let count = 0; count < 9; count++) {
    const { body } = await shop.post('/pix-in', { amount: 1_000, externalRef: `t${count}` });
    made.push({ id: text(body, 'id'), at: text(body, 'createdAt') });
    await sleep(5);
  }
  const [third, fifth] = [made[2], made[4]];
  await paid(shop, third?.id ?? '');
  await told(shop, fifth?.id ?? '', 'PAY');
  await told(shop, fifth?.id ?? '', 'PROTEST');
  const listed = async (query: string, account = shop.accountId) => {
    const rows: string[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const place: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const of = account === '' ? '' : `&account=${account}`;
      const { body, status, text: answer } = await eva.get(`/transactions?limit=2&${query}${of}${place}`);
      assert.is(status, 200, answer);
      rows.push(...ids(body));
      after = (body as { after: string | null }).after;
      if (after === null) assert.is((body as { lookedBackTo: string | null }).lookedBackTo, null);
    }
    return rows;
  };
  const between = (from: number, to: number) =>
    made
      .slice(from, to + 1)
      .map(({ id }) => id)
      .reverse();
  const timeOf = (index: number) => made[index]?.at ?? '';
  for (const account of [shop.accountId, '']) {
    assert.equal(await listed(`from=${timeOf(2)}&to=${timeOf(6)}`, account), between(2, 6), `of ${account}`);
    assert.equal(await listed(`from=${timeOf(6)}`, account), between(6, 8));
    assert.equal((await listed(`to=${timeOf(1)}`, account)).slice(0, 2), between(0, 1));
    assert.equal(await listed(`from=${timeOf(2)}&to=${timeOf(4)}&family=good`, account), [third?.id]);
    assert.equal(await listed('to=2020-01-01T00:00:00Z', account), []);
    assert.equal(await listed('from=2120-01-01T00:00:00Z', account), []);
  }
  assert.equal(await listed('family=care'), [fifth?.id]);
  assert.equal(
    await listed('family=open'),
    made
      .map(({ id }) => id)
      .filter((id) => ![third?.id, fifth?.id].includes(id))
      .reverse(),
  );
  assert.equal(await listed('family=open&status=paid'), []);
  for (const wrong of [
    'family=happy',
    'from=yesterday',
    'to=2026-02-30T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
  ]) {
    const { status, body } = await eva.get(`/transactions?${wrong}`);
    assert.equal([status, text(body, 'error')], [400, 'INVALID_REQUEST'], wrong);
  }
});

test('accounts are listed by pages, and found by a part of their names', async ({ server, shop, eva }) => {
  await cliJson(server, ['account', 'create', '--count', '12', '--name', 'Filial', '--balance', '700']);
  const all: string[] = [];
  for (let after = ''; ; ) {
    const { body } = await eva.get(`/accounts?limit=5&after=${after}`);
    all.push(...ids(body));
    const next = (body as { after: string | null }).after;
    if (next === null) break;
    after = next;
  }
  assert.equal(all, [...all].sort());
  assert.ok(all.length >= 14, String(all.length));
  const branches = (await eva.get('/accounts?q=filial')).body;
  assert.is(ids(branches).length, 12);
  assert.is(whole(list(branches, 'rows')[0] ?? null, 'balance'), 700);
  assert.equal(ids((await eva.get(`/accounts?q=${shop.accountId}`)).body), [shop.accountId]);
  const bytes = (await eva.get('/accounts')).text;
  assert.not.match(bytes, /secret/i);
});

test('paths and methods that are not there have the error object', async ({ eva }) => {
  const { body, status } = await eva.get('/nothing');
  assert.is(status, 404);
  assert.is(text(body, 'error'), 'NOT_FOUND');
});

test.run();
