/** The console's thread beside the engine's: it dies and is replaced, and reads what is written while it reads. */
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newIncarnation, now } from '../../src/clock.ts';
import { ConsoleBridge } from '../../src/console/bridge.ts';
import { makeLink } from '../../src/console/passes.ts';
import type { FromConsole } from '../../src/console/protocol.ts';
import { Line } from '../../src/console/server/line.ts';
import { type OpenStore, openFolderStore } from '../../src/store/open.ts';
import { chargeCreated, grow, settings } from '../store/contract/builders.ts';
import { cli } from '../support/cli.ts';
import { endWithin, spawnNode, temporaryFolder } from '../support/process.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { startConsole } from './visitor.ts';

interface Scene {
  folder: string;
  opened: OpenStore;
  bridge: ConsoleBridge;
  failures: string[];
  /** What the log was told, by level. */
  logged: { level: string; what: object; text: string }[];
  /** What the engine's side was asked for. */
  asked: string[];
}

const test = suite<Scene>('bridge');

test.before.each(async (context) => {
  context.folder = await temporaryFolder();
  const incarnation = newIncarnation();
  const onFatal = (error: Error): never => {
    throw error;
  };
  context.opened = await openFolderStore(context.folder, { incarnation, now, access: 'make', onFatal });
  context.failures = [];
  context.asked = [];
  context.logged = [];
  const { marks } = context.opened.store;
  const asked = (what: string): void => void context.asked.push(what);
  const logging = (level: string) => (what: object, text: string) =>
    void context.logged.push({ level, what, text });
  context.bridge = new ConsoleBridge({
    data: {
      ...{ host: '127.0.0.1', port: 0, dataDir: context.folder, mongodbUri: null, incarnation },
      ...{ sandbox: true, version: '0', origin: null, proxy: null },
      api: 'http://127.0.0.1:1',
    },
    marks: {
      swapMark: (name, before, text) => {
        asked(`swapMark ${name}`);
        return marks.swapMark(name, before, text);
      },
    },
    metrics: async () => {
      asked('metrics');
      return { type: 'text/plain', text: 'a metric' };
    },
    urls: () => {
      asked('urls');
      return { urls: [], others: 0, since: '' };
    },
    acts: {
      act: async () => {
        asked('act');
        return { status: 200, headers: {}, body: {} };
      },
      run: () => {
        asked('run');
        return null;
      },
      close: async () => {},
    },
    note: async () => asked('note'),
    onFollowed: () => asked('followed'),
    tally: () => {
      asked('tally');
      return { entries: 0, firsts: 0, firstsTaken: 0 };
    },
    log: { info: logging('info'), warn: logging('warn'), error: logging('error') },
    onFailure: (error) => void context.failures.push(error.message),
  });
  await context.bridge.listening;
});
test.after.each(async ({ folder, opened, bridge }) => {
  await bridge.drain(1_000);
  await opened.close();
  await rm(folder, { recursive: true });
});

async function answers(bridge: ConsoleBridge): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${bridge.port}/metrics`)).ok;
  } catch {
    return false;
  }
}

test('a thread that dies is replaced at its port', async ({ bridge, failures }) => {
  const { port } = bridge;
  assert.ok(await answers(bridge));
  const before = bridge.worker;
  await before?.terminate();
  await until(() => answers(bridge), 10_000, 'another thread answers');
  assert.is(bridge.port, port);
  assert.is.not(bridge.worker, before);
  assert.is(failures.length, 1);
});

test('a key that was just made signs in, one after the other', async ({ bridge, opened }) => {
  const origin = `http://127.0.0.1:${bridge.port}`;
  for (let count = 0; count < 30; count++) {
    const key = await makeLink(opened.store.marks, { by: 'Eva', role: 'viewer' }, now());
    const headers = { 'content-type': 'application/json', origin };
    const body = JSON.stringify({ key });
    const signedIn = await fetch(`${origin}/console/api/session`, { method: 'POST', headers, body });
    const { half } = (await signedIn.json()) as { half: string };
    const [cookie = ''] = signedIn.headers.getSetCookie();
    const own = { cookie: cookie.split(';')[0] ?? '', 'x-pixstate-session': half };
    assert.is((await fetch(`${origin}/console/api/me`, { headers: own })).status, 200);
  }
});

test('what is written is seen while the files grow', async ({ bridge, opened }) => {
  const { store } = opened;
  const origin = `http://127.0.0.1:${bridge.port}`;
  const key = await makeLink(store.marks, { by: 'Eva', role: 'viewer' }, now());
  const headers = { 'content-type': 'application/json', origin };
  const body = JSON.stringify({ key });
  const signedIn = await fetch(`${origin}/console/api/session`, { method: 'POST', headers, body });
  const { half } = (await signedIn.json()) as { half: string };
  const own = { cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '', 'x-pixstate-session': half };
  for (let round = 0; round < 25; round++) {
    const charges = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const made = Array.from({ length: 100 }, () =>
          chargeCreated(now(), { externalRef: 'x'.repeat(200) }),
        );
        await grow(store, `acc_${index}`, made);
        return made[0]?.transaction ?? '';
      }),
    );
    for (const id of charges) {
      const { status } = await fetch(`${origin}/console/api/transactions/${id}`, { headers: own });
      assert.is(status, 200, `round ${round}`);
    }
  }
});

/** A session's headers, by a link made at the store. */
async function entered(bridge: ConsoleBridge, { store }: OpenStore): Promise<Record<string, string>> {
  const origin = `http://127.0.0.1:${bridge.port}`;
  const key = await makeLink(store.marks, { by: 'Eva', role: 'viewer' }, now());
  const headers = { 'content-type': 'application/json', origin };
  const body = JSON.stringify({ key });
  const signedIn = await fetch(`${origin}/console/api/session`, { method: 'POST', headers, body });
  const { half } = (await signedIn.json()) as { half: string };
  return { cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '', 'x-pixstate-session': half };
}

test("the log of the thread is the engine's, and has all of it when the thread ends", async (context) => {
  const { bridge, opened, logged } = context;
  const count = 20;
  for (let nth = 0; nth < count; nth++) await entered(bridge, opened);
  await bridge.drain(1_000);
  const line = {
    level: 'info',
    what: { by: 'Eva', role: 'viewer' },
    text: 'somebody signed in at the console',
  };
  assert.equal(logged, Array(count).fill(line));
});

test('an error comes to the log with its class, its members and where it was thrown', () => {
  const said: FromConsole[] = [];
  const line = new Line({ postMessage: (message) => said.push(structuredClone(message)) });
  const error = Object.assign(new RangeError('no room'), { code: 'FULL' });
  line.log.error({ err: error, path: '/x' }, 'a request failed');
  const [told] = said;
  assert.ok(told?.kind === 'log' && told.line.error !== null);
  const { name, message, stack, members } = told.line.error;
  assert.equal([name, message, stack, members], ['RangeError', 'no room', error.stack, { code: 'FULL' }]);
  assert.equal([told.line.level, told.line.facts], ['error', { path: '/x' }]);
});

/** A stream's text, until it has some text or ends. */
async function* streamed(bridge: ConsoleBridge, headers: Record<string, string>): AsyncGenerator<string> {
  const { body, status } = await fetch(`http://127.0.0.1:${bridge.port}/console/api/live`, { headers });
  assert.is(status, 200);
  let text = '';
  for await (const bytes of body ?? []) {
    text += new TextDecoder().decode(bytes as Uint8Array);
    yield text;
  }
}

test('streams end with a thread that dies, and come back with the next one', async (context) => {
  const { bridge, opened } = context;
  const headers = await entered(bridge, opened);
  const stream = streamed(bridge, headers);
  assert.match((await stream.next()).value, /hello/);
  const before = bridge.worker;
  await before?.terminate();
  const end = await stream.next().then(
    ({ done }) => done,
    () => true,
  );
  assert.is(end, true, 'it ends');
  await until(() => answers(bridge), 10_000, 'another thread answers');
  const again = streamed(bridge, headers);
  assert.match((await again.next()).value, /hello/);
  const charge = chargeCreated(now());
  await grow(opened.store, 'acc_1', [charge]);
  assert.ok((await again.next()).value.includes(charge.transaction));
});

test('pages that are watched, and searches, ask the engine for nothing', async ({
  bridge,
  opened,
  asked,
}) => {
  const headers = await entered(bridge, opened);
  const account = settings({ id: 'acc_1' });
  await opened.store.accounts.put(account);
  const streams = Array.from({ length: 5 }, () => streamed(bridge, headers));
  for (const stream of streams) assert.match((await stream.next()).value, /hello/);
  await until(async () => asked.includes('followed'), 10_000, 'the journal is read again');
  asked.length = 0;
  let known: Parameters<typeof grow>[3] = {};
  for (let round = 0; round < 20; round++) {
    const charge = chargeCreated(now(), { externalRef: `order ${round}` });
    const { append } = await grow(opened.store, account.id, [charge], known);
    known = { known: append.records };
    for (const stream of streams) assert.ok((await stream.next()).value.includes(charge.transaction));
    const found = await fetch(`http://127.0.0.1:${bridge.port}/console/api/find?q=order%20${round}`, {
      headers,
    });
    assert.ok((await found.text()).includes(charge.transaction));
  }
  // These come by the clock, however many watch.
  const byClock = ['followed', 'tally'];
  assert.equal(
    asked.filter((what) => !byClock.includes(what)),
    [],
  );
});

test("metrics come from the engine, and are everybody's", async ({ bridge }) => {
  assert.is(await (await fetch(`http://127.0.0.1:${bridge.port}/metrics`)).text(), 'a metric');
  assert.is((await fetch(`http://127.0.0.1:${bridge.port}/none.css`)).status, 404);
});

/** Something that listens where the console would. */
async function occupied(port: number): Promise<{ close(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', resolve),
  );
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}

test('a named port that is taken ends the start; port 0 takes any', async () => {
  const server = await startConsole({ env: { ADMIN_PORT: '0' } });
  const other = await startServer();
  try {
    await until(async () => /console: http:\/\/127\.0\.0\.1:\d+\/#k=/.test(server.stdout()), 5_000, 'a link');
    const env = {
      ...other.env,
      CONSOLE: 'on',
      PORT: '0',
      DATA_DIR: `${other.dataDir}/none`,
      MONGODB_URI: '',
    };
    const refused = await endWithin(spawnNode(['dist/src/main.js'], env), 20_000);
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /ADMIN_PORT \d+ on 127\.0\.0\.1 is in use/);
  } finally {
    await server.stop();
    await other.stop();
  }
});

test('where the usual port is taken, the API is served all the same', async () => {
  // Somebody else of this machine may have it already.
  const place = await occupied(3001).catch(() => null);
  const server = await startServer({ env: { ADMIN_PORT: '', CONSOLE: 'on' } });
  try {
    assert.match(server.stderr(), /the console is not served: ADMIN_PORT 3001 on 127\.0\.0\.1 is in use/);
    const { code, stderr } = await cli(server, ['console']);
    assert.is(code, 1);
    assert.match(stderr, /no console is served: ADMIN_PORT 3001/);
  } finally {
    await server.stop();
    await place?.close();
  }
});

test.run();
