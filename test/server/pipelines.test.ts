/** Many requests on one connection: one is carried out at a time, in order, and none once nobody waits for it. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listen, type RunningServer } from '../../src/server/http.ts';
import { sleep, until } from '../support/wait.ts';

interface Taken {
  req: IncomingMessage;
  res: ServerResponse;
}

interface Context {
  server: RunningServer;
  /** What was handed over and isn't answered. */
  taken: Taken[];
  /** The paths of all that was handed over. */
  paths: string[];
  sockets: Socket[];
}

const test = suite<Context>('pipelines');

test.before.each(async (context) => {
  const taken: Taken[] = [];
  const paths: string[] = [];
  const server = await listen(
    (req, res) => {
      paths.push(req.url ?? '');
      taken.push({ req, res });
    },
    '127.0.0.1',
    0,
  );
  Object.assign(context, { server, taken, paths, sockets: [] });
});
test.after.each(async ({ server, sockets }) => {
  for (const socket of sockets) socket.destroy();
  await server.drain(0);
});

function opened({ server, sockets }: Context): Socket {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
}

/** Waits for a request, without the pauses of `until`: thousands follow each other. */
async function handedOver(taken: readonly Taken[], what: string): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (taken.length === 0) {
    if (Date.now() > deadline) throw new Error(`${what} was not handed over`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Answers the request that is carried out with its own path. */
function answer({ taken }: Context): void {
  const { req, res } = taken.shift() as Taken;
  res.end(req.url);
}

test('one at a time, in order, however many come together', async (context) => {
  const { taken, paths } = context;
  const socket = opened(context);
  let got = '';
  socket.on('data', (chunk) => {
    got += chunk.toString('latin1');
  });
  const asked = Array.from({ length: 3_000 }, (_, n) => `/${n}`);
  socket.write(asked.map(get).join(''));
  for (let count = 0; count < asked.length; count++) {
    await handedOver(taken, `request ${count}`);
    assert.is(taken.length, 1);
    answer(context);
  }
  assert.equal(paths, asked);
  await until(() => got.endsWith('/2999'), 5_000, 'the last answer');
  assert.equal(
    [...got.matchAll(/\r\n\r\n(\/\d+)/g)].map(([, path]) => path),
    asked,
  );
});

test('a body that comes later is read when it is its turn', async (context) => {
  const { taken } = context;
  const socket = opened(context);
  socket.write(`${get('/a')}POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo`);
  await until(() => taken.length === 1, 5_000, 'the first');
  socket.write(`dy${get('/c')}`);
  answer(context);
  await until(() => taken.length === 1, 5_000, 'the second');
  const { req } = taken[0] as Taken;
  assert.is(req.url, '/b');
  let body = '';
  for await (const chunk of req) body += chunk;
  assert.is(body, 'body');
  answer(context);
  await until(() => taken.length === 1, 5_000, 'the third');
  assert.is(taken[0]?.req.url, '/c');
  answer(context);
});

test('nothing more is carried out for who has left', async (context) => {
  const { taken, paths } = context;
  const socket = opened(context);
  socket.write(get('/x').repeat(500));
  await until(() => taken.length === 1, 5_000, 'the first');
  socket.destroy();
  const other = opened(context);
  // What was read of the connection that is gone is known once its end is.
  for (let count = 0; count < 50 && taken.length > 0; count++) {
    answer(context);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const carriedOut = paths.length;
  assert.ok(carriedOut < 50, `${carriedOut} were carried out`);
  other.write(get('/other'));
  await until(() => taken.length === 1, 5_000, 'another');
  assert.equal(paths.slice(carriedOut), ['/other']);
  answer(context);
});

test('nothing is carried out that a shutdown has answered', async (context) => {
  const { server, taken, paths } = context;
  const socket = opened(context);
  let got = '';
  socket.on('data', (chunk) => {
    got += chunk.toString('latin1');
  });
  socket.write(get('/a') + get('/b') + get('/c'));
  await until(() => taken.length === 1, 5_000, 'the first');
  await server.drain(50);
  await until(() => socket.destroyed, 5_000, 'the end of the connection');
  assert.match(got, /^HTTP\/1\.1 503 /);
  assert.equal(paths, ['/a']);
});

test('who sends more than all may have waiting is cut off, and nobody else', async (context) => {
  const { taken, paths } = context;
  const patient = opened(context);
  patient.write(get('/first') + get('/second'));
  await until(() => paths.length === 1, 5_000, 'the first');
  const greedy = Array.from({ length: 30 }, () => opened(context));
  const closed = Promise.race(greedy.map((socket) => once(socket, 'close')));
  for (const socket of greedy) socket.write(get('/').repeat(1_500));
  await closed;
  answer(context);
  await until(() => paths.includes('/second'), 5_000, 'the second');
  assert.ok(greedy.some((socket) => !socket.destroyed));
  for (const socket of greedy) socket.destroy();
  while (taken.length > 0) answer(context);
});

test('of who sends on only a little is read, whatever bodies its requests have', async (context) => {
  const { taken, paths } = context;
  const socket = opened(context);
  let got = 0;
  socket.on('data', (chunk) => {
    got += chunk.toString('latin1').match(/HTTP\/1\.1 200/g)?.length ?? 0;
  });
  const body = 'x'.repeat(6_000);
  const count = 2_000;
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\n\r\n${body}`.repeat(count));
  for (let turn = 0; turn < 50; turn++) {
    await handedOver(taken, `request ${turn}`);
    answer(context);
  }
  // Were all of it read, nothing would be left here.
  assert.ok(socket.writableLength > 5_000_000, `${socket.writableLength} bytes are left`);
  while (paths.length < count) {
    await handedOver(taken, `request ${paths.length}`);
    answer(context);
  }
  while (taken.length > 0) answer(context);
  await until(() => got === count, 5_000, 'all answers');
});

test('CONNECT, and what is expected in vain, is answered behind what came before', async (context) => {
  const { taken } = context;
  for (const [last, status] of [
    ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', '405'],
    ['GET /e HTTP/1.1\r\nHost: x\r\nExpect: what\r\n\r\n', '400'],
  ] as const) {
    const socket = opened(context);
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk;
    });
    const statuses = (): string[] => [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code as string);
    socket.write(get('/a') + get('/b') + last);
    for (const path of ['/a', '/b']) {
      await until(() => taken[0]?.req.url === path, 5_000, path);
      assert.is(got.includes(status), false);
      answer(context);
    }
    await until(() => statuses().length === 3, 5_000, 'the last answer');
    assert.equal(statuses(), ['200', '200', status]);
  }
});

test('what came in time and wasn’t read, since others waited, is not late', async (context) => {
  const { taken, paths, sockets } = context;
  const times = { requestMs: 300, headersMs: 200, lookMs: 50 };
  const server = await listen((req, res) => context.taken.push({ req, res }), '127.0.0.1', 0, false, times);
  const talk = (text: string): { socket: Socket; got(): string } => {
    let got = '';
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      got += chunk;
    });
    socket.write(text);
    return { socket, got: () => got };
  };
  const answerNext = async (path: string): Promise<void> => {
    await until(() => taken[0]?.req.url === path, 5_000, path);
    answer(context);
  };
  for (const isSent of [true, false]) {
    const { socket, got } = talk(`${get('/a')}${get('/b')}GET /c HT`);
    await until(() => taken.length === 1, 5_000, 'the first');
    await sleep(800);
    await answerNext('/a');
    await answerNext('/b');
    await sleep(100);
    assert.is(got().includes('400 Bad Request'), false, 'it has its time from here on');
    if (isSent) {
      socket.write('TP/1.1\r\nHost: x\r\n\r\n');
      await answerNext('/c');
      await until(() => got().endsWith('/c'), 5_000, 'its answer');
      await sleep(400);
      assert.is(got().includes('400 Bad Request'), false);
    } else await until(() => got().includes('too long to arrive'), 5_000, 'that it is late');
  }
  assert.equal(paths, []);
  await server.drain(0);
});

test.run();
