/** What anybody can send without credentials, and must end neither a thread nor the process, nor hold up its end. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { atMost } from '../../src/waiting.ts';
import { basic, fetchReply, type Merchant, merchant, raw } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { type Server, startServer } from '../support/server.ts';

const s = suite('hostile requests');

/** Whole URLs in which a part makes no sense; Node's own parser and Koa's differ about what that is. */
const NO_URLS = ['http://[x/', 'http://xn--a/', 'http://[%]/v1/balance', 'http://a%/livez', 'http://a b:x/'];
const ENDINGS = ['GET', 'POST', 'OPTIONS'];
const LAST_MS = 15_000;

/** Servers with HTTP in a thread of its own, in the engine's, and with the metrics alone beside it; they must live. */
async function withEach(body: (server: Server, client: Merchant) => Promise<void>): Promise<void> {
  for (const env of [{ HTTP_THREADS: '1' }, { HTTP_THREADS: '0', CONSOLE: 'off' }]) {
    const server = await startServer({ env });
    let code: number | null = null;
    try {
      const client = await merchant(server, ['--balance', '1000']);
      const { pid } = server;
      await body(server, client);
      for (const port of [server.port, server.adminPort])
        assert.ok((await fetchReply('GET', `http://127.0.0.1:${port}/metrics`)).status < 500);
      expectStatus(await client.get('/balance'), 200);
      assert.is(server.pid, pid);
      assert.not.match(server.stdout() + server.stderr(), /died|started again|pixstate stops/);
    } finally {
      code = await server.stop();
    }
    assert.is(code, 0, JSON.stringify(env));
  }
}

s('a request target that is no URL is refused', async () => {
  await withEach(async (server) => {
    for (const target of NO_URLS)
      for (const method of ENDINGS)
        for (const port of [server.port, server.adminPort]) {
          const request = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
          assert.match(await raw(port, request), /^HTTP\/1\.1 4\d\d /, `${method} ${target}`);
        }
    const [target = ''] = NO_URLS;
    const answer = await raw(
      server.port,
      `GET ${target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, '"error":"INVALID_REQUEST"');
    assert.match(answer, /^X-Request-Id: mine\r$/m);
  });
});

s('a whole URL that is one leads to its path', async () => {
  await withEach(async (server, { clientId, clientSecret }) => {
    const authorization = `Authorization: ${basic(clientId, clientSecret)}`;
    const request = `GET http://pix.example/v1/balance HTTP/1.1\r\nHost: x\r\n${authorization}\r\nConnection: close\r\n\r\n`;
    assert.match(await raw(server.port, request), /^HTTP\/1\.1 200 /);
  });
});

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

s('whoever asks for a tunnel and is gone is no failure', async () => {
  await withEach(async (server) => {
    for (const port of [server.port, server.adminPort])
      for (let time = 0; time < 8; time += 1) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        await new Promise<void>((resolve) => socket.write(CONNECT, () => resolve()));
        // At different moments of its being answered.
        await new Promise((resolve) => setTimeout(resolve, time % 4));
        socket.resetAndDestroy();
        await once(socket, 'close');
      }
  });
});

s('who has got the last word and doesn’t go is cut off, and holds up no end', async () => {
  await withEach(async (server) => {
    for (const port of [server.port, server.adminPort])
      for (const bytes of [CONNECT, 'nonsense\r\n\r\n']) {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        socket.on('error', () => undefined);
        socket.resume();
        socket.write(bytes);
        await once(socket, 'end');
        // Who writes to a connection that is cut off hears of it.
        const goOn = setInterval(() => socket.write('x'), 100);
        await atMost(LAST_MS, once(socket, 'close'));
        clearInterval(goOn);
        assert.ok(socket.destroyed, bytes);
      }
    // The end comes while one is held.
    const held = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    held.on('error', () => undefined);
    held.write(CONNECT);
    await once(held.resume(), 'end');
  });
});

s('of forwarded addresses the proxy’s own counts, however many headers come before it', async () => {
  const server = await startServer({ env: { TRUSTED_PROXY_HOPS: '1' } });
  try {
    const client = await merchant(server, ['--allow-ip', '203.0.113.1']);
    const authorization = `Authorization: ${basic(client.clientId, client.clientSecret)}`;
    const ask = (...lines: string[]): Promise<string> =>
      raw(
        server.port,
        `GET /v1/balance HTTP/1.1\r\n${['Host: x', authorization, 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`,
      );
    const [right, wrong] = ['X-Forwarded-For: 203.0.113.1', 'X-Forwarded-For: 203.0.113.2'];
    const many = Array.from({ length: 2_100 }, () => 'a:b');
    assert.match(await ask(...many, right), /^HTTP\/1\.1 200 /);
    assert.match(await ask(right, ...many, wrong), /^HTTP\/1\.1 403 /);
  } finally {
    await server.stop();
  }
});

s.run();
