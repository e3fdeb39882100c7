import type net from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { item, localSender, Outbox, rawReceiver, receiver } from './receivers.ts';

const test = suite('hostile receivers');
const TIMEOUT_MS = 300;

function outboxTo(more: { allowPrivate?: boolean; timeoutMs?: number } = {}): Outbox {
  return new Outbox(localSender({ timeoutMs: TIMEOUT_MS, ...more }));
}

/** Receivers are spoken to plainly until one has given an unusual answer: from then on undici speaks. */
const AFTER = ['', ', after an unusual answer'];
const UNUSUAL = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';

/** Gives an unusual answer first, where the rest is to come after one. */
function unusualFirst(after: string, answer: (socket: net.Socket) => void): (socket: net.Socket) => void {
  let isUnusual = after !== '';
  return (socket) => {
    if (isUnusual) socket.write(UNUSUAL);
    else answer(socket);
    isUnusual = false;
  };
}

/** To a receiver of `unusualFirst`: has it give that answer. */
async function hearUnusual(after: string, outbox: Outbox, url: string): Promise<void> {
  if (after !== '') assert.is((await outbox.attempt(item('0', url))).statusCode, 200);
}

async function resultOf(answer: (socket: net.Socket) => void, after: string) {
  const to = await rawReceiver(unusualFirst(after, answer));
  const outbox = outboxTo();
  await hearUnusual(after, outbox, to.url);
  const begun = performance.now();
  const result = await outbox.attempt(item('1', to.url));
  const tookMs = performance.now() - begun;
  await outbox.sender.close();
  await to.close();
  return { result, tookMs };
}

/** Writes a chunk again and again until the socket is gone. */
function flood(socket: net.Socket, chunk: string): void {
  const bytes = Buffer.from(chunk);
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
    if (!socket.destroyed) socket.once('drain', () => setImmediate(more));
  };
  more();
}

const HEAD = 'HTTP/1.1 200 OK\r\n';

for (const [what, answer, error] of [
  ['hangs', () => {}, 'TIMEOUT'],
  ['drips its headers', drip(HEAD), 'TIMEOUT'],
  ['resets', (socket: net.Socket) => socket.resetAndDestroy(), 'ECONNRESET'],
  ['hangs up', (socket: net.Socket) => socket.end(), 'ECONNRESET'],
  ['hangs up amid the headers', (socket: net.Socket) => socket.end(`${HEAD}A: b\r\n`), 'ECONNRESET'],
  ['talks garbage', (socket: net.Socket) => socket.end('SSH-2.0-OpenSSH_9\r\n'), 'INVALID_RESPONSE'],
  [
    'switches protocols',
    say('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    'INVALID_RESPONSE',
  ],
  ['ends its lines with line feeds', say('HTTP/1.1 200 OK\nContent-Length: 0\n\n'), 'INVALID_RESPONSE'],
  ['ends its head with line feeds', say(`${HEAD}Content-Length: 0\n\n`), 'INVALID_RESPONSE'],
  ['puts a NUL behind spaces', say(`${HEAD}A:${' '.repeat(16_300)}\0\r\n\r\n`), 'INVALID_RESPONSE'],
  ['has a status of two digits', say('HTTP/1.1 99 Low\r\n\r\n'), 'INVALID_RESPONSE'],
  ['sends one huge header', say(`${HEAD}A: ${'x'.repeat(40_000)}\r\n\r\n`), 'INVALID_RESPONSE'],
  ['floods headers', flooding(HEAD, 'A: b\r\n'.repeat(99)), 'INVALID_RESPONSE'],
  ['floods empty lines', (socket: net.Socket) => flood(socket, '\r\n'.repeat(99)), 'INVALID_RESPONSE'],
  ['floods its status line', flooding('HTTP/1.1 200 ', 'k'.repeat(9_999)), 'INVALID_RESPONSE'],
  [
    'floods 1xx',
    (socket: net.Socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(9)),
    'INVALID_RESPONSE',
  ],
  [
    'contradicts itself on the length',
    say(`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`),
    'INVALID_RESPONSE',
  ],
] as const) {
  for (const after of AFTER) {
    test(`a receiver that ${what}${after}: ${error}`, async () => {
      const { result, tookMs } = await resultOf(answer, after);
      assert.is(result.error, error);
      assert.is(result.statusCode, null);
      assert.ok(tookMs < TIMEOUT_MS + 400, `${tookMs}`);
    });
  }
}

for (const [what, answer] of [
  ['drips its body', drip('x'.repeat(500), `${HEAD}Content-Length: 500\r\n\r\n`)],
  ['floods its body', flooding(`${HEAD}\r\n`, 'x'.repeat(9_999))],
  ['floods chunk extensions', flooding(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1;a`, 'x'.repeat(9_999))],
  ['breaks its chunks', say(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`)],
  ['ends too early', (socket: net.Socket) => socket.end(`${HEAD}Content-Length: 500\r\n\r\nx`)],
  ['speaks HTTP/1.0', (socket: net.Socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nbye')],
  ['sends a second response unasked', say(`${HEAD}Content-Length: 0\r\n\r\n`.repeat(2))],
  ['hints first', say(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${HEAD}Content-Length: 0\r\n\r\n`)],
] as const) {
  for (const after of AFTER) {
    test(`the status counts although the receiver ${what}${after}`, async () => {
      const { result, tookMs } = await resultOf(answer, after);
      assert.is(result.statusCode, 200);
      assert.is(result.error, null);
      assert.ok(tookMs < TIMEOUT_MS, `${tookMs}`);
    });
  }
}

for (const after of AFTER) {
  /** How long the receiver's second connection, or its only one, was open; called once it is closed. */
  const heldOpen = async (timeoutMs: number, answer: (socket: net.Socket) => void) => {
    let closed: ((ms: number) => void) | undefined;
    const gone = new Promise<number>((resolve) => {
      closed = resolve;
    });
    const to = await rawReceiver(
      unusualFirst(after, (socket) => {
        const begun = performance.now();
        socket.on('close', () => closed?.(performance.now() - begun));
        answer(socket);
      }),
    );
    const outbox = outboxTo({ timeoutMs });
    await hearUnusual(after, outbox, to.url);
    assert.is((await outbox.attempt(item('1', to.url))).statusCode, 200);
    const heldMs = await gone;
    await outbox.sender.close();
    await to.close();
    return heldMs;
  };

  test(`of a body that is told to be long 64 KiB are read${after}`, async () => {
    let written = 0;
    await heldOpen(60_000, (socket) => {
      socket.write(`${HEAD}Content-Length: 99999999\r\n\r\n`);
      flood(socket, 'x'.repeat(9_999));
      socket.on('close', () => {
        written = socket.bytesWritten;
      });
    });
    assert.ok(written > 64 * 1024, `${written}`);
  });

  test(`a connection is closed at the deadline of a body that drips${after}`, async () => {
    const heldMs = await heldOpen(TIMEOUT_MS, (socket) => {
      socket.write(`${HEAD}Content-Length: 500\r\n\r\n`);
      drip('x'.repeat(500))(socket);
    });
    assert.ok(heldMs > TIMEOUT_MS / 2 && heldMs < TIMEOUT_MS + 200, `${heldMs}`);
  });

  test(`and a second after its status, where that is sooner${after}`, async () => {
    const heldMs = await heldOpen(5_000, (socket) => {
      socket.write(`${HEAD}Content-Length: 500\r\n\r\n`);
      drip('x'.repeat(500))(socket);
    });
    assert.ok(heldMs > 800 && heldMs < 1_400, `${heldMs}`);
  });
}

test('a body that never ends keeps nobody from the places that its answer has left', async () => {
  const to = await rawReceiver((socket) => socket.write(`${HEAD}Content-Length: 500\r\n\r\nx`));
  const outbox = outboxTo({ timeoutMs: 5_000 });
  const begun = performance.now();
  outbox.sender.send(Array.from({ length: 8 }, (_, nth) => item(`${nth}`, to.url)));
  await outbox.until((results) => results.length === 8);
  const tookMs = performance.now() - begun;
  assert.ok(outbox.results.every((result) => result.kind === 'attempted' && result.statusCode === 200));
  assert.ok(tookMs < 2_000, `${tookMs}`);
  await outbox.sender.close();
  await to.close();
});

test('and a receiver whose bodies take longer than that has more and more requests under way', async () => {
  const to = await rawReceiver((socket) => socket.write(`${HEAD}Content-Length: 500\r\n\r\nx`));
  const outbox = outboxTo({ timeoutMs: 5_000 });
  const begun = performance.now();
  outbox.sender.send(Array.from({ length: 28 }, (_, nth) => item(`${nth}`, to.url)));
  await outbox.until((results) => results.length === 28);
  // 4, 8 and 16 at a time: seven seconds by fours.
  const tookMs = performance.now() - begun;
  await outbox.sender.close();
  await to.close();
  assert.ok(tookMs < 3_500, `${tookMs}`);
});

test('of an endless body 64 KiB are read, and then the connection is closed', async () => {
  let closed: (() => void) | undefined;
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const to = await rawReceiver((socket) => {
    socket.on('close', () => closed?.());
    socket.write(`${HEAD}\r\n`);
    flood(socket, 'x'.repeat(9_999));
  });
  const outbox = outboxTo({ timeoutMs: 60_000 });
  await outbox.attempt(item('1', to.url));
  await gone;
  await outbox.sender.close();
  await to.close();
});

test('a dripping body is cut at the deadline', async () => {
  let heldMs = 0;
  const to = await rawReceiver((socket) => {
    const begun = performance.now();
    socket.on('close', () => {
      heldMs = performance.now() - begun;
    });
    socket.write(`${HEAD}Content-Length: 500\r\n\r\n`);
    drip('x'.repeat(500))(socket);
  });
  const outbox = outboxTo();
  await outbox.attempt(item('1', to.url));
  await new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS + 200));
  assert.ok(heldMs > TIMEOUT_MS / 2 && heldMs < TIMEOUT_MS + 200, `${heldMs}`);
  await outbox.sender.close();
  await to.close();
});

test('refused connections and unknown names have their codes', async () => {
  const to = await receiver((response) => response.end());
  await to.close();
  const outbox = outboxTo({ timeoutMs: 5_000 });
  assert.is((await outbox.attempt(item('1', to.url))).error, 'ECONNREFUSED');
  const unknown = await outbox.attempt(item('2', 'http://no-such-name.invalid/hook'));
  assert.ok(['ENOTFOUND', 'EAI_AGAIN'].includes(unknown.error ?? ''), unknown.error ?? '');
  await outbox.sender.close();
});

test('TLS towards a receiver that speaks none fails with a code', async () => {
  const to = await receiver((response) => response.end());
  const outbox = outboxTo({ timeoutMs: 5_000 });
  const { error } = await outbox.attempt(item('1', to.url.replace('http:', 'https:')));
  assert.match(error ?? '', /^(EPROTO|ERR_SSL_[A-Z_0-9]+)$/);
  await outbox.sender.close();
  await to.close();
});

test('a kept-alive connection that the receiver closed is replaced within the attempt', async () => {
  const to = await receiver((response, _seen, nth) => {
    if (nth === 2) response.socket?.destroy();
    else response.end('ok');
  });
  const outbox = outboxTo();
  assert.is((await outbox.attempt(item('1', to.url))).statusCode, 200);
  assert.is((await outbox.attempt(item('2', to.url))).statusCode, 200);
  assert.equal(
    to.seen.map(({ headers }) => headers.get('idempotency-key')),
    ['evt_1', 'evt_2', 'evt_2'],
  );
  await outbox.sender.close();
  await to.close();
});

test('addresses that are not public are never connected to', async () => {
  const to = await receiver((response) => response.end());
  const outbox = outboxTo({ allowPrivate: false, timeoutMs: 5_000 });
  const { port } = new URL(to.url);
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
  ];
  for (const host of hosts) {
    const { error, statusCode } = await outbox.attempt(item(host, `http://${host}:${port}/hook`));
    assert.is(error, 'ADDRESS_NOT_ALLOWED', host);
    assert.is(statusCode, null);
  }
  assert.is(to.seen.length, 0);
  await outbox.sender.close();
  await to.close();
});

function say(text: string) {
  return (socket: net.Socket) => {
    socket.write(text);
  };
}

function flooding(head: string, chunk: string) {
  return (socket: net.Socket) => {
    socket.write(head);
    flood(socket, chunk);
  };
}

function drip(text: string, head = '') {
  return (socket: net.Socket) => {
    let at = 0;
    socket.write(head);
    const timer = setInterval(() => {
      socket.write(text[at] ?? 'x');
      at += 1;
    }, 30);
    socket.on('close', () => clearInterval(timer));
  };
}

test.run();
