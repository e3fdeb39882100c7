/** Links and sessions: once, in time, over a restart, in a bounded number; in the store's own words without a server. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endSession,
  findSession,
  makeLink,
  openSession,
  type PassMarks,
  SESSION_MS,
  takeLink,
  touchSession,
} from '../../src/console/passes.ts';
import { type CliResult, cli } from '../support/cli.ts';
import { at, list, text } from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';
import {
  call,
  consoleReady,
  link,
  origin,
  pageHeaders,
  signIn,
  startConsole,
  type Visitor,
  visitor,
} from './visitor.ts';

const test = suite('sessions');

const AT = Date.UTC(2026, 0, 5, 12);
const MINUTE = 60_000;
const EVA = { by: 'Eva', role: 'viewer' as const };

/** Marks in memory, and how often they were written. */
function marks(): PassMarks & { texts: Map<string, string>; writes: number } {
  const texts = new Map<string, string>();
  const all = {
    texts,
    writes: 0,
    mark: async (name: string) => texts.get(name) ?? null,
    swapMark: async (name: string, before: string | null, after: string) => {
      if ((texts.get(name) ?? null) !== before) return false;
      texts.set(name, after);
      all.writes += 1;
      return true;
    },
  };
  return all;
}

test('a port that was named is open once the server is ready', async () => {
  const server = await startServer({ env: { CONSOLE: 'on' } });
  try {
    assert.is((await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).status, 200);
  } finally {
    await server.stop();
  }
});

test('a link signs in once, whoever comes at the same time', async () => {
  const store = marks();
  const key = await makeLink(store, EVA, AT);
  const taken = await Promise.all(Array.from({ length: 8 }, () => takeLink(store, key, AT + 1)));
  assert.equal(
    taken.filter((each) => each !== null),
    [EVA],
  );
  assert.is(await takeLink(store, key, AT + 1), null);
});

test('a link is too old after five minutes', async () => {
  const store = marks();
  const late = await makeLink(store, EVA, AT);
  assert.is(await takeLink(store, late, AT + 5 * MINUTE), null);
  const inTime = await makeLink(store, EVA, AT);
  assert.equal(await takeLink(store, inTime, AT + 5 * MINUTE - 1), EVA);
});

test('what is no key is nobody', async () => {
  const store = marks();
  const key = await makeLink(store, EVA, AT);
  const wrong = [
    '',
    '00',
    key.slice(1),
    `${key}A`,
    `99${key.slice(2)}`,
    `xx${key.slice(2)}`,
    `${key.slice(0, -1)}-`,
  ];
  for (const each of wrong.filter((each) => each !== key))
    assert.is(await takeLink(store, each, AT), null, each);
  assert.equal(await takeLink(store, key, AT), EVA, 'and the right one still is');
});

test('nothing that signs in lies in the store', async () => {
  const store = marks();
  const key = await makeLink(store, EVA, AT);
  const { cookie, half } = await openSession(store, EVA, AT);
  const stored = [...store.texts.values()].join('\n');
  for (const secret of [key, cookie, half]) assert.not.match(stored, secret.slice(2));
});

test('a session ends after twelve hours, after an idle one, and when its owner leaves', async () => {
  const store = marks();
  const find = (opened: { cookie: string; half: string }, at: number) =>
    findSession(store, opened.cookie, opened.half, at);
  const idle = await openSession(store, EVA, AT);
  assert.ok(await find(idle, AT + 60 * MINUTE - 1));
  assert.is(await find(idle, AT + 60 * MINUTE), null);
  const used = await openSession(store, EVA, AT);
  for (let at = AT; at < AT + SESSION_MS; at += 30 * MINUTE) {
    const session = await find(used, at);
    assert.ok(session, `after ${(at - AT) / MINUTE} minutes`);
    await touchSession(store, session, at);
  }
  assert.is(await find(used, AT + SESSION_MS), null);
  const left = await openSession(store, EVA, AT);
  const session = await find(left, AT);
  if (session === null) throw new Error('a session is there');
  await endSession(store, session);
  assert.is(await find(left, AT), null);
});

test('what a clock made that was ahead, and was set back since, is over', async () => {
  const store = marks();
  const ahead = AT + 365 * 24 * 60 * MINUTE;
  const key = await makeLink(store, EVA, ahead);
  const { cookie, half } = await openSession(store, EVA, ahead);
  assert.is(await takeLink(store, key, AT), null);
  assert.is(await findSession(store, cookie, half, AT), null);
  // Clocks of several servers differ by less.
  const near = await makeLink(store, EVA, AT + 2_000);
  assert.equal(await takeLink(store, near, AT), EVA);
});

test('use is written down once in minutes, not at each request', async () => {
  const store = marks();
  const opened = await openSession(store, EVA, AT);
  const { writes } = store;
  for (let at = AT; at < AT + 10 * MINUTE; at += 1_000) {
    const session = await findSession(store, opened.cookie, opened.half, at);
    if (session === null) throw new Error('a session is there');
    await touchSession(store, session, at);
  }
  assert.ok(store.writes - writes <= 10, `${store.writes - writes} writes in ten minutes`);
  assert.ok(store.writes - writes >= 1);
});

test('there are so many places, and the longest unused goes first', async () => {
  const store = marks();
  const first = await openSession(store, EVA, AT);
  const second = await openSession(store, EVA, AT + 1);
  for (let count = 0; count < 62; count++) await openSession(store, EVA, AT + 2 + count);
  assert.ok(await findSession(store, first.cookie, first.half, AT + 100));
  await openSession(store, EVA, AT + 100);
  assert.is(await findSession(store, first.cookie, first.half, AT + 100), null);
  assert.ok(await findSession(store, second.cookie, second.half, AT + 100));
  assert.is([...store.texts.keys()].filter((name) => name.startsWith('console:session:')).length, 64);
  const links = await Promise.all(Array.from({ length: 40 }, (_, at) => makeLink(store, EVA, AT + at)));
  assert.is([...store.texts.keys()].filter((name) => name.startsWith('console:link:')).length, 16);
  assert.equal(await takeLink(store, links.at(-1) ?? '', AT + 41), EVA);
});

test('a session outlives a restart and a kill; one that was left does not come back', async () => {
  const server = await startConsole();
  try {
    const { headers } = await visitor(server, ['--role', 'operator', '--by', 'Eva']);
    const gone = await visitor(server);
    const unused = await link(server);
    const bye = await call(server, 'DELETE', '/session', { ...gone.headers, ...pageHeaders(server) });
    assert.is(bye.status, 204);
    assert.match(bye.headers['set-cookie'] ?? '', /__Host-pixstate=; .*Max-Age=0/);
    assert.is((await gone.get('/me')).status, 401);
    await server.restart();
    await server.kill();
    await server.restart();
    await consoleReady(server);
    // On a database the console's own connection may come a moment later.
    const status = async (): Promise<number> => (await call(server, 'GET', '/me', headers)).status;
    await until(async () => (await status()) !== 503, 5_000, 'the store is there');
    const me = await call(server, 'GET', '/me', headers);
    assert.is(me.status, 200);
    assert.is(text(me.body, 'by'), 'Eva');
    assert.is(text(me.body, 'role'), 'operator');
    assert.is((await gone.get('/me')).status, 401);
    assert.is((await signIn(server, unused.key)).status, 200, 'a link outlives it as well');
    const again = await signIn(server, unused.key);
    assert.is(again.status, 401);
    assert.is(text(again.body, 'error'), 'INVALID_CREDENTIALS');
    assert.is(again.headers['set-cookie'], undefined);
  } finally {
    await server.stop();
  }
});

test('sessions are listed, the last used first; operators end any, viewers their own', async () => {
  const server = await startConsole({ env: { LOG_LEVEL: 'info' } });
  try {
    const eva = await visitor(server, ['--by', 'Eva']);
    const lia = await visitor(server, ['--by', 'Lia']);
    const otto = await visitor(server, ['--role', 'operator', '--by', 'Otto']);
    const listed = async (who: Visitor) => list((await who.get('/sessions')).body, 'rows');
    const rows = await listed(eva);
    assert.equal(
      rows.map((row) => [text(row, 'by'), text(row, 'role'), at(row, 'isOwn')]),
      [
        ['Otto', 'operator', false],
        ['Lia', 'viewer', false],
        ['Eva', 'viewer', true],
      ],
    );
    for (const row of rows) {
      const [since, usedAt, until] = ['since', 'usedAt', 'until'].map((name) => Date.parse(text(row, name)));
      assert.ok((since ?? 0) <= (usedAt ?? 0));
      assert.is((until ?? 0) - (since ?? 0), SESSION_MS);
    }
    const idOf = (by: string): string => text(rows.find((row) => text(row, 'by') === by) ?? null, 'id');
    const end = (who: Visitor, id: string) =>
      call(server, 'DELETE', `/sessions/${id}`, { ...who.headers, ...pageHeaders(server) });
    const refused = await end(eva, idOf('Lia'));
    assert.equal([refused.status, text(refused.body, 'error')], [403, 'OPERATORS_ONLY']);
    assert.is((await lia.get('/me')).status, 200);
    const stream = await fetch(`${origin(server)}/console/api/live`, { headers: lia.headers });
    const ending = stream.text();
    assert.is((await end(otto, idOf('Lia'))).status, 204);
    assert.is((await lia.get('/me')).status, 401);
    assert.match(await ending, /"why":"session"/, 'its live pages end at once');
    assert.match(server.stderr(), /"by":"Otto","of":"Lia","role":"viewer","msg":"somebody ends a session"/);
    const twice = await end(otto, idOf('Lia'));
    assert.equal([twice.status, text(twice.body, 'error')], [404, 'SESSION_NOT_FOUND']);
    for (const none of ['x', '%00', '0'.repeat(16), '..%2Fme']) {
      const { status } = await end(otto, none);
      assert.is(status, 404, none);
    }
    assert.is((await end(eva, idOf('Eva'))).status, 204);
    assert.is((await eva.get('/sessions')).status, 401);
    assert.equal(
      (await listed(otto)).map((row) => text(row, 'by')),
      ['Otto'],
    );
    const { status } = await call(server, 'DELETE', `/sessions/${idOf('Otto')}`, otto.headers);
    assert.is(status, 403, 'not from another origin');
  } finally {
    await server.stop();
  }
});

test('the command says why there is no console', async () => {
  const folder = await temporaryFolder();
  const empty = await cli(folder, ['console', '--json'], { DATA_DIR: `${folder}/none` });
  await rm(folder, { recursive: true });
  assert.is(empty.code, 1);
  const server = await startServer({ env: { CONSOLE: 'off' } });
  const isShared = server.env.MONGODB_URI !== undefined;
  const none = /no server on the database has one/;
  const url = ['--url', 'http://127.0.0.1:3001'];
  const said = async (): Promise<string> => {
    const [{ code, json }, named] = (await Promise.all(
      [[], url].map((args) => cli(server, ['console', ...args, '--json'])),
    )) as [CliResult, CliResult];
    assert.is(code, 1);
    assert.is(text(json, 'error'), 'NO_CONSOLE');
    // Of a database's servers not all are known from here: an address that is named is taken.
    if (isShared) assert.is(named.code, 0);
    else assert.equal([named.code, named.json], [1, json]);
    return text(json, 'message');
  };
  try {
    assert.match(await said(), isShared ? none : /CONSOLE is off/);
    await server.terminate();
    assert.match(await said(), isShared ? none : /no server runs on/);
    await server.restart({ CONSOLE: 'on', ADMIN_HOST: '0.0.0.0' });
    assert.match(await said(), isShared ? none : /no loopback address/);
    assert.match(server.stderr(), /the console is not served/);
    const metrics = await fetch(`http://127.0.0.1:${server.adminPort}/metrics`);
    assert.is(metrics.status, 200);
    await server.restart({ ADMIN_HOST: '127.0.0.1' });
    for (const args of [
      ['--role', 'god'],
      ['--by', ''],
      ['--url', 'x'],
    ]) {
      const wrong = await cli(server, ['console', ...args, '--json']);
      assert.is(wrong.code, 2, args.join(' '));
      assert.is(text(wrong.json, 'error'), 'VALIDATION_ERROR');
    }
  } finally {
    await server.stop();
  }
});

test.run();
