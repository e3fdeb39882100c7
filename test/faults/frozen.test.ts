import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fetchReply, type Merchant, merchant, type Reply } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { askTransfer, charge, reaches, tell } from '../support/flows.ts';
import { at, text } from '../support/json.ts';
import { endWithin } from '../support/process.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { expectVerified, frozenWriter, RESUMED_MS, withServer } from './scene.ts';

const test = suite('frozen');

/** A write that waits for 5 s ends in 503. */
const WAITS_MS = 5_000;
/** What a busy machine may add to it. */
const SLACK_MS = 5_000;

interface Timed {
  reply: Reply;
  elapsedMs: number;
}

async function timed(ask: Promise<Reply>): Promise<Timed> {
  const started = performance.now();
  const reply = await ask;
  return { reply, elapsedMs: performance.now() - started };
}

function expectUnavailable({ reply, elapsedMs }: Timed): void {
  expectError(reply, 503, 'SERVICE_UNAVAILABLE');
  assert.match(reply.headers['retry-after'] ?? '', /^\d+$/);
  assert.ok(elapsedMs <= WAITS_MS + SLACK_MS, `503 came after ${elapsedMs} ms`);
}

async function readiness(server: Server): Promise<number> {
  return (await fetchReply('GET', `${server.root}/readyz`)).status;
}

async function expectGoesOn(server: Server, client: Merchant): Promise<void> {
  await until(async () => (await readiness(server)) === 200, RESUMED_MS, 'readiness');
  const { id } = (await charge(client, 10_001)) as { id: string };
  await reaches(client, 'pix-in', id, 'paid', RESUMED_MS);
}

test('a writer that is frozen inside a transaction: 503 after 5 s, reads answer, all goes on after it', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', '1000000', '--expires-in', '1']);
    const waiting = text(await charge(client), 'id');
    const asked = text(await charge(client), 'id');
    const writer = await frozenWriter(server);
    try {
      const transfer = () => askTransfer(client, 1_001, { idempotencyKey: 'while it was frozen' });
      const [first, told, other] = await Promise.all([
        timed(transfer()),
        timed(tell(client, asked, 'PAY', undefined, 'told while it was frozen')),
        timed(client.post('/pix-in', { amount: 10_007 })),
      ]);
      for (const answer of [first, told, other]) {
        expectUnavailable(answer);
        assert.ok(answer.elapsedMs >= WAITS_MS - 500, `503 came after ${answer.elapsedMs} ms already`);
      }
      assert.is(await readiness(server), 503);
      // What comes now needn't wait as long again.
      const later = await Promise.all(Array.from({ length: 20 }, () => timed(transfer())));
      for (const answer of later) expectUnavailable(answer);

      const balance = await timed(client.get('/balance'));
      expectStatus(balance.reply, 200);
      const seen = await timed(client.get(`/pix-in?id=${waiting}`));
      expectStatus(seen.reply, 200);
      expectStatus(await client.get(`/webhooks?transactionId=${waiting}`), 200);
      assert.ok(Math.max(balance.elapsedMs, seen.elapsedMs) <= 2_000, 'reads wait for the writer');
      assert.is((await fetchReply('GET', `${server.root}/livez`)).status, 200);
    } finally {
      writer.child.kill('SIGCONT');
    }
    assert.is((await endWithin(writer, 10_000)).code, 0);
    await expectGoesOn(server, client);

    // The timer that came due meanwhile, and the one outcome of what was asked for many times.
    await reaches(client, 'pix-in', waiting, 'expired', RESUMED_MS);
    const again = await askTransfer(client, 1_001, { idempotencyKey: 'while it was frozen' });
    assert.ok(again.status === 201 || again.status === 409, again.text);
    const id = text(again.body, again.status === 201 ? 'id' : 'transactionId');
    await reaches(client, 'cashout', id, 'completed', RESUMED_MS);
    const repeated = await tell(client, asked, 'PAY', undefined, 'told while it was frozen');
    if (repeated.status === 409) await reaches(client, 'pix-in', asked, 'expired', RESUMED_MS);
    else assert.is(at(expectStatus(repeated, 200), 'status'), 'paid');
    const credits = repeated.status === 409 ? 9_901 : 9_901 + 9_900;
    assert.is(await client.balance(), 1_000_000 + credits - 1_051);
    await expectVerified(server);
  });
});

test('a frozen writer that is killed is no obstacle: the lock is taken over', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server);
    const writer = await frozenWriter(server);
    const asked = charge(client, 10_007);
    writer.child.kill('SIGKILL');
    await writer.ended;
    await asked;
    await expectGoesOn(server, client);
    await expectVerified(server);
  });
});

test.run();
