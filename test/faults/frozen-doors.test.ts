/** What else waits for the store: the bank's callbacks, readiness without a request, the end of the server. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fetchReply, merchant, type Reply } from '../support/client.ts';
import { expectError } from '../support/expect.ts';
import { askTransfer, charge, newEndToEndId } from '../support/flows.ts';
import { at, type JsonObject, text } from '../support/json.ts';
import { endWithin } from '../support/process.ts';
import { callbackSecret } from '../support/signature.ts';
import { until } from '../support/wait.ts';
import { attentionOf, callBack, expectVerified, frozenWriter, inTime, withServer } from './scene.ts';

const test = suite('doors of a server whose store is frozen');

/** A write that waits for 5 s ends in 503; the rest is for a busy machine. */
const ANSWERED_MS = 10_000;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function payment(transactionId: string): JsonObject {
  const data = { endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() };
  return { id: `payment of ${transactionId}`, transactionId, type: 'PAY', data };
}

/** Not taken now: as a result, or as the whole answer. */
function expectLater(reply: Reply): void {
  if (reply.status === 200) assert.is(at(reply.body, '0.result'), 'later', reply.text);
  else expectError(reply, 503, 'SERVICE_UNAVAILABLE');
}

test('callbacks: what is known and what is not are both answered in time, and taken later', async () => {
  await withServer({ env: { BANK_CALLBACK_SECRET: callbackSecret } }, async (server) => {
    const client = await merchant(server);
    const known = payment(text(await charge(client), 'id'));
    const unknown = payment('00000000-0000-4000-8000-000000000000');
    const writer = await frozenWriter(server);
    try {
      const answers = await Promise.allSettled([
        inTime(ANSWERED_MS, 'the answer on a known transaction', callBack(server.root, [known])),
        inTime(ANSWERED_MS, 'the answer on an unknown one', callBack(server.root, [unknown])),
      ]);
      for (const answer of answers) {
        if (answer.status === 'rejected') throw answer.reason;
        expectLater(answer.value);
      }
    } finally {
      writer.child.kill('SIGCONT');
      await endWithin(writer, 10_000);
    }
    const again = await callBack(server.root, [known, unknown]);
    assert.ok(['applied', 'duplicate'].includes(text(again.body, '0.result')), again.text);
    assert.is(text(again.body, '1.result'), 'unknown');
    assert.is((await attentionOf(server, 'unknown')).length, 1);
    assert.is(await client.balance(), 9_900);
    await expectVerified(server);
  });
});

test('readiness goes though nobody asks for anything, and comes back', async () => {
  await withServer({}, async (server) => {
    const status = async (): Promise<number> => (await fetchReply('GET', `${server.root}/readyz`)).status;
    const writer = await frozenWriter(server);
    try {
      await until(async () => (await status()) === 503, ANSWERED_MS, 'readiness 503');
    } finally {
      writer.child.kill('SIGCONT');
      await endWithin(writer, 10_000);
    }
    await until(async () => (await status()) === 200, 5_000, 'readiness 200');
  });
});

test('SIGTERM while a writer is frozen: the server ends within 10 s, and nothing is half', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', '1000000']);
    const writer = await frozenWriter(server);
    try {
      const asked = askTransfer(client, 1_001, { idempotencyKey: 'at the end' }).catch(() => null);
      await until(async () => (await client.get('/balance')).status === 200, 2_000);
      process.kill(server.pid, 'SIGTERM');
      await until(() => !isAlive(server.pid), 10_000, 'the end of the server');
      const answer = await asked;
      assert.is.not(answer?.status, 201, 'answered before it was durable');
    } finally {
      writer.child.kill('SIGCONT');
      await server.kill();
    }
    await endWithin(writer, 10_000);
    await server.restart();
    const again = await askTransfer(client, 1_001, { idempotencyKey: 'at the end' });
    assert.ok(again.status === 201 || again.status === 409, again.text);
    assert.is(await client.balance(), 1_000_000 - 1_051);
    await expectVerified(server);
  });
});

test.run();
