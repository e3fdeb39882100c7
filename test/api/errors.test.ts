import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import {
  type Bytes,
  clientOf,
  fetchReply,
  type Headers,
  type Merchant,
  type Method,
  merchant,
  type Reply,
  raw,
} from '../support/client.ts';
import {
  expectError,
  expectInvalid,
  expectInvalidFields,
  expectNoLeak,
  expectStatus,
} from '../support/expect.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, shown, validCpf } from '../support/flows.ts';
import { at, isObject, keys, list, object, text, whole } from '../support/json.ts';
import { startServer } from '../support/server.ts';

const json: Headers = { 'content-type': 'application/json' };
const maxBodyBytes = 64 * 1_024;

const { test, run } = fixtureSuite('errors', async (defer) => {
  const server = await startServer();
  defer(() => server.stop());
  const client = await merchant(server, ['--balance', '100000']);
  const existing = await charge(client, 10_000, { externalRef: 'stays as it is' });
  return { server, client, existing };
});

const endpoints = ['/pix-in', '/cashout'];

function validBody(path: string, more = ''): string {
  const pix = path === '/cashout' ? `,"pix":{"pixKeyType":"CPF","pixKey":"${validCpf}"}` : '';
  return `{"amount":1007${pix}${more}}`;
}

async function* chunks(bytes: string, size = 8_192): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield Buffer.from(bytes.slice(start, start + size));
}

/** Sends to both POST endpoints, and checks that nothing came of it. */
async function eachRefused(
  client: Merchant,
  bytes: (path: string) => Bytes | null,
  headers: Headers,
  check: (reply: Reply) => void,
): Promise<void> {
  const before = await client.balance();
  for (const path of endpoints) check(await client.send('POST', path, bytes(path), headers));
  assert.is(await client.balance(), before);
}

const unreadable: [string, string | Uint8Array | null][] = [
  ['no body', null],
  ['an empty body', ''],
  ['blanks', '  \n '],
  ['truncated JSON', '{"amount":'],
  ['a truncated string', '{"amount":1000,"externalRef":"abc'],
  ['a trailing comma', '{"amount":1000,}'],
  ['two documents', '{"amount":1000}{"amount":1000}'],
  ['single quotes', "{'amount':1000}"],
  ['a comment', '{"amount":1000/* one */}'],
  ['an array', '[{"amount":1000}]'],
  ['an empty array', '[]'],
  ['a string', '"amount"'],
  ['a number', '1000'],
  ['true', 'true'],
  ['null', 'null'],
  ['deeply nested arrays', '['.repeat(20_000) + ']'.repeat(20_000)],
  ['unclosed nesting', '{"a":'.repeat(10_000)],
  ['a form', 'amount=1000'],
  [
    'invalid UTF-8',
    Buffer.concat([
      Buffer.from('{"amount":1000,"externalRef":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]),
  ],
  [
    'overlong UTF-8',
    Buffer.concat([
      Buffer.from('{"amount":1000,"externalRef":"'),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from('"}'),
    ]),
  ],
  [
    'truncated UTF-8',
    Buffer.concat([
      Buffer.from('{"amount":1000,"externalRef":"a'),
      Buffer.from([0xe2, 0x82]),
      Buffer.from('"}'),
    ]),
  ],
  ['a raw control character', '{"amount":1000,"externalRef":"a\u0000b"}'],
];

for (const [name, bytes] of unreadable) {
  test(`${name} is INVALID_REQUEST`, async ({ client }) => {
    await eachRefused(
      client,
      () => bytes,
      json,
      (reply) => {
        expectError(reply, 400, 'INVALID_REQUEST');
      },
    );
  });
}

test('NaN and Infinity are no JSON, and 1e400 is no whole number', async ({ client }) => {
  for (const amount of ['NaN', 'Infinity', '-Infinity', '0x10', '+1000', '01000', '.5', '1_000']) {
    await eachRefused(
      client,
      (path) => validBody(path).replace('1007', amount),
      json,
      (reply) => {
        assert.is(reply.status, 400);
        assert.ok(['INVALID_REQUEST', 'VALIDATION_ERROR'].includes(text(reply.body, 'error')), reply.text);
      },
    );
  }
  for (const amount of ['1e400', '-1e400', '1e308', '1e-400', '9007199254740993', '999999999999.5', '-0.1']) {
    await eachRefused(
      client,
      (path) => validBody(path).replace('1007', amount),
      json,
      (reply) => {
        expectInvalidFields(reply, ['amount']);
      },
    );
  }
});

test('a deeply nested value is refused', async ({ client }) => {
  const nested = `,"metadata":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
  await eachRefused(
    client,
    (path) => validBody(path, nested),
    json,
    (reply) => {
      assert.is(reply.status, 400, reply.text.slice(0, 500));
      assert.ok(['INVALID_REQUEST', 'VALIDATION_ERROR'].includes(text(reply.body, 'error')));
    },
  );
});

test('names of the language are unknown fields like any other', async ({ client }) => {
  for (const name of ['constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    await eachRefused(
      client,
      (path) => validBody(path, `,"${name}":{"x":1}`),
      json,
      (reply) => {
        expectInvalidFields(reply, [name]);
      },
    );
  }
  await eachRefused(
    client,
    (path) => validBody(path, ',"__proto__":{"status":"paid"}'),
    json,
    (reply) => {
      assert.is(reply.status, 400, reply.text);
      assert.ok(['INVALID_REQUEST', 'VALIDATION_ERROR'].includes(text(reply.body, 'error')));
    },
  );
});

test('a __proto__ inside of metadata is refused or kept, and pollutes nothing', async ({ client }) => {
  const body = '{"amount":10000,"metadata":{"__proto__":"x","polluted":"y"}}';
  const reply = await client.send('POST', '/pix-in', body, json);
  assert.ok(reply.status === 400 || reply.status === 201, reply.text);
  if (reply.status === 201) assert.is(Object.hasOwn(object(reply.body, 'metadata'), '__proto__'), true);
  const nested = '{"amount":10000,"metadata":{"__proto__":{"polluted":"y"}}}';
  assert.is((await client.send('POST', '/pix-in', nested, json)).status, 400);
  assert.equal(at(await charge(client), 'metadata'), {});
});

test('of a name that stands twice the last counts', async ({ client }) => {
  const good = await client.send('POST', '/pix-in', '{"amount":1,"amount":10000}', json);
  assert.is(whole(expectStatus(good, 201), 'amount'), 10_000);
  const bad = await client.send('POST', '/pix-in', '{"amount":10000,"amount":1}', json);
  expectInvalidFields(bad, ['amount']);
});

test('a body of 64 KiB is read, one byte more is 413, with a length and in chunks', async ({ client }) => {
  const padded = (size: number) => '{"amount":10000}'.padEnd(size, ' ');
  const fitting = padded(maxBodyBytes);
  expectStatus(await client.send('POST', '/pix-in', fitting, json), 201);
  expectStatus(await client.send('POST', '/pix-in', chunks(fitting), json), 201);
  const tooLarge = padded(maxBodyBytes + 1);
  await eachRefused(
    client,
    () => tooLarge,
    json,
    (reply) => {
      expectError(reply, 413, 'PAYLOAD_TOO_LARGE');
    },
  );
  await eachRefused(
    client,
    () => chunks(tooLarge),
    json,
    (reply) => {
      expectError(reply, 413, 'PAYLOAD_TOO_LARGE');
    },
  );
  // The size counts bytes, not characters.
  const characters = `{"amount":10000,"description":"${'é'.repeat(maxBodyBytes / 2)}"}`;
  expectError(await client.send('POST', '/pix-in', characters, json), 413, 'PAYLOAD_TOO_LARGE');
});

test('a wrong or missing content type is INVALID_REQUEST', async ({ client }) => {
  for (const type of [
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/json'],
    ...['application/xml', 'application/octet-stream', 'json', '*/*'],
  ]) {
    await eachRefused(client, validBody, { 'content-type': type }, (reply) => {
      expectError(reply, 400, 'INVALID_REQUEST');
    });
  }
  await eachRefused(client, validBody, {}, (reply) => {
    expectError(reply, 400, 'INVALID_REQUEST');
  });
  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
  ]) {
    const reply = await client.send('POST', '/pix-in', validBody('/pix-in'), { 'content-type': type });
    expectStatus(reply, 201);
  }
});

test('a wrong method is 405, with the methods of the path in Allow', async ({ client }) => {
  const table: [string, string[]][] = [
    ['/pix-in', ['GET', 'POST']],
    ['/cashout', ['GET', 'POST']],
    ['/balance', ['GET']],
    ['/webhooks', ['GET']],
  ];
  const methods: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  for (const [path, allowed] of table) {
    for (const method of methods) {
      if (allowed.includes(method)) continue;
      const reply = await client.request(method, path, method === 'GET' ? undefined : {});
      expectError(reply, 405, 'METHOD_NOT_ALLOWED');
      const allow = (reply.headers.allow ?? '')
        .split(/,\s*/)
        .filter((name) => methods.includes(name as Method));
      assert.equal(allow.sort(), [...allowed].sort(), `${method} ${path}`);
    }
  }
});

test('path and method come before the body', async ({ client }) => {
  const big = 'x'.repeat(maxBodyBytes + 1);
  expectError(await client.send('PUT', '/pix-in', big, json), 405, 'METHOD_NOT_ALLOWED');
  expectError(await client.send('POST', '/nowhere', '{', json), 404, 'NOT_FOUND');
});

test('a path that is not there is 404', async ({ client }) => {
  for (const path of [
    ...['/nowhere', '/pix-in/1', '/pix', '/cashouts', '/sandbox', '/sandbox/pix-in', '/bank'],
    ...['/admin', '/metrics', '/livez', '/openapi.json', '/v1/pix-in'],
  ]) {
    expectError(await client.get(path), 404, 'NOT_FOUND');
  }
  for (const path of ['/%E0%A4%A', '/%00', '/..%2f..%2fetc%2fpasswd', '/%']) {
    const reply = await client.get(path);
    assert.ok(reply.status === 404 || reply.status === 400, `${path}: ${reply.status}`);
    assert.equal(keys(reply.body).slice(0, 2), ['error', 'message']);
    expectNoLeak(reply.text);
  }
});

test('without BANK_CALLBACK_SECRET there are no callbacks', async ({ client }) => {
  expectError(await client.send('POST', '/bank/callbacks', '[]', json), 404, 'NOT_FOUND');
});

test('outside the base address all else is 404, without authentication', async ({ server }) => {
  for (const path of [
    '/',
    '/v2/balance',
    '/v1x',
    '/balance',
    '/pix-in',
    '/metrics',
    '/favicon.ico',
    '/livez/x',
  ]) {
    expectError(await fetchReply('GET', `${server.root}${path}`), 404, 'NOT_FOUND');
    expectError(await fetchReply('POST', `${server.root}${path}`, '{}', json), 404, 'NOT_FOUND');
  }
});

test('/livez and /readyz are 200 and JSON, without authentication', async ({ server }) => {
  for (const path of ['/livez', '/readyz']) {
    const reply = await fetchReply('GET', `${server.root}${path}`);
    expectStatus(reply, 200);
    assert.match(reply.headers['x-request-id'] ?? '', /^[\x20-\x7e]{1,128}$/);
  }
});

test('/openapi.json describes the six endpoints in OpenAPI 3.1', async ({ server }) => {
  const document = expectStatus(await fetchReply('GET', `${server.root}/openapi.json`), 200);
  assert.match(text(document, 'openapi'), /^3\.1\./);
  const paths = object(document, 'paths');
  for (const [path, methods] of [
    ['/pix-in', ['get', 'post']],
    ['/cashout', ['get', 'post']],
    ['/balance', ['get']],
    ['/webhooks', ['get']],
  ] as const) {
    const described = paths[path] ?? paths[`/v1${path}`];
    assert.ok(isObject(described), `${path} is not described`);
    for (const method of methods)
      assert.ok(isObject(described[method]), `${method} ${path} is not described`);
  }
});

test("a caller's request id comes back when it is 1 to 128 printable ASCII characters", async ({
  server,
  client,
}) => {
  const nobody = clientOf(server);
  for (const id of ['a', 'x'.repeat(128), 'order 7 / {"a":1} ~!', '0']) {
    const header = { 'x-request-id': id };
    for (const reply of [
      await client.get('/balance', header),
      await client.get('/nowhere', header),
      await client.request('DELETE', '/balance', undefined, header),
      await client.post('/pix-in', { amount: 1 }, header),
      await client.send('POST', '/pix-in', 'x'.repeat(maxBodyBytes + 1), { ...json, ...header }),
      await nobody.get('/balance', header),
      await fetchReply('GET', `${server.root}/livez`, null, header),
      await fetchReply('GET', `${server.root}/nowhere`, null, header),
      await fetchReply('GET', `${server.root}/openapi.json`, null, header),
    ]) {
      assert.is(reply.headers['x-request-id'], id, `status ${reply.status}`);
    }
  }
});

test('else the request id is one of ours, another each time', async ({ server, client }) => {
  const ours = new Set<string>();
  for (const header of [{}, { 'x-request-id': '' }, { 'x-request-id': 'y'.repeat(129) }]) {
    const id = (await client.get('/balance', header)).headers['x-request-id'] ?? '';
    assert.match(id, /^[\x20-\x7e]{1,128}$/);
    assert.is.not(id, 'y'.repeat(129));
    ours.add(id);
  }
  assert.is(ours.size, 3);
  for (const id of ['caf\u00e9', 'a\tb']) {
    const bytes = `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ${id}\r\n\r\n`;
    const answer = await raw(server.port, Buffer.from(bytes, 'latin1'));
    assert.match(answer, /^HTTP\/1\.1 200 /);
    const shownId = /^x-request-id: (.*)\r$/im.exec(answer)?.[1] ?? '';
    assert.match(shownId, /^[\x20-\x7e]{1,128}$/);
    assert.is.not(shownId, id);
  }
});

test('bytes that are no HTTP are refused, and the server goes on', async ({ server, client }) => {
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
  ]) {
    const answer = await raw(server.port, bytes).catch(() => '');
    assert.ok(answer === '' || /^HTTP\/1\.1 4\d\d /.test(answer), answer.slice(0, 200));
    expectNoLeak(answer);
  }
  // A body shorter than promised, with the connection gone.
  await raw(
    server.port,
    'POST /v1/pix-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"am',
    200,
  );
  expectStatus(await client.get('/balance'), 200);
});

test('the rate limit shows in every answer of an account', async ({ client }) => {
  for (const reply of [await client.get('/balance'), await client.post('/pix-in', { amount: 1 })]) {
    const shownLimit = `${reply.headers['ratelimit-policy'] ?? ''}`;
    assert.match(shownLimit, /5000|10000/);
    assert.match(reply.headers.ratelimit ?? '', /\d/);
  }
});

test('metrics are on the admin port alone', async ({ server }) => {
  const reply = await fetchReply('GET', `http://127.0.0.1:${server.adminPort}/metrics`);
  assert.is(reply.status, 200);
  assert.match(reply.text, /^# (HELP|TYPE) /m);
});

test('a field of the wrong type never ends in a 500', async ({ client }) => {
  const before = await client.balance();
  const values = [
    'null',
    '0',
    '""',
    '[]',
    '{}',
    'true',
    '"\\u0000"',
    '"\\ud800"',
    '1e999',
    '[[[[]]]]',
    '{"a":{"b":[]}}',
  ];
  const fields: [string, string[]][] = [
    [
      '/pix-in',
      [
        'amount',
        'paymentMethod',
        'externalRef',
        'description',
        'additionalInfo',
        'customer',
        'metadata',
        'expiresIn',
      ],
    ],
    ['/cashout', ['amount', 'idempotencyKey', 'pix', 'externalRef', 'description', 'metadata']],
  ];
  for (const [path, names] of fields) {
    for (const name of names) {
      for (const value of values) {
        const body = `{"amount":0,"${name}":${value},"unknown":1}`;
        const invalid = expectInvalid(await client.send('POST', path, body, json));
        assert.ok(invalid.includes('unknown'), `${path} ${name} ${value}: ${invalid.join()}`);
      }
    }
  }
  assert.is(await client.balance(), before);
});

test('after all that nothing has changed', async ({ server, client, existing }) => {
  assert.equal(await shown(client, 'pix-in', text(existing, 'id')), existing);
  assert.is(await client.balance(), 100_000);
  expectStatus(await fetchReply('GET', `${server.root}/readyz`), 200);
  const verified = await cliJson(server, ['verify']);
  assert.is(at(verified, 'ok'), true);
  assert.is(list(verified, 'differences').length, 0);
});

run();
