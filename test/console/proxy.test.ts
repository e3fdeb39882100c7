/** The console behind a proxy that signs people in: who is believed, who isn't, and what is off then. */

import { rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConfigError, readConfig } from '../../src/config.ts';
import { cli } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { type Json, parseJson, text } from '../support/json.ts';
import { type Env, endWithin, spawnNode, temporaryFolder } from '../support/process.ts';
import { type Server, startServer } from '../support/server.ts';
import { call, consoleReady, link, origin, SESSION, signIn, startConsole, visitor } from './visitor.ts';

const test = suite<{ server: Server }>('proxy');

const ORIGIN = 'https://ops.example';
/** The proxy connects from here, and everybody else of this machine from another address. */
const PROXY = '127.0.0.5';
const ELSEWHERE = '127.0.0.1';
const USER = 'x-forwarded-email';
const GROUPS = 'x-forwarded-groups';
const BEHIND: Env = {
  ...{
    CONSOLE_ORIGIN: ORIGIN,
    CONSOLE_PROXY: `10.9.0.0/16, ${PROXY}`,
    CONSOLE_USER_HEADER: 'X-Forwarded-Email',
  },
  ...{ CONSOLE_GROUPS_HEADER: GROUPS, CONSOLE_OPERATORS: 'payments-ops, on call, operações' },
};

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Json;
}

/** A request from an address of this machine, under the console's public name unless it says otherwise. */
function from(
  { adminPort }: Server,
  localAddress: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
  method = 'GET',
): Promise<Answer> {
  const options = { host: '127.0.0.1', port: adminPort, localAddress, path, method, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers: { host: 'ops.example', ...headers } }, async (response) => {
      const body = parseJson(await readText(response)) ?? null;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? '{}' : undefined);
  });
}

const ME = '/console/api/me';

test.before(async (context) => {
  context.server = await startConsole({ env: BEHIND });
});
test.after(async ({ server }) => {
  await server.stop();
});

test('the proxy says who somebody is, and which groups make an operator', async ({ server }) => {
  const eva = await from(server, PROXY, ME, { [USER]: 'eva@ops.example' });
  assert.is(eva.status, 200);
  const { version, ...rest } = eva.body as { version: string };
  assert.equal(rest, { by: 'eva@ops.example', role: 'viewer', via: 'proxy', until: null, sandbox: true });
  const roles: [groups: string, role: string][] = [
    ['payments-ops', 'operator'],
    ['staff, on call ,x', 'operator'],
    ['staff|payments-ops', 'operator'],
    ['payments', 'viewer'],
    ['Payments-Ops', 'viewer'],
    ['payments-ops-trainees', 'viewer'],
    ['', 'viewer'],
  ];
  for (const [groups, role] of roles) {
    const { status, body } = await from(server, PROXY, ME, { [USER]: 'eva@ops.example', [GROUPS]: groups });
    assert.is(status, 200);
    assert.is(text(body, 'role'), role, groups);
  }
});

test('names and groups are read as UTF-8, and as Latin-1 where they are none', async ({ server }) => {
  const bytes = (value: string) => Buffer.from(value).toString('latin1');
  const told = async (user: string, groups: string) => {
    const { body } = await from(server, PROXY, ME, { [USER]: user, [GROUPS]: groups });
    return [text(body, 'by'), text(body, 'role')];
  };
  assert.equal(await told(bytes('José@ops.example'), bytes('operações')), ['José@ops.example', 'operator']);
  assert.equal(await told('José@ops.example', 'opera\xe7\xf5es'), ['José@ops.example', 'operator']);
});

test('a role holds: a viewer reveals nothing, an operator does, and the log says who', async ({ server }) => {
  const shop = await merchant(server);
  const id = text(await charge(shop, 5_000), 'id');
  const path = `/console/api/transactions/${id}?reveal=1`;
  const viewer = await from(server, PROXY, path, { [USER]: 'eva@ops.example' });
  assert.is(viewer.status, 403);
  assert.is(text(viewer.body, 'error'), 'OPERATORS_ONLY');
  const operator = { [USER]: 'ana@ops.example', [GROUPS]: 'payments-ops' };
  assert.is((await from(server, PROXY, path, operator)).status, 200);
  assert.is((await from(server, PROXY, '/', operator)).status, 200);
});

test('whoever else sends these headers is refused loudly, wherever to', async ({ server }) => {
  for (const path of [ME, '/', '/transactions/x', '/console/api/none', '/none.js']) {
    for (const headers of [{ [USER]: 'eva@ops.example' }, { [GROUPS]: 'payments-ops' }, { [USER]: '' }]) {
      const { status, body } = await from(server, ELSEWHERE, path, headers);
      assert.is(status, 400, `${path} ${JSON.stringify(headers)}`);
      assert.is(text(body, 'error'), 'WRONG_PEER');
      assert.match(text(body, 'message'), /CONSOLE_PROXY alone, and this request came from 127\.0\.0\.1/);
    }
  }
  // What a request says of where it comes from is nobody's address.
  const said = {
    [USER]: 'eva@ops.example',
    'x-forwarded-for': PROXY,
    forwarded: `for=${PROXY}`,
    'x-real-ip': PROXY,
  };
  assert.is((await from(server, ELSEWHERE, ME, said)).status, 400);
  assert.match(server.stderr(), /"peer":"127\.0\.0\.1","headers":\["x-forwarded-email"\].*plays the proxy/);
  const metrics = await from(server, ELSEWHERE, '/metrics', {
    [USER]: 'eva@ops.example',
    host: 'prometheus',
  });
  assert.is(metrics.status, 200);
});

test('whom the proxy names nowhere, or who comes past it, is nobody', async ({ server }) => {
  const nobody: [address: string, headers: OutgoingHttpHeaders][] = [
    [PROXY, {}],
    [PROXY, { [USER]: '' }],
    [PROXY, { [USER]: '  ' }],
    [PROXY, { [GROUPS]: 'payments-ops' }],
    [ELSEWHERE, {}],
    [ELSEWHERE, { host: `127.0.0.1:${server.adminPort}` }],
  ];
  for (const [address, headers] of nobody) {
    for (const path of [ME, '/console/api/transactions', '/console/api/find?q=x']) {
      const { status, body } = await from(server, address, path, headers);
      assert.is(status, 401, `${address} ${JSON.stringify(headers)}`);
      assert.is(text(body, 'error'), 'SIGN_IN_BY_PROXY');
      assert.match(text(body, 'message'), ORIGIN);
    }
  }
});

test('a header that stands twice is refused: one of both is not the proxy’s', async ({ server }) => {
  const twice = [
    { [USER]: ['evil@ops.example', 'eva@ops.example'] },
    { [USER]: 'eva@ops.example', [GROUPS]: ['payments-ops', 'staff'] },
  ];
  for (const headers of twice) {
    const { status, body } = await from(server, PROXY, ME, headers);
    assert.is(status, 400);
    assert.is(text(body, 'error'), 'INVALID_REQUEST');
    assert.match(text(body, 'message'), /2 times/);
  }
  assert.is((await from(server, PROXY, ME, { [USER]: 'x'.repeat(257) })).status, 400);
});

test('only its own name and its own page are answered behind it', async ({ server }) => {
  const eva = { [USER]: 'eva@ops.example' };
  for (const host of ['ops.example', 'OPS.example', 'ops.example:443', `localhost:${server.adminPort}`])
    assert.is((await from(server, PROXY, ME, { ...eva, host })).status, 200, host);
  for (const host of ['evil.example', 'ops.example:80', '10.0.0.7:3001'])
    assert.is((await from(server, PROXY, ME, { ...eva, host })).status, 421, host);
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'http://ops.example' },
    { origin: 'https://ops.example:8443' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
  ]) {
    const { status, body } = await from(server, PROXY, ME, { ...eva, ...headers });
    assert.is(status, 403, JSON.stringify(headers));
    assert.is(text(body, 'error'), 'WRONG_ORIGIN');
  }
  const own = { ...eva, origin: ORIGIN, 'sec-fetch-site': 'same-origin' };
  assert.is((await from(server, PROXY, ME, own)).status, 200);
});

test('links and sessions are off, and the command says where to sign in', async ({ server }) => {
  assert.not.match(server.stdout(), /#k=/);
  assert.match(server.stdout(), /^console: https:\/\/ops\.example {2}\(/m);
  const { code, json } = await cli(server, ['console', '--json']);
  assert.is(code, 1);
  assert.is(text(json, 'error'), 'NO_LINKS');
  assert.match(text(json, 'message'), /https:\/\/ops\.example/);
  const page = { origin: ORIGIN, 'content-type': 'application/json' };
  const entered = await from(server, PROXY, '/console/api/session', page, 'POST');
  assert.is(entered.status, 401);
  assert.is(text(entered.body, 'error'), 'SIGN_IN_BY_PROXY');
  assert.is(entered.headers['set-cookie'], undefined);
  const left = await from(server, PROXY, '/console/api/session', { ...page, [USER]: 'eva' }, 'DELETE');
  assert.is(left.status, 404);
});

test('a session of before is taken no more once a proxy signs in', async () => {
  const server = await startConsole();
  try {
    const { headers } = await visitor(server, ['--role', 'operator']);
    await server.restart(BEHIND);
    await consoleReady(server);
    assert.is((await call(server, 'GET', '/me', headers)).status, 401);
    const fromProxy = await from(server, PROXY, ME, headers);
    assert.is(fromProxy.status, 401);
  } finally {
    await server.stop();
  }
});

test('behind an origin alone links lead there, and only the Secure cookie counts', async () => {
  const server = await startConsole({ env: { CONSOLE_ORIGIN: `${ORIGIN}/` } });
  try {
    assert.match(server.stdout(), /^console: https:\/\/ops\.example\/#k=/m);
    const { url, key } = await link(server);
    assert.ok(url.startsWith(`${ORIGIN}/#k=`), url);
    const reply = await signIn(server, key);
    assert.is(reply.status, 200);
    const half = text(reply.body, 'half');
    const set = reply.headers['set-cookie'] ?? '';
    assert.match(set, /^__Host-pixstate=[^;]+; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$/);
    const [, cookie = ''] = /^__Host-pixstate=([^;]+)/.exec(set) ?? [];
    const secure = { cookie: `__Host-pixstate=${cookie}`, [SESSION]: half };
    assert.is((await from(server, ELSEWHERE, ME, secure)).status, 200);
    assert.is((await call(server, 'GET', '/me', secure)).status, 200, 'this machine reaches it by itself');
    const plain = { cookie: `pixstate=${cookie}`, [SESSION]: half };
    assert.is((await from(server, ELSEWHERE, ME, plain)).status, 401);
    const left = await from(
      server,
      ELSEWHERE,
      '/console/api/session',
      { ...secure, origin: ORIGIN },
      'DELETE',
    );
    assert.is(left.status, 204);
  } finally {
    await server.stop();
  }
});

test('where others reach it, it needs both, and is off without', async () => {
  const server = await startServer({ env: { CONSOLE: 'on', ADMIN_HOST: '0.0.0.0', CONSOLE_ORIGIN: ORIGIN } });
  try {
    const lines = server.stderr().match(/the console is not served: [^"]*/g) ?? [];
    assert.is(lines.length, 1, server.stderr());
    assert.match(lines[0] ?? '', /CONSOLE_ORIGIN and CONSOLE_PROXY/);
    const eva = { [USER]: 'eva@ops.example' };
    for (const path of ['/', ME]) assert.is((await from(server, PROXY, path, eva)).status, 404);
    assert.is((await fetch(`${origin(server)}/metrics`)).status, 200);
    await server.restart(BEHIND);
    await consoleReady(server);
    assert.is((await from(server, PROXY, ME, eva)).status, 200);
    assert.is((await from(server, ELSEWHERE, ME, eva)).status, 400);
    // A socket for both kinds of addresses tells IPv4 in its own way.
    await server.restart({ ADMIN_HOST: '::' });
    await consoleReady(server);
    assert.is((await from(server, PROXY, ME, eva)).status, 200);
    assert.is((await from(server, ELSEWHERE, ME, eva)).status, 400);
  } finally {
    await server.stop();
  }
});

/** The mistakes of a configuration. */
function mistakesOf(env: Env): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes;
  }
}

test('each value that is none is told by its name', () => {
  assert.equal(mistakesOf(BEHIND), []);
  const { consoleSettings } = readConfig({
    ...BEHIND,
    CONSOLE_ORIGIN: 'https://OPS.example:443/',
    CONSOLE_PROXY: 'fd00::1, 10.0.0.0/8',
  });
  assert.equal(consoleSettings, {
    origin: ORIGIN,
    proxy: {
      ...{ peers: ['fd00::1/128', '10.0.0.0/8'], userHeader: USER, groupsHeader: GROUPS },
      operators: ['payments-ops', 'on call', 'operações'],
    },
  });
  const wrong: [name: string, values: string[]][] = [
    ['CONSOLE', ['yes', 'true', '1']],
    ['ADMIN_PORT', ['x', '-1', '65536', '3001.5']],
    [
      'CONSOLE_ORIGIN',
      [
        'ops.example',
        'http://ops.example',
        'https://ops.example/x',
        'https://me@ops.example',
        'https://ops.example/?',
        '*',
      ],
    ],
    [
      'CONSOLE_PROXY',
      [
        'ops.example',
        '10.0.0.5/33',
        '10.0.0/8',
        '10.0.0.5, x',
        '0.0.0.0/0',
        '::/0',
        '::1/129',
        '10.0.0.5/',
        ',',
        '*',
      ],
    ],
    ['CONSOLE_USER_HEADER', ['x forwarded email', 'x-forwarded-email:', 'é']],
    ['CONSOLE_GROUPS_HEADER', ['x,y']],
    ['CONSOLE_OPERATORS', [',', '  ', ' , ,']],
  ];
  for (const [name, values] of wrong) {
    for (const value of values) {
      const mistakes = mistakesOf({ ...BEHIND, [name]: value });
      assert.is(mistakes.length, 1, `${name}=${value}: ${mistakes.join('; ')}`);
      assert.match(mistakes[0] ?? '', new RegExp(`^${name} must be .*not "`));
    }
  }
  for (const [name, needed] of [
    ['CONSOLE_PROXY', 'CONSOLE_ORIGIN'],
    ['CONSOLE_PROXY', 'CONSOLE_USER_HEADER'],
    ['CONSOLE_USER_HEADER', 'CONSOLE_PROXY'],
    ['CONSOLE_GROUPS_HEADER', 'CONSOLE_PROXY'],
    ['CONSOLE_OPERATORS', 'CONSOLE_GROUPS_HEADER'],
    ['CONSOLE_GROUPS_HEADER', 'CONSOLE_OPERATORS'],
  ] as const)
    assert.ok(
      mistakesOf({ ...BEHIND, [needed]: '' }).some((each) => each.startsWith(`${name} needs ${needed}: `)),
      `${name} without ${needed}`,
    );
});

test('a start with such a value ends with a line about it', async () => {
  const folder = await temporaryFolder();
  const env = { CONSOLE: 'on', PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'silent' };
  const ended = (more: Env) => endWithin(spawnNode(['dist/src/main.js'], { ...env, ...more }), 20_000);
  try {
    const wrong = await ended({ CONSOLE_PROXY: 'ops.example' });
    assert.is(wrong.code, 2);
    assert.match(wrong.stderr, /CONSOLE_PROXY must be the proxy's address or network/);
    const nowhere = await ended({ ADMIN_HOST: 'no-such-host.invalid', ADMIN_PORT: '' });
    assert.is(nowhere.code, 1);
    assert.match(
      nowhere.stderr,
      /ADMIN_PORT 3001 on no-such-host\.invalid can't be listened on: \w+; is ADMIN_HOST right\?/,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.run();
