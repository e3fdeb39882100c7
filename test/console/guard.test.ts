/** Who gets into the console, and who doesn't: another name, another page, another port, half of a session. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ownHosts } from '../../src/console/server/guard.ts';
import { fetchReply, type Headers, raw } from '../support/client.ts';
import { text } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import {
  call,
  cookieOf,
  link,
  origin,
  pageHeaders,
  SESSION,
  signIn,
  startConsole,
  visitor,
} from './visitor.ts';

const test = suite<{ server: Server }>('guard');

test.before(async (context) => {
  context.server = await startConsole();
});
test.after(async ({ server }) => {
  await server.stop();
});

test('a page under another name that leads here gets nothing', async ({ server }) => {
  for (const path of ['/', '/t/1', '/console/api/me', '/console/api/session']) {
    for (const host of ['evil.example', `evil.example:${server.adminPort}`, '127.0.0.1:1', '']) {
      const answer = await raw(
        server.adminPort,
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      assert.match(answer, /^HTTP\/1.1 421 /, `${path} ${host}`);
      assert.match(answer, /"WRONG_HOST"/);
    }
  }
  const none = await raw(server.adminPort, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
  assert.match(none, /^HTTP\/1.1 421 /);
  const metrics = await raw(
    server.adminPort,
    'GET /metrics HTTP/1.1\r\nHost: prometheus.example\r\nConnection: close\r\n\r\n',
  );
  assert.match(metrics, /^HTTP\/1.1 200 /);
  assert.match(metrics, /pixstate_http_request_seconds/);
});

test('this machine has three names, in any case, and the port belongs to them', () => {
  const hosts = ownHosts('127.0.0.1', 3001, null);
  for (const host of ['127.0.0.1:3001', 'localhost:3001', '[::1]:3001'])
    assert.is(hosts.get(host), `http://${host}`);
  for (const host of ['127.0.0.1', 'localhost:3002', '0.0.0.0:3001']) assert.not.ok(hosts.has(host), host);
});

test('behind a proxy it has one name more, with its own origin', () => {
  const hosts = ownHosts('10.0.0.7', 3001, 'https://ops.example');
  for (const host of ['ops.example', 'ops.example:443']) assert.is(hosts.get(host), 'https://ops.example');
  assert.is(hosts.get('10.0.0.7:3001'), 'http://10.0.0.7:3001');
  for (const host of ['ops.example:80', 'ops.example:3001', 'ops.example.evil.example'])
    assert.not.ok(hosts.has(host), host);
  const elsewhere = ownHosts('10.0.0.7', 3001, 'https://ops.example:8443');
  assert.is(elsewhere.get('ops.example:8443'), 'https://ops.example:8443');
  assert.not.ok(elsewhere.has('ops.example'));
});

test('a call that is no read must say that it comes from here', async ({ server }) => {
  const { key } = await link(server);
  const own = origin(server);
  const others: Headers[] = [
    {},
    { origin: 'null' },
    { origin: 'http://evil.example' },
    { origin: `http://127.0.0.1:${server.adminPort + 1}` },
    { origin: own.replace('127.0.0.1', 'localhost') },
    { origin: own, 'sec-fetch-site': 'same-site' },
    { origin: own, 'sec-fetch-site': 'cross-site' },
    { origin: own, 'sec-fetch-site': 'none' },
  ];
  for (const headers of others) {
    const reply = await call(server, 'POST', '/session', headers, { key });
    assert.is(reply.status, 403, JSON.stringify(headers));
    assert.is(text(reply.body, 'error'), 'WRONG_ORIGIN');
    assert.is(reply.headers['access-control-allow-origin'], undefined);
  }
  assert.is((await signIn(server, key)).status, 200, 'the key was not used up');
});

test('only JSON is read, and only an object', async ({ server }) => {
  const address = `${origin(server)}/console/api/session`;
  const headers = pageHeaders(server);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
    const reply = await fetchReply('POST', address, '{"key":"x"}', { ...headers, 'content-type': type });
    assert.is(reply.status, 400, type);
    assert.is(text(reply.body, 'error'), 'INVALID_REQUEST');
  }
  const json = { ...headers, 'content-type': 'application/json' };
  for (const body of ['[]', '{', '"x"', ''])
    assert.is((await fetchReply('POST', address, body, json)).status, 400);
  assert.is((await fetchReply('POST', address, 'x'.repeat(70_000), json)).status, 413);
});

test('a session needs both of its halves', async ({ server }) => {
  const { headers, cookie, half } = await visitor(server);
  const other = await visitor(server);
  assert.is((await call(server, 'GET', '/me', headers)).status, 200);
  const plain = { cookie: `pixstate=${cookie}`, [SESSION]: half };
  assert.is((await call(server, 'GET', '/me', plain)).status, 200, 'a browser without Secure cookies');
  const both = { cookie: `__Host-pixstate=stale; pixstate=${cookie}`, [SESSION]: half };
  assert.is((await call(server, 'GET', '/me', both)).status, 200);
  const thieves: Headers[] = [
    {},
    { cookie: `__Host-pixstate=${cookie}` },
    { [SESSION]: half },
    { cookie: `__Host-pixstate=${cookie}`, [SESSION]: other.half },
    { cookie: `__Host-pixstate=${other.cookie}`, [SESSION]: half },
    { cookie: `__Host-pixstate=99${cookie.slice(2)}`, [SESSION]: half },
    { cookie: `__Host-pixstate=${half}`, [SESSION]: cookie },
    { cookie: '__Host-pixstate=', [SESSION]: half },
  ];
  for (const stolen of thieves) {
    for (const path of ['/me', '/find?q=x', '/transactions', '/accounts', '/transactions/x']) {
      const reply = await call(server, 'GET', path, stolen);
      assert.is(reply.status, 401, `${path} ${JSON.stringify(stolen)}`);
      assert.is(text(reply.body, 'error'), 'INVALID_CREDENTIALS');
    }
  }
});

test('a page on another port has our cookie, and nothing of it', async ({ server }) => {
  const { headers } = await visitor(server, ['--role', 'operator']);
  const foreign = { ...headers, 'sec-fetch-site': 'same-site' };
  assert.is((await call(server, 'GET', '/me', foreign)).status, 403);
  const there = { ...headers, origin: `http://127.0.0.1:${server.adminPort + 1}` };
  assert.is((await call(server, 'GET', '/me', there)).status, 403);
  assert.is((await call(server, 'DELETE', '/session', headers)).status, 403, 'no origin');
});

test('what is served lets nothing else run, and nobody frame it', async ({ server }) => {
  const { headers } = await visitor(server);
  const replies = [
    await fetchReply('GET', `${origin(server)}/`),
    await fetchReply('GET', `${origin(server)}/none.js`),
    await call(server, 'GET', '/me', headers),
    await call(server, 'GET', '/me'),
    await call(server, 'GET', '/me', { host: 'evil.example' }),
  ];
  for (const reply of replies) {
    const policy = reply.headers['content-security-policy'] ?? '';
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "trusted-types 'none'",
    ])
      assert.match(policy, part);
    assert.match(policy, "require-trusted-types-for 'script'");
    assert.is(reply.headers['x-content-type-options'], 'nosniff');
    assert.is(reply.headers['referrer-policy'], 'no-referrer');
    assert.is(reply.headers['cross-origin-opener-policy'], 'same-origin');
    assert.is(reply.headers['cross-origin-resource-policy'], 'same-origin');
    assert.is(reply.headers['access-control-allow-origin'], undefined);
  }
  assert.is(replies[2]?.headers['cache-control'], 'no-store');
  assert.is(replies[3]?.headers['cache-control'], 'no-store');
});

test('the cookie is bound to this host, and no script reads it', async ({ server }) => {
  const reply = await signIn(server, (await link(server)).key);
  const set = reply.headers['set-cookie'] ?? '';
  assert.match(set, /__Host-pixstate=[^;]+; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict/);
  assert.match(set, /, pixstate=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict/);
  assert.is(cookieOf(reply, 'pixstate'), cookieOf(reply, '__Host-pixstate'));
});

test('wrong keys are turned away after twenty', async ({ server }) => {
  const { key } = await link(server);
  let limited = 0;
  for (let count = 0; count < 25; count++) {
    const { status } = await signIn(server, `00${'A'.repeat(43)}`);
    assert.ok(status === 401 || status === 429, String(status));
    if (status === 429) limited += 1;
  }
  assert.ok(limited >= 5, `${limited} were limited`);
  const reply = await signIn(server, key);
  assert.is(reply.status, 429);
  assert.is(text(reply.body, 'error'), 'RATE_LIMITED');
  assert.is(reply.headers['retry-after'], '60');
});

test.run();
