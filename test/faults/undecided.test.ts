/** A message of the bank's that throws where it is decided: the real application, over HTTP. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Directory } from '../../src/accounts/directory.ts';
import { createApp } from '../../src/api/app.ts';
import { adjust } from '../../src/engine/payments.ts';
import { listen } from '../../src/server/http.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { callbackSecret, sign } from '../support/signature.ts';
import { openAccount, openProcess, type Process, type SetClock, seal, TestBank } from './in-process.ts';

const test = suite('undecided');

/** Cents; one more payment of `AMOUNT` is more than a number holds exactly. */
const FULL = 9_007_199_254_000_000;
const AMOUNT = 999_999_999_900;

interface Scene {
  process: Process;
  clock: SetClock;
  failures: unknown[];
  post(messages: object[]): Promise<Response>;
}

async function withApp(body: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const process = openProcess({ state: new MemoryState(), clock, bank: new TestBank() });
  const now = (): number => clock.ms;
  const failures: unknown[] = [];
  const app = createApp({
    journal: process.store.journal,
    payments: process.payments,
    directory: new Directory(process.store.accounts, seal(), now),
    now,
    newRequestId: randomUUID,
    trustedProxyHops: 0,
    sandbox: false,
    bankCallbackSecret: callbackSecret,
    state: { closing: false, draining: false, notReady: async () => null },
    onFailure: (error) => failures.push(error),
  });
  const server = await listen(app.callback(), '127.0.0.1', 0);
  const post = (messages: object[]): Promise<Response> => {
    const text = JSON.stringify(messages);
    const [id, timestamp] = [randomUUID(), String(clock.ms / 1_000)];
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': sign(callbackSecret, id, timestamp, text),
    };
    return fetch(`http://127.0.0.1:${server.port}/v1/bank/callbacks`, {
      method: 'POST',
      headers,
      body: text,
    });
  };
  try {
    await body({ process, clock, failures, post });
  } finally {
    await server.drain(1_000);
  }
}

async function newCharge(
  { process, clock }: Scene,
  balance: number,
): Promise<{ id: string; account: string }> {
  const account = await openAccount(process, clock, 0);
  const opening = { id: 'full', amount: balance, reason: 'a test', allowNegative: false };
  if (balance > 0) await adjust(process.engine, account.id, opening);
  const nothing = { externalRef: null, description: null, additionalInfo: null, customer: null };
  const request = { amount: AMOUNT, ...nothing, metadata: {}, expiresIn: null };
  const answer = await process.payments.createCharge(account, request, {});
  if (answer.kind !== 'applied') throw new Error(answer.kind);
  return { id: answer.record.id, account: account.id };
}

function payment(transactionId: string, n: number): { id: string } {
  const endToEndId = `E99999999202602011200${String(n).padStart(11, '0')}`;
  const data = { endToEndId, amount: AMOUNT, paidAt: '2026-02-01T12:00:00.000Z' };
  return { id: `m${n}`, ...{ transactionId, type: 'PAY', data } };
}

test('it is one result, recorded and logged; its neighbours are taken, and its account stays as it was', async () => {
  await withApp(async (scene) => {
    const { process, failures, post } = scene;
    const [full, other] = [await newCharge(scene, FULL), await newCharge(scene, 0)];
    const reply = await post([payment(full.id, 1), payment(other.id, 2)]);
    assert.is(reply.status, 200);
    const results = (await reply.json()) as { id: string; result: string }[];
    assert.equal(
      results.map(({ id, result }) => [id, result]),
      [
        ['m1', 'later'],
        ['m2', 'applied'],
      ],
    );
    assert.is((await process.store.journal.head(full.account)).balances.available, FULL);
    assert.is((await process.store.journal.transaction(full.id))?.snapshot.value, 'waiting_payment');
    const items = await process.store.attention.list();
    assert.equal(
      items.map(({ kind }) => kind),
      ['invalid'],
    );
    assert.match(items[0]?.what ?? '', `PAY (m1) to ${full.id} can't be decided (The balance of`);
    assert.is(failures.length, 1);
    // The same again is the same item.
    assert.is((await post([payment(full.id, 1)])).status, 200);
    assert.is((await process.store.attention.list()).length, 1);
  });
});

test.run();
