/** How a connection ends: its last word is said once, behind the answers before it, and nothing is read behind it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listen, type RunningServer, type Times } from '../../src/server/http.ts';
import { sleep, until } from '../support/wait.ts';

interface Taken {
  req: IncomingMessage;
  res: ServerResponse;
}

interface Client {
  socket: Socket;
  got(): string;
  statuses(): string[];
}

const test = suite('last word');
const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
const GARBAGE = '\x01\x02garbage';

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
}

/** A server whose requests the test answers, and who talks to it. */
async function withServer(
  times: Partial<Times>,
  run: (server: RunningServer, taken: Taken[], talk: (text: string) => Client) => Promise<void>,
): Promise<void> {
  const taken: Taken[] = [];
  const sockets: Socket[] = [];
  const server = await listen((req, res) => taken.push({ req, res }), '127.0.0.1', 0, false, times);
  const talk = (text: string): Client => {
    let got = '';
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    socket.write(text);
    const statuses = (): string[] => [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code as string);
    return { socket, got: () => got, statuses };
  };
  try {
    await run(server, taken, talk);
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.drain(0);
  }
}

test('nothing more is read of a connection, nor kept of it, once what comes is no HTTP', async () => {
  await withServer({}, async (_server, taken, talk) => {
    for (const last of [GARBAGE, `${get('/b')}${GARBAGE}`, CONNECT]) {
      const { socket, statuses } = talk(get('/a') + last);
      await until(() => taken.length === 1, 5_000, 'the first');
      const [{ req, res }] = taken.splice(0) as [Taken];
      const listeners = res.listenerCount('finish');
      const { bytesRead } = req.socket;
      for (let piece = 0; piece < 50; piece++) {
        socket.write('\x01'.repeat(65_536));
        await sleep(2);
      }
      assert.is(res.listenerCount('finish'), listeners);
      assert.ok(req.socket.bytesRead - bytesRead <= 65_536, `${req.socket.bytesRead - bytesRead} bytes`);
      res.end('ok');
      if (last.startsWith('GET')) {
        await until(() => taken.length === 1, 5_000, 'the second');
        taken.pop()?.res.end('ok');
      }
      await until(() => socket.destroyed, 5_000, 'the end');
      const whole = last.startsWith('GET') ? ['200', '200'] : ['200'];
      assert.equal(statuses(), [...whole, last === CONNECT ? '405' : '400']);
    }
  });
});

const LARGE = 20_000_000;
/** Node looks at what has left once a time is over, and sees only in the next one that it was nothing. */
const QUIET_MS = 400;

test('a connection whose answer isn’t read is cut off, whatever came behind it', async () => {
  await withServer({ unreadMs: QUIET_MS }, async (_server, taken, talk) => {
    for (const behind of [
      '',
      'GET /b HT',
      `${get('/b')}POST /c HTTP/1.1\r\nContent-Length: 9\r\n\r\nab`,
      GARBAGE,
      CONNECT,
    ]) {
      const { socket, statuses } = talk(get('/a') + behind);
      socket.pause();
      await until(() => taken.length === 1, 5_000, 'the request');
      const [{ req, res }] = taken.splice(0) as [Taken];
      res.end(Buffer.alloc(LARGE));
      await until(() => req.socket.destroyed, 10 * QUIET_MS, `the end, behind it ${behind.slice(0, 9)}`);
      assert.equal(taken, []);
      assert.equal(statuses(), []);
    }
  });
});

test('who reads slowly, or waits for long, is not cut off', async () => {
  await withServer({ unreadMs: QUIET_MS }, async (_server, taken, talk) => {
    const slow = talk(get('/slow'));
    const patient = talk(get('/patient'));
    await until(() => taken.length === 2, 5_000, 'both requests');
    const { socket } = slow;
    socket.on('data', () => {
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    });
    const started = Date.now();
    for (const { req, res } of taken) if (req.url === '/slow') res.end(Buffer.alloc(LARGE));
    await until(() => slow.got().length > LARGE, 30_000, 'all of it');
    await sleep(Math.max(0, started + 5 * QUIET_MS - Date.now()));
    assert.ok(Date.now() - started >= 5 * QUIET_MS);
    for (const { req, res } of taken) if (req.url === '/patient') res.end('at last');
    await until(() => patient.got().endsWith('at last'), 5_000, 'what was waited for');
  });
});

function post(path: string, body: string, ...lines: string[]): string {
  return `${[`POST ${path} HTTP/1.1`, 'Host: x', ...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`;
}

test('the answer of a request that offers another protocol is the last', async () => {
  await withServer({}, async (_server, taken, talk) => {
    const offers = ['Connection: Upgrade', 'Upgrade: h2c'];
    const upgrade = post('/u', 'ab', ...offers);
    const [head, inner] = [post('/p', get('/inner')).slice(0, -get('/inner').length), get('/inner')];
    for (const [first, later, paths] of [
      [upgrade, '', ['/u']],
      [upgrade + get('/b'), get('/c'), ['/u']],
      [`GET /u HTTP/1.1\r\nHost: x\r\n${offers.join('\r\n')}\r\n\r\n${get('/b')}`, get('/c'), ['/u']],
      [upgrade + head, inner, ['/u']],
      [get('/a') + upgrade + get('/b'), get('/c') + GARBAGE, ['/a', '/u']],
      [upgrade.slice(0, -1), `b${get('/b')}${CONNECT}`, ['/u']],
    ] as const) {
      const { socket, got, statuses } = talk(first);
      await until(() => taken.length === 1, 5_000, 'the first');
      await sleep(50);
      socket.write(later);
      await sleep(50);
      for (const path of paths) {
        await until(() => taken.length === 1, 5_000, path);
        const [{ req, res }] = taken.splice(0) as [Taken];
        assert.is(req.url, path);
        if (path === '/u') assert.is((await req.toArray()).join(''), req.method === 'GET' ? '' : 'ab');
        res.end(path);
      }
      await until(() => socket.destroyed, 5_000, 'the end');
      await sleep(50);
      assert.equal(taken, []);
      assert.equal(
        statuses(),
        paths.map(() => '200'),
      );
      assert.match(got(), /Connection: close\r\n/);
      assert.ok(got().endsWith('/u'));
    }
  });
});

/** More than a client takes that doesn't read, and no more than the kernel does. */
const SOME = 300_000;
/** In which a connection's end is over, but for who sends on. */
const END_MS = 1_500;
const CLOSE = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const UPGRADE = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';

test('what is written reaches who reads it late, whatever came behind the last of it', async () => {
  await withServer({}, async (_server, taken, talk) => {
    const lasts = (
      [
        [CLOSE, ['200']],
        [CLOSE + get('/b'), ['200']],
        [UPGRADE, ['200']],
        [get('/a') + GARBAGE, ['200', '400']],
        [get('/a') + CONNECT, ['200', '405']],
        [get('/a') + get('/b') + CONNECT, ['200', '200', '405']],
      ] as const
    ).map(([sent, statuses]) => ({ statuses, client: talk(sent) }));
    for (const { client } of lasts) client.socket.pause();
    await until(() => taken.length === lasts.length, 5_000, 'the first of each');
    for (const { client } of lasts) client.socket.write(get('/c') + '\x01'.repeat(500_000));
    await sleep(50);
    for (const { res } of taken.splice(0)) res.end(Buffer.alloc(SOME));
    await until(() => taken.length === 1, 5_000, 'what came in time');
    taken.pop()?.res.end();
    await sleep(END_MS);
    for (const { client } of lasts) client.socket.resume();
    await until(() => lasts.every(({ client }) => client.socket.destroyed), 5_000, 'the ends');
    assert.equal(taken, []);
    for (const { client, statuses } of lasts) {
      assert.equal(client.statuses(), statuses);
      assert.ok(client.got().length > SOME, `${client.got().length} bytes`);
    }
  });
});

test('who sends on behind the last, or never ends, is cut off, and nothing of it is carried out', async () => {
  await withServer({}, async (_server, taken, talk) => {
    const [silent, slow, greedy] = [talk(CLOSE), talk(CLOSE), talk(CLOSE)];
    for (const { socket } of [silent, slow, greedy]) socket.pause();
    await until(() => taken.length === 3, 5_000, 'the requests');
    const ends = new Map(taken.map(({ req }) => [req.socket.remotePort, req.socket]));
    for (const { res } of taken.splice(0)) res.end('last');
    const ended = Date.now();
    const isCutOff = ({ socket }: Client): boolean => ends.get(socket.localPort)?.destroyed === true;
    const cutOff = async (client: Client, send: string, mostMs: number): Promise<number> => {
      for (; !isCutOff(client); await sleep(20)) {
        assert.ok(Date.now() - ended < mostMs, `${Date.now() - ended} ms`);
        if (client.socket.writableLength === 0) client.socket.write(send);
      }
      return Date.now() - ended;
    };
    const [silentMs, slowMs] = await Promise.all([
      cutOff(silent, '', 3_000),
      cutOff(slow, get('/d'), 9_000),
      cutOff(greedy, get('/e').repeat(100_000), 9_000),
    ]);
    assert.ok(silentMs >= 900 && slowMs >= 5_000, `${silentMs} and ${slowMs} ms`);
    const read = [...ends.values()].reduce((bytes, socket) => bytes + socket.bytesRead, 0);
    assert.ok(read < 20_000_000, `${read} bytes were read`);
    assert.equal(taken, []);
  });
});

test('at a shutdown what is written leaves, and what waits behind it is answered', async () => {
  for (const behind of ['', get('/b')])
    await withServer({}, async (server, taken, talk) => {
      const idle = talk(get('/idle'));
      await until(() => taken.length === 1, 5_000, 'the first');
      taken.pop()?.res.end('idle');
      await until(() => idle.got().endsWith('idle'), 5_000, 'its answer');
      const { socket, got, statuses } = talk(get('/a') + behind);
      socket.pause();
      await until(() => taken.length === 1, 5_000, 'the large one');
      taken.pop()?.res.end(Buffer.alloc(LARGE));
      const drained = server.drain(10_000);
      await sleep(300);
      socket.resume();
      if (behind !== '') {
        await until(() => taken.length === 1, 5_000, 'the one behind it');
        taken.pop()?.res.end('behind');
      }
      await drained;
      await until(() => socket.destroyed && idle.socket.destroyed, 5_000, 'the end');
      assert.ok(got().length > LARGE, `${got().length} bytes`);
      assert.equal(statuses(), behind === '' ? ['200'] : ['200', '200']);
    });
});

test('what isn’t read by the end of a shutdown is cut off', async () => {
  await withServer({}, async (server, taken, talk) => {
    const { socket } = talk(get('/a') + get('/b'));
    const idle = talk(get('/idle'));
    socket.pause();
    await until(() => taken.length === 2, 5_000, 'both');
    for (const { req, res } of taken.splice(0)) res.end(req.url === '/a' ? Buffer.alloc(LARGE) : 'idle');
    const started = Date.now();
    await server.drain(500);
    const ms = Date.now() - started;
    assert.ok(ms >= 450 && ms < 2_000, `${ms} ms`);
    assert.equal(taken, []);
    await until(() => idle.socket.destroyed, 5_000, 'the end of who was idle');
  });
});

test('at a shutdown what is written reaches who sends on, too, and reads late', async () => {
  await withServer({}, async (server, taken, talk) => {
    const { socket, got, statuses } = talk(get('/a') + get('/b'));
    socket.pause();
    await until(() => taken.length === 1, 5_000, 'the first');
    const started = Date.now();
    const drained = server.drain(5_000);
    socket.write(get('/c').repeat(5_000));
    await sleep(50);
    taken.pop()?.res.setHeader('Connection', 'close').end(Buffer.alloc(SOME));
    for (let piece = 0; piece < 20; piece++) {
      await sleep(20);
      socket.write(get('/d'));
    }
    socket.resume();
    await drained;
    assert.ok(Date.now() - started < 3_000, `${Date.now() - started} ms`);
    await until(() => socket.destroyed, 5_000, 'the end');
    assert.equal(taken, []);
    assert.equal(statuses(), ['200']);
    assert.ok(got().length > SOME, `${got().length} bytes`);
  });
});

test('at a shutdown who doesn’t read is waited for alone', async () => {
  await withServer({}, async (server, taken, talk) => {
    const { socket } = talk(get('/a'));
    const idle = talk(get('/idle'));
    socket.pause();
    await until(() => taken.length === 2, 5_000, 'both');
    const [large] = taken.filter(({ req }) => req.url === '/a') as [Taken];
    for (const { req, res } of taken.splice(0)) res.end(req.url === '/a' ? Buffer.alloc(LARGE) : 'idle');
    await until(() => idle.got().endsWith('idle'), 5_000, 'its answer');
    const drained = server.drain(2_000);
    await until(() => idle.socket.destroyed, 500, 'the end of who is idle');
    await sleep(200);
    assert.is(large.req.socket.destroyed, false);
    await drained;
    assert.ok(large.req.socket.destroyed);
  });
});

test.run();
