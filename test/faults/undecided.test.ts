/** A message of the bank's that throws where it is decided: the real application, over HTTP. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { callbackSecret, sign } from '../support/signature.ts';
import { openAccount } from './in-process.ts';
import { type AppScene, withApp } from './in-process-app.ts';

const test = suite('undecided');

/** Cents; one more payment of `AMOUNT` is more than a number holds exactly. */
const FULL = 9_007_199_254_000_000;
const AMOUNT = 999_999_999_900;

async function post({ port, clock }: AppScene, messages: object[]): Promise<Response> {
  const body = JSON.stringify(messages);
  const [id, timestamp] = [randomUUID(), String(clock.ms / 1_000)];
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': sign(callbackSecret, id, timestamp, body),
  };
  return fetch(`http://127.0.0.1:${port}/v1/bank/callbacks`, { method: 'POST', headers, body });
}

async function newCharge(
  { process, clock }: AppScene,
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
  await withApp(callbackSecret, async (scene) => {
    const { process, failures } = scene;
    const [full, other] = [await newCharge(scene, FULL), await newCharge(scene, 0)];
    const reply = await post(scene, [payment(full.id, 1), payment(other.id, 2)]);
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
    const items = await process.store.attention.page({}, null, 1_000);
    assert.equal(
      items.map(({ kind }) => kind),
      ['invalid'],
    );
    assert.match(items[0]?.what ?? '', `PAY (m1) to ${full.id} can't be decided (The balance of`);
    assert.is(failures.length, 1);
    // The same again is the same item.
    assert.is((await post(scene, [payment(full.id, 1)])).status, 200);
    assert.is((await process.store.attention.page({}, null, 1_000)).length, 1);
  });
});

test.run();
