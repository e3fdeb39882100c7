/** Receivers of webhooks that misbehave: they cost their own account time, and nobody else anything. */
import { createServer, type Socket, type Server as SocketServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Merchant, merchant } from '../support/client.ts';
import { charge, deliveries } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { eachOf, sleep, until } from '../support/wait.ts';
import { expectVerified, inTime, MOST_MORE_BYTES, residentBytes, withServer } from './scene.ts';

const test = suite('receivers');

/** A first attempt is made at once; the rest is for a busy machine. */
const FIRST_ATTEMPT_MS = 2_000;

type Manner = (socket: Socket, stillOpen: () => boolean) => void;

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

async function drip(socket: Socket, stillOpen: () => boolean): Promise<void> {
  for (const letter of `${HEAD}X-Slow: ${'x'.repeat(200)}`) {
    if (!stillOpen()) return;
    socket.write(letter);
    await sleep(200);
  }
}

function flood(socket: Socket, stillOpen: () => boolean): void {
  const block = Buffer.alloc(64 * 1024, 'x');
  const pour = (): void => {
    while (stillOpen() && socket.write(block));
  };
  socket.write(`${HEAD}Transfer-Encoding: identity\r\n\r\n`);
  socket.on('drain', pour);
  pour();
}

const MANNERS: Record<string, Manner> = {
  hangs: () => {},
  drips: (socket, stillOpen) => void drip(socket, stillOpen),
  floods: flood,
  'never ends its headers': (socket, stillOpen) => {
    const line = `X-More: ${'y'.repeat(1_000)}\r\n`;
    const pour = (): void => {
      while (stillOpen() && socket.write(line));
    };
    socket.write(HEAD);
    socket.on('drain', pour);
    pour();
  },
  redirects: (socket) => {
    socket.end(
      'HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    );
  },
  resets: (socket) => {
    socket.resetAndDestroy();
  },
  'talks nonsense': (socket) => {
    socket.end('220 mail.example.com ESMTP ready\r\n');
  },
};

interface Rude {
  url: string;
  close(): Promise<void>;
}

/** A receiver that answers each request in its manner. */
async function startRude(manner: Manner): Promise<Rude> {
  const sockets = new Set<Socket>();
  const server: SocketServer = createServer((socket) => {
    sockets.add(socket);
    let asked = false;
    const stillOpen = (): boolean => sockets.has(socket) && socket.writable;
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', () => {
      if (!asked) manner(socket, stillOpen);
      asked = true;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function rudeAccount(server: Server, rude: Rude): Promise<Merchant> {
  return merchant(server, ['--webhook-url', rude.url]);
}

test('that hang, drip, flood, redirect, reset: another account gets its events at once', async () => {
  const rude = await Promise.all(Object.values(MANNERS).map(startRude));
  const receiver = await startReceiver();
  try {
    await withServer({}, async (server) => {
      const [polite, ...others] = await Promise.all([
        merchant(server, ['--webhook-url', receiver.url('/hook')]),
        ...rude.map((one) => rudeAccount(server, one)),
      ]);
      const before = residentBytes(server.pid);
      await eachOf(others, 3, async (client) => {
        await eachOf(
          Array.from({ length: 150 }, (_, n) => n),
          16,
          async () => {
            await charge(client);
          },
        );
      });
      for (let n = 0; n < 10; n += 1) {
        const id = text(await charge(polite), 'id');
        const arrived = receiver.waitFor(({ headers }) => headers['x-transaction-id'] === id, 10_000);
        await inTime(FIRST_ATTEMPT_MS, 'the first attempt of another account', arrived);
        await sleep(200);
      }
      const after = residentBytes(server.pid);
      if (before !== null && after !== null) {
        assert.ok(after - before < MOST_MORE_BYTES, `${Math.round((after - before) / 1e6)} MB more`);
      }
      assert.is(receiver.at('/hook').length, 10, 'something came twice, or from elsewhere');
      await expectVerified(server);
    });
  } finally {
    await Promise.all([...rude.map((one) => one.close()), receiver.close()]);
  }
});

test('what a misbehaving receiver did is told in the history', async () => {
  const told: Record<string, { manner: Manner; statusCode: number | null; status: string[] }> = {
    redirects: { manner: MANNERS.redirects ?? (() => {}), statusCode: 302, status: ['rejected'] },
    floods: { manner: flood, statusCode: 200, status: ['delivered'] },
    resets: {
      manner: MANNERS.resets ?? (() => {}),
      statusCode: null,
      status: ['retrying', 'dead'],
    },
    nonsense: {
      manner: MANNERS['talks nonsense'] ?? (() => {}),
      statusCode: null,
      status: ['retrying', 'dead'],
    },
  };
  await withServer({}, async (server) => {
    await Promise.all(
      Object.entries(told).map(async ([name, { manner, statusCode, status }]) => {
        const rude = await startRude(manner);
        try {
          const client = await rudeAccount(server, rude);
          const id = text(await charge(client), 'id');
          const delivery = await until(
            async () => {
              const [first] = await deliveries(client, id);
              return first !== undefined && list(first, 'attempts').length > 0 && first;
            },
            10_000,
            `an attempt at a receiver that ${name}`,
          );
          assert.is(at(delivery, 'attempts.0.statusCode'), statusCode, name);
          assert.ok(status.includes(text(delivery, 'status')), `${name}: ${text(delivery, 'status')}`);
          if (statusCode === null) assert.ok(text(delivery, 'attempts.0.error').length > 0, name);
        } finally {
          await rude.close();
        }
      }),
    );
  });
});

test('an hour of retries behind it, a receiver that comes back gets what it missed', async () => {
  const receiver = await startReceiver();
  let up = false;
  receiver.answer('/hook', () => ({ status: up ? 200 : 503 }));
  try {
    await withServer({}, async (server) => {
      const client = await merchant(server, ['--webhook-url', receiver.url('/hook')]);
      const ids = await Promise.all(
        Array.from({ length: 50 }, async () => text(await charge(client, 10_001), 'id')),
      );
      await receiver.waitForCount('/hook', 100, 10_000);
      up = true;
      const confirmed = (): Set<string> =>
        new Set(
          receiver.requests
            .filter(({ status }) => status === 200)
            .map(({ headers }) => `${headers['x-transaction-id']} ${headers['x-event']}`),
        );
      await until(
        () => {
          const events = confirmed();
          return ids.every(
            (id) => events.has(`${id} pix-in.waiting_payment`) && events.has(`${id} pix-in.paid`),
          );
        },
        15_000,
        'every event at the receiver',
      );
      await expectVerified(server);
    });
  } finally {
    await receiver.close();
  }
});

test.run();
