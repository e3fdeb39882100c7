import { createHmac } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { retryAfterMs } from '../../../src/webhooks/sender/attempt.ts';
import { item, localSender, Outbox, type Receiver, rawReceiver, receiver, SECRET } from './receivers.ts';

const test = suite('webhook exchange');
const NOW = Date.parse('2026-11-20T12:00:00.500Z');

async function using(
  answer: Parameters<typeof receiver>[0],
  run: (to: Receiver, outbox: Outbox) => Promise<void>,
): Promise<void> {
  const to = await receiver(answer);
  const outbox = new Outbox(localSender({ now: () => NOW }));
  try {
    await run(to, outbox);
  } finally {
    await outbox.sender.close();
    await to.close();
  }
}

test('sends the headers of the contract, to the letter, and the body byte for byte', () =>
  using(
    (response) => response.end(),
    async (to, outbox) => {
      const result = await outbox.attempt(item('1', `${to.url}?a=b`, { eventId: 'evt_abc' }));
      assert.is(result.statusCode, 200);
      assert.is(result.error, null);
      assert.is(result.at, NOW);
      const [seen] = to.seen;
      assert.is(seen?.method, 'POST');
      assert.is(seen?.url, '/hook?a=b');
      assert.is(seen?.body, '{"id":"evt_1","note":"ação"}');
      for (const name of [
        'Content-Type',
        'X-Webhook-Source',
        'X-Transaction-Id',
        'X-Event',
        'Idempotency-Key',
      ]) {
        assert.ok(seen?.names.includes(name), name);
      }
      const value = (name: string) => seen?.headers.get(name);
      assert.is(value('content-type'), 'application/json');
      assert.is(value('x-webhook-source'), 'payments-api');
      assert.is(value('x-transaction-id'), '7d1f5a9e-2c54-4a59-9a3e-0a4f6f1f0c11');
      assert.is(value('x-event'), 'pix-in.paid');
      assert.is(value('idempotency-key'), 'evt_abc');
      assert.is(value('webhook-id'), 'evt_abc');
      assert.is(value('webhook-timestamp'), '1795176000');
      assert.is(value('user-agent'), 'pixstate');
      assert.is(value('content-length'), '30');
    },
  ));

test('dates and signs by a clock that its own is behind or ahead of', () =>
  using(
    (response) => response.end(),
    async (to, outbox) => {
      const url = to.url;
      for (const ahead of [600_000, -600_000]) {
        const { at } = await outbox.attempt(item(`${ahead}`, url, { ahead }));
        assert.is(at, NOW + ahead);
        const seconds = Math.floor((NOW + ahead) / 1_000);
        assert.is(to.seen.at(-1)?.headers.get('webhook-timestamp'), String(seconds));
      }
      const invalid = await outbox.attempt(item('invalid', 'ftp://x', { ahead: 600_000 }));
      assert.is(invalid.at, NOW + 600_000);
    },
  ));

test('signs as Standard Webhooks says, with every secret', () =>
  using(
    (response) => response.end(),
    async (to, outbox) => {
      const other = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
      await outbox.attempt(item('1', to.url, { eventId: 'evt_abc', secrets: [SECRET, other] }));
      const sign = (byte: number, length: number) =>
        createHmac('sha256', Buffer.alloc(length, byte))
          .update('evt_abc.1795176000.{"id":"evt_1","note":"ação"}')
          .digest('base64');
      assert.is(to.seen[0]?.headers.get('webhook-signature'), `v1,${sign(7, 32)} v1,${sign(9, 24)}`);
    },
  ));

for (const status of [200, 202, 204, 299, 400, 404, 410, 500, 503]) {
  test(`reports a ${status} as it is`, () =>
    using(
      (response) => response.writeHead(status, { 'Retry-After': '5' }).end(),
      async (to, outbox) => {
        const result = await outbox.attempt(item('1', to.url));
        assert.is(result.statusCode, status);
        assert.is(result.error, null);
        assert.is(result.retryAfterMs, null);
      },
    ));
}

test('reads Retry-After of a 429 in seconds and as a date', async () => {
  for (const [value, expected] of [
    ['120', 120_000],
    ['Fri, 20 Nov 2026 12:01:00 GMT', 59_500],
    ['soon', null],
  ] as const) {
    await using(
      (response) => response.writeHead(429, { 'Retry-After': value }).end(),
      async (to, outbox) => {
        const result = await outbox.attempt(item('1', to.url));
        assert.is(result.statusCode, 429);
        assert.is(result.retryAfterMs, expected);
      },
    );
  }
});

test('reads every form of Retry-After, and nothing into what is none', () => {
  assert.is(retryAfterMs('0', NOW), 0);
  assert.is(retryAfterMs('Friday, 20-Nov-26 12:01:00 GMT', NOW), 59_500);
  assert.is(retryAfterMs('Fri Nov 20 12:01:00 2026', NOW), 59_500);
  assert.is(retryAfterMs('Fri, 20 Nov 2020 12:01:00 GMT', NOW), 0);
  assert.is(retryAfterMs(['7', '9'], NOW), 7_000);
  for (const none of [undefined, '', '-1', '1.5', '99999999999', '2026-11-20', 'Friday']) {
    assert.is(retryAfterMs(none, NOW), null, String(none));
  }
});

/** Nothing of this thread goes on for so many ms, as where its process is stopped. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('an answer that came in time counts, though the process stood still beyond the deadline', async () => {
  const to = await receiver((response) => {
    response.end();
    standStill(1_000);
  });
  const outbox = new Outbox(localSender({ timeoutMs: 500 }));
  try {
    const { statusCode, error } = await outbox.attempt(item('1', to.url));
    assert.equal([statusCode, error], [200, null]);
  } finally {
    await outbox.sender.close();
    await to.close();
  }
});

test('follows no redirect', async () => {
  const target = await receiver((response) => response.end());
  await using(
    (response) => response.writeHead(307, { Location: target.url }).end(),
    async (to, outbox) => {
      const result = await outbox.attempt(item('1', to.url));
      assert.is(result.statusCode, 307);
      assert.is(target.seen.length, 0);
    },
  );
  await target.close();
});

test('keeps connections alive', async () => {
  const ports = new Set<number | undefined>();
  await using(
    (response) => {
      ports.add(response.socket?.remotePort);
      response.end('ok');
    },
    async (to, outbox) => {
      for (const token of ['1', '2', '3', '4']) await outbox.attempt(item(token, to.url));
      assert.is(ports.size, 1);
    },
  );
});

test('closes one connection of a receiver that tells no length, and keeps the next', () =>
  using(
    (response) => response.writeHead(200).end('ok'),
    async (to, outbox) => {
      for (const token of ['1', '2', '3', '4']) {
        assert.is((await outbox.attempt(item(token, to.url))).statusCode, 200);
      }
      assert.is(to.seen.length, 4);
      assert.is(to.opened, 2);
    },
  ));

test('hears a receiver out that answers in chunks, and has more to do behind its head', async () => {
  let gone = 0;
  const to = await receiver((response) => {
    response.on('close', () => {
      if (!response.writableFinished) gone += 1;
    });
    response.writeHead(200);
    response.flushHeaders();
    setTimeout(() => response.end('done'), 100);
  });
  const outbox = new Outbox(localSender({ idleMs: 50 }));
  for (const token of ['1', '2', '3']) {
    assert.is((await outbox.attempt(item(token, to.url))).statusCode, 200);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  assert.is(gone, 0);
  await outbox.sender.close();
  await to.close();
});

for (const isUnusual of [false, true]) {
  const who = isUnusual ? ', after an unusual answer' : '';
  test(`hears out a body that takes 300 ms, and keeps its connection${who}`, async () => {
    let isFirst = true;
    await using(
      (response) => {
        if (isUnusual && isFirst) response.writeHead(200).end();
        else {
          if (!isUnusual) response.setHeader('Content-Length', 4);
          response.write('do');
          setTimeout(() => response.end('ne'), 300);
        }
        isFirst = false;
      },
      async (to, outbox) => {
        if (isUnusual) await outbox.attempt(item('0', to.url));
        const before = to.opened;
        for (const token of ['1', '2', '3']) {
          assert.is((await outbox.attempt(item(token, to.url))).statusCode, 200);
          await new Promise((resolve) => setTimeout(resolve, 900));
        }
        assert.is(to.opened, before + 1);
      },
    );
  });
}

test('a body that comes although there is none is no answer to what is asked next', () =>
  using(
    (response, _seen, nth) => {
      response.socket?.write('HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n');
      setTimeout(() => response.socket?.write(nth % 2 === 0 ? 'ok' : 'HTTP/1.1 201 Made\r\n\r\n'), 2);
    },
    async (to, outbox) => {
      outbox.sender.send(Array.from({ length: 40 }, (_, index) => item(`t${index}`, to.url)));
      await outbox.until((results) => results.length === 40);
      const statuses = outbox.results.map((result) => result.kind === 'attempted' && result.statusCode);
      assert.equal(new Set(statuses), new Set([204]));
    },
  ));

test('what is sent unasked behind a response is no answer to what is asked next', async () => {
  const head = (length: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`;
  // The first response is as long as what is read at once.
  const length = 65_536 - head(65_000).length;
  const to = await rawReceiver((socket) => {
    socket.write(`${head(length)}${'x'.repeat(length)}HTTP/1.1 250 Unasked\r\nContent-Length: 0\r\n\r\n`);
  });
  const outbox = new Outbox(localSender({ maxInFlight: 1 }));
  outbox.sender.send(['1', '2', '3'].map((token) => item(token, to.url)));
  await outbox.until((results) => results.length === 3);
  const statuses = outbox.results.map((result) => result.kind === 'attempted' && result.statusCode);
  assert.equal(statuses, [200, 200, 200]);
  assert.is(to.opened, 3);
  await outbox.sender.close();
  await to.close();
});

test('sends the same bytes whoever speaks', async () => {
  const sent: string[] = [];
  for (const isUnusual of [false, true]) {
    await using(
      (response, { method, url, headers, names, body }) => {
        headers.delete('host');
        sent.push(JSON.stringify([method, url, [...headers], names, body]));
        if (isUnusual) response.writeHead(200);
        response.end();
      },
      async (to, outbox) => {
        const send = (token: string) => outbox.attempt(item(token, to.url, { eventId: 'evt_abc' }));
        await send('1');
        await send('2');
      },
    );
  }
  assert.is(sent.length, 4);
  assert.is(new Set(sent).size, 1);
});

test('uses no connection again that a receiver wants closed', () =>
  using(
    (response) => {
      response.setHeader('Connection', 'close');
      response.end('ok');
    },
    async (to, outbox) => {
      for (const token of ['1', '2', '3']) await outbox.attempt(item(token, to.url));
      assert.is(to.seen.length, 3);
      assert.is(to.opened, 3);
    },
  ));

test('takes nothing for an answer that was sent before it asked', async () => {
  const to = await rawReceiver((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`);
    setTimeout(() => socket.write(`HTTP/1.1 500 Unasked\r\nContent-Length: 0\r\n\r\n`), 50);
  });
  const outbox = new Outbox(localSender({}));
  for (const token of ['1', '2', '3']) {
    assert.is((await outbox.attempt(item(token, to.url))).statusCode, 200, token);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(to.open, 0);
  }
  assert.is(to.opened, 3);
  await outbox.sender.close();
  await to.close();
});

test('closes what idles after seconds, though its receiver is still sent to', async () => {
  const to = await receiver((response) => response.end());
  const outbox = new Outbox(localSender({ idleMs: 60_000 }));
  outbox.sender.send(['1', '2', '3', '4'].map((token) => item(token, to.url)));
  await outbox.until((results) => results.length === 4);
  assert.is(to.open, 4);
  for (let second = 5; second <= 11; second += 1) {
    await outbox.attempt(item(String(second), to.url));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  assert.is(to.open, 1);
  assert.is(to.opened, 4);
  await outbox.sender.close();
  await to.close();
});

test('counts what is in flight and reports each item once', () =>
  using(
    (response) => response.end('ok'),
    async (to, outbox) => {
      const items = Array.from({ length: 300 }, (_, index) => item(`t${index}`, to.url));
      outbox.sender.send(items);
      assert.is(outbox.sender.inFlight, 300);
      await outbox.until((results) => results.length === 300);
      assert.is(outbox.sender.inFlight, 0);
      assert.is(new Set(outbox.results.map(({ token }) => token)).size, 300);
      assert.ok(outbox.results.every((result) => result.kind === 'attempted' && result.statusCode === 200));
    },
  ));

test('fails an item that can not be sent without touching others', () =>
  using(
    (response) => response.end(),
    async (to, outbox) => {
      outbox.sender.send([
        item('url', 'not a url'),
        item('scheme', 'ftp://127.0.0.1/'),
        item('header', to.url, { event: 'pix-in.paid\r\nX-Evil: 1' }),
        item('secret', to.url, { secrets: ['whsec_'] }),
        item('good', to.url),
      ]);
      await outbox.until((results) => results.length === 5);
      const errors = outbox.results.map((result) => [
        result.token,
        result.kind === 'attempted' && result.error,
      ]);
      assert.equal(Object.fromEntries(errors), {
        url: 'INVALID_URL',
        scheme: 'INVALID_URL',
        header: 'INVALID_REQUEST',
        secret: 'INVALID_REQUEST',
        good: null,
      });
      assert.is(to.seen.length, 1);
    },
  ));

test.run();
