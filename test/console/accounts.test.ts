/** What the console answers about one account, and about deliveries: by pages, at times, without a secret. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, told } from '../support/flows.ts';
import { at, type Json, list, text, whole } from '../support/json.ts';
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

const test = suite<Context>('accounts');
const CHARGES = 24;

test.before(async (context) => {
  context.server = await startConsole();
  context.receiver = await startReceiver();
  context.receiver.answer('/bad', () => ({ status: 400 }));
  context.receiver.answer('/down', () => ({ status: 503 }));
  const urls = ['/good', '/bad', '/down'].flatMap((path) => ['--webhook-url', context.receiver.url(path)]);
  const key = ['--pix-key', 'chave.da.loja@example.com'];
  context.shop = await merchant(context.server, [
    '--name',
    'Loja Azul',
    '--balance',
    '100000',
    ...urls,
    ...key,
  ]);
  context.eva = await visitor(context.server, ['--by', 'Eva']);
  for (let nth = 0; nth < CHARGES; nth++) {
    const id = text(await charge(context.shop, 2_050 + nth * 100, { externalRef: `order ${nth}` }), 'id');
    if (nth % 2 === 0) await told(context.shop, id, 'PAY');
  }
});
test.after(async ({ server, receiver }) => {
  await server.stop();
  await receiver.close();
});

async function read(eva: Visitor, path: string): Promise<Json> {
  const { status, body, text: answer } = await eva.get(path);
  assert.is(status, 200, `${path}: ${answer}`);
  return body;
}

/** All rows of a list, page by page, with how many pages it took. */
async function all(
  eva: Visitor,
  path: string,
  cursor: 'before' | 'after',
): Promise<{ rows: Json[]; pages: number }> {
  const rows: Json[] = [];
  let place = '';
  for (let pages = 1; ; pages++) {
    const page = await read(eva, `${path}${place}`);
    rows.push(...list(page, 'rows'));
    const next = at(page, cursor);
    if (next === null) {
      assert.is(at(page, 'lookedBackTo'), null);
      return { rows, pages };
    }
    // What has an index isn't looked for.
    if (/status=(dead|rejected)/.test(path)) assert.is(at(page, 'lookedBackTo'), null);
    else assert.ok(Date.parse(text(page, 'lookedBackTo')));
    place = `&${cursor}=${encodeURIComponent(String(next))}`;
  }
}

test('an account has its balances, its head and its settings, and no secret', async ({
  shop,
  eva,
  receiver,
}) => {
  const body = await read(eva, `/accounts/${shop.accountId}`);
  assert.is(text(body, 'name'), 'Loja Azul');
  assert.is(whole(body, 'balances.available'), await shop.balance());
  const legs = ['available', 'clearing', 'fees', 'bank'].map((leg) => whole(body, `balances.${leg}`));
  assert.is(
    legs.reduce((sum, amount) => sum + amount, 0),
    0,
  );
  assert.match(text(body, 'head.hash'), /^[0-9a-f]{64}$/);
  assert.ok(whole(body, 'head.seq') > CHARGES);
  assert.equal(list(body, 'allowedIps'), ['127.0.0.1']);
  assert.equal(
    list(body, 'urls').map((url) => text(url, 'url')),
    ['/good', '/bad', '/down'].map((path) => receiver.url(path)),
  );
  for (const since of [text(body, 'secret.since'), text(body, 'urls.0.secrets.0.since')])
    assert.is(since, text(body, 'createdAt'));
  const { text: bytes } = await eva.get(`/accounts/${shop.accountId}`);
  for (const secret of ['chave.da.loja', 'whsec_', 'sealed', 'secretHash', shop.clientSecret])
    assert.not.match(bytes, secret);
  assert.match(text(body, 'settings.pixKey'), /om$/);
});

test('a rotated secret is younger than its account, the one before is told until it ends', async ({
  server,
  eva,
}) => {
  const own = await merchant(server, ['--webhook-url', 'http://127.0.0.1:9/hook']);
  await cliJson(server, ['account', 'rotate-webhook-secret', own.accountId, 'http://127.0.0.1:9/hook']);
  const body = await read(eva, `/accounts/${own.accountId}`);
  const [now, before] = list(body, 'urls.0.secrets');
  assert.ok(text(now ?? null, 'since') > text(body, 'createdAt'));
  assert.is(at(now ?? null, 'until'), null);
  assert.is(text(before ?? null, 'since'), text(body, 'createdAt'));
  assert.ok(Date.parse(text(before ?? null, 'until')) > Date.now());
});

test('a statement goes back by pages, each row with the balance after it', async ({ shop, eva }) => {
  const path = `/accounts/${shop.accountId}/statement?limit=5`;
  const { rows, pages } = await all(eva, path, 'before');
  assert.is(rows.length, 1 + CHARGES / 2);
  assert.ok(pages >= 3, String(pages));
  assert.is(whole(rows[0] ?? null, 'balance'), await shop.balance());
  for (const [index, row] of rows.entries()) {
    const before = whole(row, 'balance') - whole(row, 'amount');
    assert.is(before, index + 1 < rows.length ? whole(rows[index + 1] ?? null, 'balance') : 0);
  }
  assert.is(text(rows[0] ?? null, 'message'), 'PAY');
  assert.is(text(rows[0] ?? null, 'externalRef'), `order ${CHARGES - 2}`);
  assert.is(at(rows.at(-1) ?? null, 'transaction'), null);
});

test('a statement begins at a time, with what each leg was then', async ({ shop, eva }) => {
  const path = `/accounts/${shop.accountId}/statement?limit=100`;
  const { rows } = await all(eva, path, 'before');
  for (const index of [0, 3, rows.length - 1]) {
    const row = rows[index] ?? null;
    const page = await read(eva, `${path}&before=${encodeURIComponent(text(row, 'at'))}`);
    const [first] = list(page, 'rows');
    assert.is(text(first ?? null, 'at'), text(row, 'at'));
    assert.is(whole(page, 'balances.available'), whole(first ?? null, 'balance'));
    const legs = ['available', 'clearing', 'fees', 'bank'].map((leg) => whole(page, `balances.${leg}`));
    assert.is(
      legs.reduce((sum, amount) => sum + amount, 0),
      0,
    );
  }
  const before = await read(eva, `${path}&before=2020-01-01T00:00:00Z`);
  assert.equal(list(before, 'rows'), []);
  assert.is(whole(before, 'balances.available'), 0);
  const later = await read(eva, `${path}&before=2099-01-01T00:00:00%2B01:00`);
  // A page may be short where time was up.
  const first = list(later, 'rows');
  assert.ok(first.length > 0);
  assert.equal(first, rows.slice(0, first.length));
});

test('a statement as CSV is what the merchant gets, in parts that fit together', async ({ shop, eva }) => {
  const day = `from=${encodeURIComponent(new Date(Date.now() - 3_600_000).toISOString())}&to=${encodeURIComponent(new Date().toISOString())}`;
  const address = `/accounts/${shop.accountId}/statement/csv`;
  const own = list((await shop.get(`/statement?${day}&limit=1000`)).body, 'data');
  assert.ok(own.length > CHARGES / 2);
  const whole = await read(eva, `${address}?${day}`);
  const [names = '', ...lines] = text(whole, 'csv').trimEnd().split('\r\n');
  const columns = names.split(',');
  assert.ok(['at', 'type', 'transactionId', 'amount', 'balance'].every((name) => columns.includes(name)));
  const line = (row: Json): string => columns.map((name) => String(at(row, name) ?? '')).join(',');
  assert.equal(lines, own.map(line));
  assert.is(at(whole, 'rows'), own.length);
  assert.is(at(whole, 'next'), null);
  const first = (await shop.get(`/statement?${day}&limit=5`)).body;
  const rest = await read(eva, `${address}?cursor=${text(first, 'nextCursor')}`);
  assert.is(at(rest, 'rows'), own.length - 5);
  assert.equal(text(rest, 'csv').trimEnd().split('\r\n'), own.slice(5).map(line));
  for (const wrong of ['from=yesterday', 'cursor=abc', 'from=2026-02-01&to=2026-01-01'])
    assert.is((await eva.get(`${address}?${wrong}`)).status, 400, wrong);
  assert.is((await eva.get('/accounts/acc_nobody/statement/csv')).status, 404);
});

test('what people did by hand is listed, whether it moved money or not', async ({ server, eva }) => {
  const own = await merchant(server, ['--balance', '5000']);
  const id = text(await charge(own), 'id');
  await cliJson(server, ['send', id, 'PAY']);
  await cliJson(server, ['send', id, 'PROTEST']);
  const path = `/accounts/${own.accountId}/statement?limit=100`;
  const { rows: byHand } = await all(eva, `${path}&door=ops`, 'before');
  assert.equal(
    byHand.map((row) => text(row, 'message')),
    ['PROTEST', 'PAY', 'ADJUST'],
  );
  assert.equal(
    byHand.map((row) => at(row, 'status')),
    ['in_protest', 'paid', null],
  );
  assert.ok(byHand.every((row) => text(at(row, 'by'), 'name') !== ''));
  // What is no message says what it was, how much of it, and about what.
  const rui = await visitor(server, ['--role', 'operator', '--by', 'Rui']);
  const why = { reason: 'asked by 123.456.789-09' };
  assert.is(
    (await rui.act('PATCH', `/accounts/${own.accountId}`, { ...why, id: 's', maxAmount: 5_000_000 })).status,
    200,
  );
  assert.is((await rui.act('POST', `/accounts/${own.accountId}/rotate`, { ...why, id: 'r' })).status, 200);
  const { rows: acts } = await all(eva, `${path}&door=ops`, 'before');
  const by = { name: 'Rui', role: 'operator', reason: 'asked by •••09' };
  assert.equal(
    acts.slice(0, 2).map((row) => [at(row, 'did'), at(row, 'by')]),
    [
      [{ action: 'rotate', count: null, about: null }, by],
      [{ action: 'settings', count: null, about: 'maxAmount' }, by],
    ],
  );
  assert.equal(
    (await all(eva, `${path}&door=api`, 'before')).rows.map((row) => text(row, 'message')),
    ['CREATE'],
  );
});

test('a curve has the balance at each of its times', async ({ shop, eva }) => {
  const { rows } = await all(eva, `/accounts/${shop.accountId}/statement?limit=100`, 'before');
  rows.reverse();
  const balanceAt = (time: number): number => {
    const known = rows.filter((row) => Date.parse(text(row, 'at')) <= time);
    return known.length === 0 ? 0 : whole(known.at(-1) ?? null, 'balance');
  };
  const [first, last] = [text(rows[0] ?? null, 'at'), text(rows.at(-1) ?? null, 'at')];
  const from = new Date(Date.parse(first) - 500).toISOString();
  for (const [points, to] of [
    [1, last],
    [2, last],
    [37, last],
    [100, '2099-01-01T00:00:00Z'],
  ] as const) {
    const body = await read(eva, `/accounts/${shop.accountId}/curve?from=${from}&to=${to}&points=${points}`);
    const curve = at(body, 'points') as [string, number][];
    // Where time is up there are fewer, and it is told.
    assert.is(at(body, 'complete'), curve.length === points);
    assert.ok(curve.length >= Math.min(points, 10), String(curve.length));
    assert.equal(
      curve.map(([, balance]) => balance),
      curve.map(([time]) => balanceAt(Date.parse(time))),
    );
    assert.ok(Date.parse(curve.at(-1)?.[0] ?? '') <= Date.parse(to));
  }
});

test('what is asked wrongly is refused, and hostile texts find nothing', async ({ shop, eva }) => {
  const account = `/accounts/${shop.accountId}`;
  for (const path of [
    ...[
      'before=x',
      'before=1~',
      'before=-1~2',
      'door=window',
      'limit=101',
      'before=2026-13-01T00:00:00Z',
      'before=2026-02-30T00:00:00Z',
    ].map((query) => `${account}/statement?${query}`),
    `${account}/statement?before=${encodeURIComponent('row~1')}`,
    ...['points=0', 'points=101', 'from=yesterday', 'from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z'].map(
      (query) => `${account}/curve?${query}`,
    ),
    ...['status=lost', 'after=x', 'limit=0', 'url=a&url=b'].map((query) => `/deliveries?${query}`),
  ]) {
    const { status, body } = await eva.get(path);
    assert.is(status, 400, path);
    assert.is(text(body, 'error'), 'INVALID_REQUEST');
  }
  for (const id of ['acc_none', '__proto__', '%00', 'x'.repeat(3_000), encodeURIComponent('<img>')])
    for (const path of [`/accounts/${id}`, `/accounts/${id}/statement`, `/accounts/${id}/curve`]) {
      const { status, body } = await eva.get(path);
      assert.is(status, 404, path);
      assert.is(text(body, 'error'), 'ACCOUNT_NOT_FOUND');
    }
  for (const hostile of ['\u{1f9fe}'.repeat(500), '__proto__', '../x']) {
    const q = encodeURIComponent(hostile);
    for (const path of [
      `/deliveries?account=${q}`,
      `/deliveries?url=${q}&limit=1`,
      `/transactions?account=${q}`,
      `/transactions?account=${q}&to=2099-01-01T00:00:00Z`,
      `/transactions?account=${q}&after=5~1`,
    ])
      assert.equal(list(await read(eva, path), 'rows'), [], path);
    assert.equal(list(await read(eva, `/urls?account=${q}`), 'urls'), []);
  }
});

test('deliveries are listed by status, account and URL, the newest first, each once', async ({
  server,
  shop,
  eva,
  receiver,
}) => {
  const path = `/deliveries?account=${shop.accountId}&limit=7`;
  const count = CHARGES + CHARGES / 2;
  await until(
    async () => {
      const open = ['pending', 'retrying'].map((status) => all(eva, `${path}&status=${status}`, 'after'));
      return (await Promise.all(open)).every(({ rows }) => rows.length === 0);
    },
    20_000,
    'all are at an end',
  );
  const { rows, pages } = await all(eva, path, 'after');
  assert.is(rows.length, 3 * count);
  assert.is(new Set(rows.map((row) => text(row, 'id'))).size, 3 * count);
  assert.ok(pages > 5);
  const times = rows.map((row) => text(row, 'createdAt'));
  assert.equal(times, [...times].sort().reverse());
  for (const [status, name, attempts] of [
    ['delivered', '/good', 1],
    ['rejected', '/bad', 1],
    ['dead', '/down', 5],
  ] as const) {
    const { rows: own } = await all(eva, `${path}&status=${status}`, 'after');
    assert.is(own.length, count, status);
    for (const row of own) {
      assert.is(text(row, 'url'), receiver.url(name));
      assert.is(text(row, 'accountName'), 'Loja Azul');
      assert.is(list(row, 'attempts').length, attempts);
    }
    const toUrl = `${path}&url=${encodeURIComponent(receiver.url(name))}`;
    const byId = (a: Json, b: Json): number => (text(a, 'id') < text(b, 'id') ? -1 : 1);
    for (const by of [toUrl, `${toUrl}&status=${status}`])
      assert.equal((await all(eva, by, 'after')).rows.sort(byId), own.toSorted(byId));
  }
  const other = await merchant(server);
  assert.equal((await all(eva, `/deliveries?account=${other.accountId}`, 'after')).rows, []);
  const everywhere = await all(eva, `/deliveries?url=${encodeURIComponent(receiver.url('/good'))}`, 'after');
  assert.is(everywhere.rows.length, count);
  // What was sent is read where the delivery was found.
  const [row = null] = rows;
  const sent = await read(eva, `/transactions/${text(row, 'transaction')}/payload/${text(row, 'eventId')}`);
  assert.is(text(sent, 'payload.id'), text(row, 'eventId'));
});

test('each URL tells how its last attempts went, the worst first', async ({ shop, eva, receiver }) => {
  const body = await read(eva, '/urls');
  assert.is(at(body, 'shared'), process.env.MONGODB_TEST_URI !== undefined);
  assert.ok(Date.parse(text(body, 'since')));
  const own = list(body, 'urls').filter((url) => text(url, 'account') === shop.accountId);
  assert.equal(
    own.map((url) => text(url, 'url')),
    ['/down', '/bad', '/good'].map((path) => receiver.url(path)),
  );
  const [down = null, bad = null, good = null] = own;
  assert.is(whole(down, 'failing'), 5 * (CHARGES + CHARGES / 2));
  assert.is(whole(bad, 'failing'), CHARGES + CHARGES / 2);
  assert.is(whole(good, 'failing'), 0);
  for (const url of own) assert.is(whole(url, 'retrying'), 0);
  assert.equal(
    list(good, 'recent'),
    Array.from({ length: 36 }, () => true),
  );
  assert.equal(list((await read(eva, `/urls?account=${shop.accountId}`)) ?? null, 'urls'), own);
  assert.equal(list(await read(eva, '/urls?account=acc_none'), 'urls'), []);
  const [, , onPage] = list(await read(eva, `/accounts/${shop.accountId}`), 'urls');
  assert.is(whole(onPage ?? null, 'health.failing'), whole(down, 'failing'));
});

test.run();
