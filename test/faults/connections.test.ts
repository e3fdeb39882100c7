import type { Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { charge, validCpf } from '../support/flows.ts';
import { type JsonObject, text } from '../support/json.ts';
import { sleep } from '../support/wait.ts';
import { answersOn, openSocket, requestText } from './pipeline.ts';
import { expectVerified, inTime, withServer } from './scene.ts';

const test = suite('connections');

/** Another client's request is answered within this on a machine with much else to do. */
const PROMPT_MS = 2_000;

function transferBody(amount: number, more: JsonObject = {}): JsonObject {
  return { amount, pix: { pixKeyType: 'CPF', pixKey: validCpf }, ...more };
}

test('clients that send by halves, or leave in the middle, hold up nobody', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', '10000000']);
    const whole = requestText(client, 'POST', '/cashout', transferBody(1_007, { idempotencyKey: 'halves' }));
    const halves = [whole.slice(0, 40), whole.slice(0, whole.indexOf('\r\n\r\n') + 2), whole.slice(0, -10)];
    const open: Socket[] = [];
    try {
      for (let n = 0; n < 150; n += 1) {
        const socket = await openSocket(server.port);
        socket.write(halves[n % halves.length] ?? '');
        open.push(socket);
      }
      for (let n = 0; n < 20; n += 1) await inTime(PROMPT_MS, 'a charge beside them', charge(client));

      // Some leave before their request is whole, some right after it, some in the middle of its answer.
      for (const socket of open.slice(0, 75)) socket.resetAndDestroy();
      for (let n = 0; n < 50; n += 1) {
        const socket = await openSocket(server.port);
        const body = transferBody(1_007, { idempotencyKey: `left ${n}` });
        socket.write(requestText(client, 'POST', '/cashout', body), () => {
          if (n % 2 === 0) socket.resetAndDestroy();
          else socket.destroy();
        });
      }
      await inTime(PROMPT_MS, 'a charge after them', charge(client));
    } finally {
      for (const socket of open) socket.destroy();
    }
    // Whoever left has a transfer or none, and learns which by asking again.
    const again = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        client.post('/cashout', transferBody(1_007, { idempotencyKey: `left ${n}` })),
      ),
    );
    for (const { status } of again) assert.ok(status === 201 || status === 409, `got ${status}`);
    assert.is(await client.balance(), 10_000_000 - 50 * 1_057);
    await expectVerified(server);
  });
});

test('SIGTERM with 200 idle connections: requests in flight are answered, and it ends with 0 within 10 s', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const idle = await Promise.all(Array.from({ length: 200 }, () => openSocket(server.port)));
    const busy = await Promise.all(Array.from({ length: 20 }, () => openSocket(server.port)));
    try {
      await Promise.all(
        idle.map(async (socket) => {
          const answered = answersOn(socket, 1, 10_000);
          socket.write(requestText(client, 'GET', '/balance'));
          return answered;
        }),
      );
      const request = requestText(client, 'POST', '/pix-in', { amount: 10_000 });
      for (const socket of busy) socket.write(request.slice(0, -5));
      await inTime(PROMPT_MS, 'an answer beside them', client.balance());
      // Now the server has read what was sent so far: these requests are in flight.
      await sleep(300);
      const answers = busy.map((socket) => answersOn(socket, 1, 9_000));
      const started = performance.now();
      const terminated = server.terminate();
      for (const socket of busy) socket.write(request.slice(-5));
      const ends = await Promise.all(answers);
      assert.is(await terminated, 0);
      const elapsedMs = performance.now() - started;
      assert.ok(elapsedMs <= 10_000, `it took ${elapsedMs} ms`);
      await server.restart();
      for (const { status, body } of ends.flat()) {
        assert.ok(status === 201 || status === 503, `got ${status}`);
        if (status === 201) expectStatus(await client.get(`/pix-in?id=${text(body, 'id')}`), 200);
      }
    } finally {
      for (const socket of [...idle, ...busy]) socket.destroy();
    }
    await expectVerified(server);
  });
});

test.run();
