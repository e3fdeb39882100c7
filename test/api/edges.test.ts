/** What only another configuration shows, and the 29 seconds. */
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answersOn, openSocket, requestText } from '../faults/pipeline.ts';
import { cli } from '../support/cli.ts';
import { basic, merchant, raw } from '../support/client.ts';
import { validCpf } from '../support/flows.ts';
import { whole } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const s = suite('edges');

s(
  'an IPv4-mapped address counts as its IPv4 address, and CHARGE_EXPIRY_S is the last word on expiry',
  async () => {
    const server = await startServer({ env: { HOST: '::', CHARGE_EXPIRY_S: '1' } });
    try {
      const client = await merchant(server);
      const created = await client.post('/pix-in', { amount: 1_000 });
      assert.is(created.status, 201);
      const { id, createdAt, expiresAt } = created.body as Record<string, string>;
      assert.is(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? ''), 1_000);
      const status = async () => ((await client.get(`/pix-in?id=${id}`)).body as { status: string }).status;
      await until(async () => (await status()) === 'expired', 5_000, 'the expiry');
    } finally {
      await server.stop();
    }
  },
);

const hangul = '\u1112\u1161\u11ab'.repeat(255);

s('255 code points after NFC may be thousands of bytes, in every key', async () => {
  const server = await startServer();
  try {
    const client = await merchant(server, ['--balance', '100000']);
    const charge = { amount: 1_000, externalRef: hangul };
    const { id } = (await client.post('/pix-in', charge)).body as { id: string };
    const found = await client.get(`/pix-in?externalRef=${encodeURIComponent(hangul)}`);
    assert.is((found.body as { id: string }).id, id);
    const transfer = { amount: 100, idempotencyKey: hangul, pix: { pixKeyType: 'EMAIL', pixKey: 'a@b.com' } };
    const first = await client.post('/cashout', transfer);
    assert.is(first.status, 201);
    const again = await client.post('/cashout', transfer);
    assert.equal(
      [again.status, (again.body as { transactionId: string }).transactionId],
      [409, (first.body as { id: string }).id],
    );
    assert.is((await client.get(`/pix-in?externalRef=${'x'.repeat(9_000)}`)).status, 404);
    const nobody = await client.request('GET', '/balance', undefined, {
      authorization: basic('c'.repeat(5_000), 's'),
    });
    assert.equal([nobody.status, (nobody.body as { error: string }).error], [401, 'INVALID_CREDENTIALS']);
    const adjusted = await cli(server, [
      'account',
      'adjust',
      client.accountId,
      '1',
      '--reason',
      'x',
      '--id',
      hangul,
    ]);
    assert.is(adjusted.code, 0);
  } finally {
    await server.stop();
  }
});

s('a charge with a customer that is paid without a payer decides the same again', async () => {
  const server = await startServer();
  try {
    const client = await merchant(server);
    const charge = { amount: 1_000, customer: { name: 'Zé', phone: '+5511987654321' } };
    const { id } = (await client.post('/pix-in', charge)).body as { id: string };
    assert.is((await client.post(`/sandbox/pix-in/${id}/pay`, {})).status, 200);
    const wrong = await client.post(`/sandbox/pix-in/${id}/pay`, { endToEndId: 'E1' });
    assert.is((wrong.body as { details: { field: string }[] }).details[0]?.field, 'endToEndId');
    const refund = await client.post(`/sandbox/transactions/${id}/messages`, {
      type: 'REFUND',
      id: '3',
      data: { amount: null },
    });
    assert.is((refund.body as { applied: boolean }).applied, true);
    const again = await client.post(`/sandbox/transactions/${id}/messages`, { type: 'REFUND', id: '3' });
    assert.is((again.body as { applied: boolean }).applied, false);
    const other = { type: 'REFUND', id: '3', data: { reason: 5 } };
    assert.is((await client.post(`/sandbox/transactions/${id}/messages`, other)).status, 409);
    assert.is((await cli(server, ['verify', '--decide', '--json'])).code, 0);
  } finally {
    await server.stop();
  }
});

s('a retry sends the same bytes, whatever the order in which they were given', async () => {
  const receiver = await startReceiver();
  receiver.answer('/hook', (nth) => ({ status: nth <= 2 ? 500 : 200 }));
  const server = await startServer();
  try {
    const client = await merchant(server, ['--webhook-url', receiver.url('/hook')]);
    const metadata = { b: 1, a: 'x', 10: true, 9: false };
    const customer = {
      phone: '+5511987654321',
      name: 'Zé',
      document: { type: 'CPF', number: '12345678909' },
    };
    await client.post('/pix-in', { amount: 1_000, metadata, customer });
    await until(() => receiver.requests.length >= 3, 10_000, 'three attempts');
    const bodies = receiver.requests.map(({ rawBody }) => rawBody.toString());
    assert.is(new Set(bodies).size, 1, bodies.join('\n'));
  } finally {
    await server.stop();
    await receiver.close();
  }
});

s('what node would answer by itself has the error object and a request id', async () => {
  const server = await startServer();
  try {
    const noHost = await raw(server.port, 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n');
    assert.match(noHost, /^HTTP\/1\.1 200 /);
    for (const [request, status] of [
      ['GET /livez HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n', 400],
      ['CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
      ['GET /livez HTTP/1.1\r\nbroken header\r\n\r\n', 400],
    ] as const) {
      const answer = await raw(server.port, request);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(answer, /x-request-id: \S+/i);
      assert.match(answer, /"error":"[A-Z_]+"/);
    }
  } finally {
    await server.stop();
  }
});

s('a request that takes 29 seconds is told so, and what it wanted is dropped', async () => {
  const server = await startServer();
  try {
    const client = await merchant(server, ['--balance', '100000']);
    const transfer = { amount: 1_007, idempotencyKey: 'late', pix: { pixKeyType: 'CPF', pixKey: validCpf } };
    const request = requestText(client, 'POST', '/cashout', transfer);
    const socket = await openSocket(server.port);
    const answers = answersOn(socket, 2, 40_000);
    const started = performance.now();
    socket.write(request.slice(0, -5));
    socket.once('data', () => socket.write(request.slice(-5) + requestText(client, 'GET', '/balance')));
    const [late, balance] = await answers;
    const seconds = (performance.now() - started) / 1_000;
    assert.equal(
      [late?.status, late?.body],
      [504, { error: 'TIMEOUT', message: 'The request took too long. A repeat with the same key is safe.' }],
    );
    assert.ok(seconds >= 29 && seconds < 35, `after ${seconds} s`);
    assert.is(whole(balance?.body ?? null, 'balance'), 100_000);
    // Nothing holds the key: a repeat is the first.
    assert.is((await client.post('/cashout', transfer)).status, 201);
    socket.destroy();
  } finally {
    await server.stop();
  }
});

s(
  'a request that is answered before its body has come gets no second answer where the rest is no HTTP',
  async () => {
    const server = await startServer();
    try {
      const socket = await openSocket(server.port);
      const ended = once(socket, 'end');
      let text = '';
      socket.on('data', (chunk: Buffer | string) => {
        text += chunk.toString();
      });
      const first = answersOn(socket, 1, 10_000);
      socket.write('POST /v1/pix-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
      assert.is((await first)[0]?.status, 401);
      socket.write('no chunk\r\n');
      await ended;
      assert.equal(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 401']);
      socket.destroy();
    } finally {
      await server.stop();
    }
  },
);

s.run();
