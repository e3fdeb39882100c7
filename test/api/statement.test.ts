/** GET /statement over HTTP (additions): rows, balances, pages under writes, CSV, errors. */
import * as assert from 'uvu/assert';
import { cursorText } from '../../src/api/statement/cursor.ts';
import { cliJson } from '../support/cli.ts';
import { type Client, merchant } from '../support/client.ts';
import { expectError, expectInvalidFields, expectStatus, timestamp } from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, reaches, told, transfer } from '../support/flows.ts';
import { at, type Json, keys, list, text, whole } from '../support/json.ts';
import { startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';

const { test, run } = fixtureSuite('statement', async (defer) => {
  const server = await startServer({ env: { SANDBOX_DELAY_MS: '20' } });
  defer(() => server.stop());
  const [client, busy, other] = await Promise.all([
    merchant(server, ['--balance', '1000000']),
    merchant(server, ['--balance', '1000000']),
    merchant(server),
  ]);
  return { server, client, busy, other };
});

const CSV = { accept: 'text/csv' };
const HEADER = 'at,type,transactionId,refundId,what,externalRef,amount,balance';

/** Once all that was answered lies before "now": the window's end is exclusive. */
async function statement(client: Client, query = ''): Promise<Json> {
  await sleep(2);
  return expectStatus(await client.get(`/statement${query}`), 200);
}

function cells(page: Json, ...names: string[]): Json[][] {
  return list(page, 'data').map((row) => names.map((name) => at(row, name)));
}

/** Asserts that a page's rows lead from its opening balance to its closing one. */
function expectToAddUp(page: Json): void {
  let balance = whole(page, 'openingBalance');
  for (const row of list(page, 'data')) {
    balance += whole(row, 'amount');
    assert.is(whole(row, 'balance'), balance);
  }
  assert.is(balance, whole(page, 'closingBalance'));
}

/** All pages, each with the one before as its beginning. */
async function pagesOf(client: Client, query: string, between = async (): Promise<unknown> => null) {
  const pages = [await statement(client, `?${query}`)];
  for (;;) {
    const next = at(pages.at(-1) ?? null, 'nextCursor');
    if (next === null) return pages;
    await between();
    pages.push(await statement(client, `?limit=${/\d+/.exec(query)?.[0]}&cursor=${next}`));
  }
}

test('every kind of entry has its row, and the rows add up to the balance', async ({ server, client }) => {
  const paid = text(await charge(client, 10_000, { externalRef: 'order, "7"' }), 'id');
  await told(client, paid, 'PAY');
  const refund = text(
    expectStatus(await client.post(`/pix-in/${paid}/refunds`, { amount: 2_000 }), 201),
    'id',
  );
  await until(
    async () => text(expectStatus(await client.get(`/refunds?id=${refund}`), 200), 'status') === 'completed',
    10_000,
    'the refund is completed',
  );
  const failing = text(
    expectStatus(await client.post(`/pix-in/${paid}/refunds`, { amount: 1_003 }), 201),
    'id',
  );
  await until(
    async () => text(expectStatus(await client.get(`/refunds?id=${failing}`), 200), 'status') === 'failed',
    10_000,
    'the refund failed',
  );
  await told(client, paid, 'CHARGEBACK', { amount: 3_000 });
  const out = text(await transfer(client, 1_009), 'id');
  await reaches(client, 'cashout', out, 'completed');
  await told(client, out, 'RETURN', { amount: 9 });
  await cliJson(server, ['account', 'adjust', client.accountId, '250', '--reason', 'a test']);
  const page = await statement(client);
  assert.equal(keys(page), ['closingBalance', 'data', 'from', 'nextCursor', 'openingBalance', 'to']);
  assert.match(text(page, 'from'), timestamp);
  assert.is(Date.parse(text(page, 'to')) - Date.parse(text(page, 'from')), 86_400_000);
  assert.equal(cells(page, 'type', 'what', 'transactionId', 'refundId', 'externalRef', 'amount'), [
    ['adjustment', 'ADJUST', null, null, null, 1_000_000],
    ['pix-in', 'pix-in.paid', paid, null, 'order, "7"', 9_900],
    ['refund', 'refund.pending', paid, refund, 'order, "7"', -1_980],
    ['refund', 'refund.pending', paid, failing, 'order, "7"', -993],
    ['refund', 'refund.failed', paid, failing, 'order, "7"', 993],
    ['pix-in', 'chargeback.booked', paid, null, 'order, "7"', -2_970],
    ['cashout', 'cashout.pending', out, null, null, -1_059],
    ['cashout', 'return.booked', out, null, null, 9],
    ['adjustment', 'ADJUST', null, null, null, 250],
  ]);
  for (const row of list(page, 'data')) {
    assert.equal(Object.keys(row as object).join(), HEADER);
    assert.match(text(row, 'at'), timestamp);
  }
  expectToAddUp(page);
  assert.is(whole(page, 'openingBalance'), 0);
  assert.is(whole(page, 'closingBalance'), await client.balance());
});

test('a later page never repeats or skips a row, whatever is written meanwhile', async ({ busy }) => {
  await Promise.all(Array.from({ length: 60 }, (_, n) => transfer(busy, 100_07 + n * 100)));
  const all = await statement(busy, '?limit=1000');
  const before = cells(all, 'transactionId', 'amount', 'balance');
  assert.is(before.length, 61);
  assert.is(whole(all, 'closingBalance'), await busy.balance());
  const pages = await pagesOf(busy, 'limit=7', () => transfer(busy, 207));
  assert.is(pages.length, 9);
  assert.equal(
    pages.flatMap((page) => cells(page, 'transactionId', 'amount', 'balance')),
    before,
  );
  pages.forEach((page, index) => {
    expectToAddUp(page);
    assert.is(text(page, 'to'), text(pages[0] ?? null, 'to'));
    const last = pages[index - 1];
    if (last !== undefined) assert.is(whole(page, 'openingBalance'), whole(last, 'closingBalance'));
  });
});

test('a window takes its first moment in and leaves its last one out', async ({ client }) => {
  const all = list(await statement(client), 'data');
  const [first, second] = [all[1] ?? null, all[2] ?? null];
  const inner = await statement(client, `?from=${text(first, 'at')}&to=${text(second, 'at')}`);
  assert.equal(list(inner, 'data'), [first]);
  assert.is(whole(inner, 'openingBalance'), 1_000_000);
  const early = await statement(client, '?from=2020-01-01&to=2020-02-01');
  assert.equal(early, {
    ...{ from: '2020-01-01T00:00:00.000Z', to: '2020-02-01T00:00:00.000Z' },
    ...{ openingBalance: 0, closingBalance: 0, data: [], nextCursor: null },
  });
  const ahead = await statement(client, '?from=2020-01-01&to=2099-01-01T00:00:00Z');
  assert.equal(list(ahead, 'data'), all);
  const later = await statement(client, '?from=2098-01-01&to=2099-01-01');
  assert.equal([at(later, 'openingBalance'), at(later, 'data')], [await client.balance(), []]);
});

test('the same as CSV, page by page', async ({ client }) => {
  const json = await statement(client, '?limit=1000');
  const lines: string[] = [];
  let path: string | null = '/statement?limit=4';
  let balance = 0;
  while (path !== null) {
    const reply = await client.get(path, CSV);
    assert.is(reply.status, 200);
    assert.is(reply.headers['content-type'], 'text/csv; charset=utf-8');
    assert.is(reply.headers.vary, 'Accept');
    assert.is(Number(reply.headers['opening-balance']), balance);
    balance = Number(reply.headers['closing-balance']);
    const [header, ...rows] = reply.text.split('\r\n');
    assert.is(header, HEADER);
    assert.is(rows.pop(), '');
    lines.push(...rows);
    const [, next] = /^<\/v1(\/statement\?[^>]+)>; rel="next"$/.exec(reply.headers.link ?? '') ?? [];
    assert.is(next === undefined, reply.headers.link === undefined);
    path = next ?? null;
  }
  assert.is(balance, whole(json, 'closingBalance'));
  const expected = list(json, 'data').map((row) =>
    Object.values(row as Record<string, Json>)
      .map((value) => (value === 'order, "7"' ? '"order, ""7"""' : String(value ?? '')))
      .join(','),
  );
  assert.equal(lines, expected);
});

test('Accept decides by its best match', async ({ client }) => {
  const types: [string, RegExp][] = [
    ['*/*', /^application\/json/],
    ['text/html', /^application\/json/],
    ['text/*', /^text\/csv/],
    ['text/csv;q=0.5, application/json', /^application\/json/],
    ['application/json;q=0.5, text/csv', /^text\/csv/],
    ['text/csv;q=0', /^application\/json/],
    ['text/csv; charset=utf-8', /^text\/csv/],
    ['text/csv;charset=UTF-8;q=0.9, */*;q=0.1', /^text\/csv/],
    ['text/csv; header=present', /^text\/csv/],
    ['text/csv; charset=iso-8859-1', /^application\/json/],
    ['application/json; charset=utf-8, text/csv;q=0.5', /^application\/json/],
  ];
  for (const [accept, type] of types) {
    const reply = await client.get('/statement', { accept });
    assert.is(reply.status, 200, accept);
    assert.match(reply.headers['content-type'] ?? '', type, accept);
  }
  expectInvalidFields(await client.get('/statement?limit=0', CSV), ['limit']);
});

test('what is asked for wrongly is an error that names it', async ({ client, other }) => {
  const cursor = text(await statement(client, '?limit=1'), 'nextCursor');
  const wrong: [string, string[]][] = [
    ['limit=0', ['limit']],
    ['limit=1001', ['limit']],
    ['from=yesterday&to=2026-02-30&limit=x', ['from', 'limit', 'to']],
    ['from=2026-02-02&to=2026-02-01', ['from']],
    ['from=2099-01-01', ['from']],
    ['cursor=strange', ['cursor']],
    [`cursor=${cursor}x`, ['cursor']],
    [`cursor=${cursor}&from=2026-02-02`, ['cursor']],
    [`cursor=${cursor}&to=2026-02-02`, ['cursor']],
  ];
  for (const [query, fields] of wrong) expectInvalidFields(await client.get(`/statement?${query}`), fields);
  expectInvalidFields(await other.get(`/statement?cursor=${cursor}`), ['cursor']);
  const { accountId } = client;
  const [ended, place] = [Date.now(), { seq: 1, index: 0 }];
  for (const made of [
    cursorText(accountId, { from: 0, to: ended, place: { seq: 0, index: 0 } }),
    cursorText(accountId, { from: 8_640_000_000_000_001, to: 8_640_000_000_000_002, place }),
    cursorText(accountId, { from: -8_999_999_999_999_999, to: ended, place }),
    cursorText(accountId, { from: ended, to: 0, place }),
  ])
    expectInvalidFields(await client.get(`/statement?cursor=${made}`), ['cursor']);
  for (const query of ['limit=', 'from=2026-01-01&from=2026-01-01', 'cursor='])
    expectError(await client.get(`/statement?${query}`), 400, 'INVALID_REQUEST');
  expectError(await client.post('/statement', {}), 405, 'METHOD_NOT_ALLOWED');
  expectError(await client.get('/statement', { authorization: '' }), 401, 'INVALID_CREDENTIALS');
});

run();
