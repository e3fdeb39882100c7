import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { merchant } from '../support/client.ts';
import { expectStatus } from '../support/expect.ts';
import { validCpf } from '../support/flows.ts';
import { type JsonObject, list, text, whole } from '../support/json.ts';
import { type Answer, pipelined, requestText } from './pipeline.ts';
import { expectVerified, MOST_MORE_BYTES, residentBytes, withServer } from './scene.ts';

const test = suite('overload');

function transferBody(amount: number, more: JsonObject = {}): JsonObject {
  return { amount, pix: { pixKeyType: 'CPF', pixKey: validCpf }, ...more };
}

function withStatus(answers: readonly Answer[], status: number): Answer[] {
  return answers.filter((answer) => answer.status === status);
}

test('a thousand requests with one key at once: one transfer, 999 are told of it, one debit', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', '1000000']);
    const body = transferBody(1_007, { idempotencyKey: 'one for all' });
    const requests = Array.from({ length: 1_000 }, () => requestText(client, 'POST', '/cashout', body));
    const answers = await pipelined(server.port, requests, 100);
    const [created, ...others] = withStatus(answers, 201);
    assert.ok(created !== undefined, 'nobody got a 201');
    assert.is(others.length, 0, 'more than one 201');
    const duplicates = withStatus(answers, 409);
    assert.is(duplicates.length, 999, [...new Set(answers.map(({ status }) => status))].join());
    const ids = new Set(duplicates.map(({ body }) => text(body, 'transactionId')));
    assert.equal([...ids], [text(created.body, 'id')]);
    assert.is(await client.balance(), 1_000_000 - 1_057);
    await expectVerified(server);
  });
});

test('300 transfers at once over a balance for 100: 100 are accepted, and it never goes below zero', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', String(100 * 1_057 + 1_056)]);
    const requests = Array.from({ length: 300 }, (_, n) => [
      requestText(client, 'POST', '/cashout', transferBody(1_007, { idempotencyKey: `racer ${n}` })),
      requestText(client, 'GET', '/balance'),
    ]).flat();
    const answers = await pipelined(server.port, requests, 60);
    assert.is(withStatus(answers, 201).length, 100);
    const refused = withStatus(answers, 400);
    assert.is(refused.length, 200);
    assert.equal([...new Set(refused.map(({ body }) => text(body, 'error')))], ['INSUFFICIENT_BALANCE']);
    const balances = withStatus(answers, 200).map(({ body }) => whole(body, 'balance'));
    assert.is(balances.length, 300);
    assert.ok(Math.min(...balances) >= 0, 'the balance went below zero');
    assert.is(await client.balance(), 1_056);
    await expectVerified(server);
  });
});

test('more than the rate of one account: what passes is bounded, the rest gets 429, others are not held up', async () => {
  await withServer({}, async (server) => {
    const [client, other] = await Promise.all([merchant(server), merchant(server)]);
    const requests = Array.from({ length: 25_000 }, () => requestText(client, 'GET', '/balance'));
    const started = performance.now();
    const burst = pipelined(server.port, requests, 200, 30_000);
    const beside = await Promise.all(Array.from({ length: 5 }, () => other.get('/balance')));
    for (const reply of beside) expectStatus(reply, 200);
    const answers = await burst;
    const elapsedS = (performance.now() - started) / 1_000;
    const passed = withStatus(answers, 200);
    const limited = withStatus(answers, 429);
    assert.is(passed.length + limited.length, requests.length);
    assert.ok(passed.length <= 5_000 + 10_000 * elapsedS + 1, `${passed.length} in ${elapsedS} s`);
    for (const { headers, body } of limited) {
      assert.is(text(body, 'error'), 'RATE_LIMITED');
      assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/);
    }
    for (const { headers } of answers) {
      assert.match(headers.ratelimit ?? '', /r=\d+/);
      assert.match(headers['ratelimit-policy'] ?? '', /q=10000;w=1/);
    }
    expectStatus(await client.get('/balance'), 200);
  });
});

test('a mailbox takes the whole burst of an account', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const before = residentBytes(server.pid);
    const request = requestText(client, 'POST', '/pix-in', { amount: 10_000 });
    const answers = await pipelined(
      server.port,
      Array.from({ length: 5_000 }, () => request),
      100,
    );
    assert.is(withStatus(answers, 201).length, 5_000);
    const after = residentBytes(server.pid);
    if (before !== null && after !== null) {
      assert.ok(after - before < MOST_MORE_BYTES, `${Math.round((after - before) / 1e6)} MB more`);
    }
    const ids = new Set(answers.map(({ body }) => text(body, 'id')));
    assert.is(ids.size, 5_000);
    assert.is(list((await client.get(`/webhooks?transactionId=${[...ids][0]}`)).body, 'data').length, 0);
  });
});

test.run();
