/** The merchants' API in the console: its document as it is, and tries of it with an account's own credentials. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import type { ApiDocument } from '../../src/console/api-shapes.ts';
import {
  codesOf,
  curlOf,
  exampleOf,
  fieldsOf,
  jsonOf,
  type Operation,
  operationsOf,
} from '../../src/console/ui/screens/reference/document.ts';
import { clientOf, type Merchant, merchant, type Reply } from '../support/client.ts';
import { type Json, parseJson, text, whole } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { call, pageHeaders, startConsole, type Visitor, visitor } from './visitor.ts';

const test = suite<{ server: Server; shop: Merchant; operator: Visitor }>('reference');

const SANDBOX = openApiDocument(true, true) as ApiDocument;

test.before(async (context) => {
  context.server = await startConsole({ env: { LOG_LEVEL: 'info' } });
  context.shop = await merchant(context.server, ['--balance', '50000']);
  context.operator = await visitor(context.server, ['--role', 'operator', '--by', 'Eva']);
});
test.after(async ({ server }) => {
  await server.stop();
});

type Wish = Record<string, Json>;

function wishOf({ clientId, clientSecret }: Merchant, wish: Wish): Wish {
  return { method: 'get', path: '/balance', clientId, clientSecret, ...wish };
}

function tried(server: Server, { headers }: Visitor, wish: Json): Promise<Reply> {
  return call(server, 'POST', '/try', { ...headers, ...pageHeaders(server) }, wish);
}

test('the document is the API’s own, and a viewer reads it', async ({ server }) => {
  const { get } = await visitor(server);
  const { status, body } = await get('/reference');
  assert.is(status, 200);
  const { document, base, canTry } = body as { document: Json; base: string; canTry: boolean };
  const own = await fetch(`${server.root}/openapi.json`);
  assert.equal(document, await own.json());
  assert.equal([base, canTry], [server.url, true]);
});

test('a try is a request of the account’s, and is answered as one', async ({ server, shop, operator }) => {
  const sent = JSON.stringify({ amount: 1_234, externalRef: 'tried-1' });
  const made = await tried(server, operator, wishOf(shop, { method: 'post', path: '/pix-in', body: sent }));
  assert.is(made.status, 200);
  assert.is(whole(made.body, 'status'), 201);
  const charge = parseJson(text(made.body, 'body')) ?? null;
  assert.is(text(charge, 'status'), 'waiting_payment');
  const query = { externalRef: 'tried-1' };
  const found = await tried(server, operator, wishOf(shop, { path: '/pix-in', query }));
  assert.is(text(parseJson(text(found.body, 'body')) ?? null, 'id'), text(charge, 'id'));
  const params = { id: text(charge, 'id') };
  const canceled = await tried(
    server,
    operator,
    wishOf(shop, { method: 'post', path: '/pix-in/{id}/cancel', params }),
  );
  assert.is(whole(canceled.body, 'status'), 200);
  assert.is(text((await shop.get('/pix-in?externalRef=tried-1')).body, 'status'), 'canceled');
  const wrong = await tried(server, operator, wishOf(shop, { clientSecret: 'sk_wrong' }));
  assert.equal([wrong.status, whole(wrong.body, 'status')], [200, 401]);
  const broken = await tried(server, operator, wishOf(shop, { method: 'post', path: '/pix-in', body: '{' }));
  assert.equal([broken.status, whole(broken.body, 'status')], [200, 400]);
});

test('the log says who tried what, and no secret', async ({ server, shop, operator }) => {
  await tried(server, operator, wishOf(shop, {}));
  const line = server.stderr().match(/^.*somebody tries the API.*$/m)?.[0] ?? '';
  for (const part of ['"by":"Eva"', `"clientId":"${shop.clientId}"`, '"path":'])
    assert.ok(line.includes(part), line);
  assert.not.match(server.stderr(), shop.clientSecret);
  assert.not.match(server.stdout(), shop.clientSecret);
});

test('only operators try, from the console’s own page, signed in', async ({ server, shop, operator }) => {
  const viewer = await visitor(server);
  const refused = await tried(server, viewer, wishOf(shop, { method: 'post', path: '/pix-in', body: '{}' }));
  assert.is(refused.status, 403);
  assert.is(text(refused.body, 'error'), 'OPERATORS_ONLY');
  const { headers } = operator;
  const elsewhere = { ...headers, origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' };
  assert.is((await call(server, 'POST', '/try', elsewhere, wishOf(shop, {}))).status, 403);
  assert.is((await call(server, 'POST', '/try', headers, wishOf(shop, {}))).status, 403);
  assert.is((await call(server, 'POST', '/try', pageHeaders(server), wishOf(shop, {}))).status, 401);
  assert.is((await call(server, 'GET', '/reference')).status, 401);
  assert.is((await call(server, 'GET', '/try', headers)).status, 405);
});

test('a try goes to an endpoint of the document, and nowhere else', async ({ server, shop, operator }) => {
  const nowhere: Wish[] = [
    { path: '/none' },
    { path: '/pix-in/../balance' },
    { path: '//evil.example/' },
    { path: '@evil.example/' },
    { path: 'constructor' },
    { path: '/cashout/{id}' },
    { method: 'post', path: '/balance' },
    { method: 'post', path: '/bank/callbacks', body: '[]' },
    { path: '../readyz' },
  ];
  for (const wish of nowhere) {
    const { status, body } = await tried(server, operator, wishOf(shop, wish));
    assert.is(status, 404, JSON.stringify(wish));
    assert.is(text(body, 'error'), 'NOT_FOUND');
  }
  const refunds = { path: '/pix-in/{id}/refunds' };
  const malformed: Wish[] = [
    { method: 'delete' },
    { method: 'GET' },
    { path: 7 },
    { clientId: null },
    { clientSecret: 'x'.repeat(1_025) },
    { body: {} },
    { query: [] },
    { query: { id: 7 } },
    { ...refunds },
    { ...refunds, params: { id: '' } },
    { ...refunds, params: { id: '..' } },
    { ...refunds, params: { id: '.' } },
    { ...refunds, params: { id: '\ud83d' } },
  ];
  for (const wish of malformed) {
    const { status, body } = await tried(server, operator, wishOf(shop, wish));
    assert.is(status, 400, JSON.stringify(wish));
    assert.is(text(body, 'error'), 'INVALID_REQUEST');
  }
  // What looks like a way out is one segment of the path.
  for (const id of ['../../balance', '..%2f..%2fbalance', 'x?y#z', '%2e%2e']) {
    const reply = await tried(server, operator, wishOf(shop, { ...refunds, params: { id } }));
    assert.is(whole(reply.body, 'status'), 404, id);
  }
});

test('with a real bank nothing is tried, nor where the API is away', async ({ server, shop, operator }) => {
  const { Reference } = await import('../../src/console/server/reference.ts');
  const real = new Reference({ api: server.root, sandbox: false });
  assert.is((await real.read()).canTry, false);
  try {
    await real.try(wishOf(shop, { method: 'post', path: '/pix-in', body: '{"amount":1000}' }));
    assert.unreachable();
  } catch (error) {
    assert.is((error as { code?: string }).code, 'SANDBOX_ONLY');
  }
  const away = new Reference({ api: 'http://127.0.0.1:1', sandbox: true });
  for (const attempt of [away.read(), away.try(wishOf(shop, {}))]) {
    const failure = await attempt.catch((error: unknown) => error);
    assert.is((failure as { code?: string }).code, 'SERVICE_UNAVAILABLE');
  }
  assert.is((await operator.get('/reference')).status, 200);
});

function found(slug: string): Operation {
  const operation = operationsOf(SANDBOX).find((each) => each.slug === slug);
  if (operation === undefined) throw new Error(`no ${slug}`);
  return operation;
}

function bodyOf(slug: string) {
  const schema = jsonOf(found(slug).endpoint.requestBody?.content);
  if (schema === null) throw new Error(`${slug} has no body`);
  return schema;
}

test('each endpoint and webhook has a name of its own, and says whether it is open to credentials', () => {
  const operations = operationsOf(SANDBOX);
  const count = [SANDBOX.paths, SANDBOX.webhooks ?? {}].flatMap(Object.values).flatMap(Object.keys).length;
  assert.is(operations.length, count);
  assert.ok(count > 12);
  assert.is(new Set(operations.map(({ slug }) => slug)).size, count);
  for (const { slug } of operations) assert.match(slug, /^[a-z][a-z-]+$/i);
  assert.equal(
    operations.filter(({ isOpen }) => !isOpen).map(({ slug }) => slug),
    ['post-bank-callbacks', 'webhook-event'],
  );
});

test('fields stand by their paths, with types and limits, whatever they are within', () => {
  const fields = fieldsOf(SANDBOX, bodyOf('post-pix-in'));
  const byPath = new Map(
    fields.flatMap((field) => ('variant' in field ? [] : [[field.path, field] as const])),
  );
  const amount = byPath.get('amount');
  assert.equal([amount?.isRequired, amount?.types, amount?.schema.minimum], [true, ['integer'], 100]);
  assert.equal(byPath.get('externalRef')?.types, ['string', 'null']);
  assert.equal(byPath.get('customer.document.type')?.schema.enum, ['CPF', 'CNPJ']);
  const answer = jsonOf(found('get-statement').endpoint.responses['200']?.content) ?? {};
  const rows = fieldsOf(SANDBOX, answer).flatMap((field) => ('variant' in field ? [] : [field.path]));
  assert.ok(rows.includes('data') && rows.includes('data[].amount'), rows.join());
  const customer = fieldsOf(SANDBOX, jsonOf(found('post-pix-in').endpoint.responses['201']?.content) ?? {});
  assert.ok(customer.some((field) => 'path' in field && field.path === 'customer.name'));
  const events = fieldsOf(SANDBOX, bodyOf('webhook-event'));
  const variants = events.flatMap((field) => ('variant' in field ? [field.variant] : []));
  assert.equal(variants, ['PixInEvent', 'CashoutEvent', 'RefundEvent', 'ChargebackEvent', 'ReturnEvent']);
  for (const { endpoint } of operationsOf(SANDBOX))
    for (const { content } of Object.values(endpoint.responses)) {
      const schema = jsonOf(content);
      if (schema !== null) assert.ok(fieldsOf(SANDBOX, schema).length > 0, endpoint.summary);
    }
});

test('an example that the page shows is taken by the API as it stands', async ({ server }) => {
  const shop = await merchant(server, ['--balance', '50000']);
  const post = (slug: string, id = '') =>
    shop.post(found(slug).path.replace('{id}', id), exampleOf(SANDBOX, bodyOf(slug)) as Json);
  const charge = await post('post-pix-in');
  assert.is(charge.status, 201, charge.text);
  const id = text(charge.body, 'id');
  const paid = await post('post-sandbox-pix-in-id-pay', id);
  assert.is(paid.status, 200, paid.text);
  const refund = await post('post-pix-in-id-refunds', id);
  assert.is(refund.status, 201, refund.text);
  const transfer = await post('post-cashout');
  assert.is(transfer.status, 201, transfer.text);
  const other = text((await post('post-pix-in')).body, 'id');
  const told = await post('post-sandbox-transactions-id-messages', other);
  assert.is(told.status, 200, told.text);
  const third = text((await post('post-pix-in')).body, 'id');
  assert.is((await post('post-pix-in-id-cancel', third)).status, 200);
});

test('curl says the same, quoted for a shell', () => {
  const curl = (slug: string, sending: Partial<Parameters<typeof curlOf>[2]>) =>
    curlOf('http://127.0.0.1:3000/v1', found(slug), { params: {}, query: {}, body: null, ...sending });
  assert.is(
    curl('post-pix-in', { body: '{"description":"it\'s"}' }),
    `curl -s -u "$PIXSTATE" 'http://127.0.0.1:3000/v1/pix-in' \\
  -H 'Content-Type: application/json' \\
  -d '{"description":"it'\\''s"}'`,
  );
  assert.is(
    curl('get-pix-in', { query: { id: '', externalRef: "a b&c'" } }),
    `curl -s -u "$PIXSTATE" 'http://127.0.0.1:3000/v1/pix-in?externalRef=a+b%26c%27'`,
  );
  assert.match(curl('post-pix-in-id-cancel', {}), / \\\n {2}-X POST$/);
  assert.match(curl('get-pix-in-id-refunds', {}), "/pix-in/{id}/refunds'");
  assert.match(curl('get-pix-in-id-refunds', { params: { id: "x'/" } }), "/pix-in/x'\\''%2F/refunds'");
  assert.not.match(curl('post-bank-callbacks', { body: '[]' }), 'PIXSTATE');
});

test('codes are read out of an error’s description', () => {
  assert.equal(codesOf('INVALID_REQUEST, VALIDATION_ERROR or INSUFFICIENT_BALANCE'), [
    ...['INVALID_REQUEST', 'VALIDATION_ERROR', 'INSUFFICIENT_BALANCE'],
  ]);
  for (const { endpoint } of operationsOf(SANDBOX))
    for (const [status, { description }] of Object.entries(endpoint.responses))
      assert.is(codesOf(description).length > 0, Number(status) >= 400, description);
});

test('an API that listens on all addresses is reached at one of its own', async () => {
  const server = await startConsole({ env: { HOST: '::' } });
  try {
    const operator = await visitor(server, ['--role', 'operator']);
    const shop = await merchant(server);
    const { body } = await operator.get('/reference');
    assert.is(text(body, 'base'), server.url);
    const reply = await tried(server, operator, wishOf(shop, {}));
    assert.is(whole(reply.body, 'status'), 200, reply.text);
  } finally {
    await server.stop();
  }
});

test('what it is asked without credentials is the API’s own 401', async ({ server, operator, shop }) => {
  assert.is((await clientOf(server).get('/balance')).status, 401);
  const nobody = await tried(server, operator, wishOf(shop, { clientId: '', clientSecret: '' }));
  assert.is(whole(nobody.body, 'status'), 401);
});

test.run();
