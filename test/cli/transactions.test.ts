import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import { itemOf } from '../../src/engine/store.ts';
import { at, keys, list, text, whole } from '../support/json.ts';
import { Folder } from './support.ts';

const test = suite('transaction commands');
const URL = 'http://127.0.0.1:9/hook';
let folder: Folder;
let account = '';

test.before(async () => {
  folder = await Folder.make();
  account = await folder.account('--webhook-url', URL, '--balance', '100000');
});
test.after(() => folder.remove());

test('what the bank wrote into a message ends no line of a history, and commands no terminal', async () => {
  const id = await folder.charge(account);
  const message = { id: 'm\u001b[2J\n  forged\u202egpj', type: 'DISMISS', data: {} };
  await folder.withCore(async ({ store, payments }) => {
    const record = await store.journal.transaction(id);
    if (record === null) throw new Error('the charge is not there');
    await payments.tell(record, message, 'bank');
  });
  const { stdout } = await folder.run(['inspect', id]);
  assert.not.match(stdout, /[^\P{Cc}\n]|\p{Bidi_Control}/u);
  assert.match(stdout, String.raw`message m\u001b[2J\n  forged\u202egpj, through bank`);
  const entry = list(await folder.json(['inspect', id]), 'entries').at(-1) ?? null;
  assert.is(text(entry, 'message.id'), message.id);
});

test('send goes through the door of ops, and inspect shows it all', async () => {
  const id = await folder.charge(account);
  const data = JSON.stringify({ payer: { name: 'Quem pagou' }, novelty: 'kept' });
  const paid = await folder.json(['send', id, 'PAY', '--id', 'm-1', '--data', data]);
  assert.is(at(paid, 'applied'), true);
  assert.is(text(paid, 'status'), 'paid');
  assert.is(text(paid, 'customer.name'), 'Quem pagou');
  assert.is(at(await folder.json(['send', id, 'PAY', '--id', 'm-1', '--data', data]), 'applied'), false);
  const refused = await folder.fails(['send', id, 'DISMISS'], 1, 'MESSAGE_NOT_ACCEPTED');
  assert.equal(keys(refused), ['allowed', 'error', 'message', 'status']);
  assert.equal(at(refused, 'allowed'), ['REFUND', 'CHARGEBACK', 'PROTEST']);

  const { applied: _applied, ...transaction } = paid as { applied: boolean };
  const inspected = await folder.json(['inspect', id.toUpperCase()]);
  assert.equal(keys(inspected), ['deliveries', 'entries', 'snapshot', 'timers', 'transaction']);
  assert.equal(at(inspected, 'transaction'), transaction);
  const [created, payment, refusal] = list(inspected, 'entries');
  const parts = ['at', 'by', 'door', 'events', 'from', 'message', 'postings', 'refusal', 'seq', 'to'];
  assert.equal(keys(created ?? null), parts);
  assert.equal([at(created ?? null, 'door'), at(created ?? null, 'refusal')], ['api', null]);
  assert.equal(keys(created ?? null, 'events.0'), ['id', 'name']);
  assert.is(text(payment ?? null, 'message.data.novelty'), 'kept');
  assert.is(list(payment ?? null, 'postings').length, 3);
  assert.equal([at(refusal ?? null, 'from'), at(refusal ?? null, 'to')], ['paid', 'paid']);
  assert.equal([at(refusal ?? null, 'postings'), at(refusal ?? null, 'events')], [[], []]);
  assert.is(at(refusal ?? null, 'door'), 'ops');
  const reason = 'a pix-in that is paid does not take DISMISS';
  assert.equal(at(refusal ?? null, 'refusal'), { code: 'MESSAGE_NOT_ACCEPTED', text: reason });
  assert.equal(
    list(inspected, 'deliveries').map((delivery) => text(delivery, 'event')),
    ['pix-in.paid', 'pix-in.waiting_payment'],
  );
  const read = await folder.run(['inspect', id]);
  for (const word of [
    /waiting_payment -> paid/,
    /refused: /,
    /available +R\$ 99\.00/,
    /deliveries, newest first/,
  ]) {
    assert.match(read.stdout, word);
  }
});

test('send says what is wrong', async () => {
  const id = await folder.charge(account);
  await folder.fails(['send', id, 'NONSENSE'], 2, 'VALIDATION_ERROR');
  const other = await folder.fails(['send', id, 'SETTLE'], 2, 'VALIDATION_ERROR');
  assert.is(text(other, 'details.0.field'), 'type');
  for (const data of ['{', '[]', '5', 'null', '{"reason": 5}']) {
    await folder.fails(['send', id, 'REFUND', '--data', data], 2, 'VALIDATION_ERROR');
  }
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const levels of [33, 5_000]) {
    const told = await folder.fails(['send', id, 'PAY', '--data', deep(levels)], 2, 'VALIDATION_ERROR');
    assert.is(text(told, 'message'), '--data must be nested at most 32 deep');
  }
  await folder.json(['send', id, 'PAY', '--data', deep(32)]);
  await folder.fails(['send', id, 'PAY', '--id', 'a\u0001'], 2, 'VALIDATION_ERROR');
  await folder.fails(['send', randomUUID(), 'PAY'], 1, 'TRANSACTION_NOT_FOUND');
  await folder.fails(['send', 'nothing', 'PAY'], 1, 'TRANSACTION_NOT_FOUND');
  await folder.fails(['inspect', randomUUID()], 1, 'TRANSACTION_NOT_FOUND');
  await folder.fails(['inspect', 'nothing'], 1, 'TRANSACTION_NOT_FOUND');
});

/** Lets a transaction's deliveries end in a way. */
function end(id: string, status: DeliveryRecord['status']): Promise<string[]> {
  return folder.withCore(async ({ store }) => {
    const record = await store.journal.transaction(id);
    const ids = Object.values(record?.lastDeliveries ?? {});
    const attempt = { at: new Date().toISOString(), statusCode: 500, error: null, durationMs: 1 };
    const parts = {
      account,
      transaction: id,
      status,
      failures: 5,
      attempts: [attempt],
      nextAttemptAt: null,
      deliveredAt: null,
    };
    for (const delivery of ids) {
      const attention = itemOf({ kind: 'dead', id: delivery, what: 'x', next: 'y' }, attempt.at);
      await store.due.settle([{ claim: null, next: null, record: { id: delivery, ...parts }, attention }]);
    }
    return ids;
  });
}

async function listed(id: string): Promise<boolean> {
  return list(await folder.json(['attention']), 'items').some((item) => text(item, 'id') === id);
}

test('deliveries retry starts dead and rejected ones anew, and takes them off the list', async () => {
  const id = await folder.charge(account);
  const [delivery = ''] = await end(id, 'dead');
  assert.is(await listed(delivery), true);
  assert.equal(await folder.json(['deliveries', 'retry', delivery]), { retried: [delivery] });
  assert.is(await listed(delivery), false);
  const shown = list(await folder.json(['inspect', id]), 'deliveries')[0] ?? null;
  assert.is(text(shown, 'status'), 'pending');
  const due = await folder.withCore(({ store }) => store.due.claim('delivery', Date.now(), 100));
  assert.ok(due.filter((claim) => claim.due.transaction === id).length >= 1);

  await folder.fails(['deliveries', 'retry', delivery], 1, 'DELIVERY_NOT_DEAD');
  const event = text(shown, 'eventId');
  assert.equal(await folder.json(['deliveries', 'retry', event]), { retried: [] });
  await end(id, 'rejected');
  assert.equal(await folder.json(['deliveries', 'retry', event]), { retried: [delivery] });
  await end(id, 'dead');
  assert.is(await listed(delivery), true, 'a delivery that died again is not listed');
  assert.equal(await folder.json(['deliveries', 'retry', id]), { retried: [delivery] });

  const stranger = randomUUID();
  for (const nothing of [stranger, `evt_${stranger.replaceAll('-', '')}00`, 'nothing']) {
    await folder.fails(['deliveries', 'retry', nothing], 1, 'TRANSACTION_NOT_FOUND');
  }
  await folder.fails(['deliveries', 'retry', `${delivery}z`], 1, 'DELIVERY_NOT_FOUND');
  await folder.fails(['deliveries', 'retry', `evt_${id.replaceAll('-', '')}zz`], 1, 'EVENT_NOT_FOUND');
});

test('a stuck cashout is listed until it is done or changes, and again once it is stuck anew', async () => {
  const id = await folder.transfer(account, 1_006);
  const env = { STUCK_AFTER_S: '1' };
  const stuck = async (): Promise<number> =>
    list(await folder.json(['attention'], 0, env), 'items').filter((item) => text(item, 'id') === id).length;
  assert.is(await listed(id), false, 'it is stuck after five minutes only');
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.is(await stuck(), 1);
  assert.equal(await folder.json(['attention', 'done', id], 0, env), { done: id });
  assert.is(await stuck(), 0);
  assert.is(text(await folder.json(['attention', 'done', id], 1, env), 'error'), 'ITEM_NOT_FOUND');
  await folder.json(['send', id, 'START']);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.is(await stuck(), 1);
  await folder.json(['attention', 'done', id], 0, env);
  assert.is(await stuck(), 0);
  await folder.json(['send', id, 'SETTLE']);
  assert.is(await stuck(), 0);
});

test('a quarantined item goes once its transaction reads again', async () => {
  const id = await folder.charge(account);
  const item = itemOf({ kind: 'quarantined', id, what: 'x', next: 'y' }, new Date().toISOString());
  await folder.withCore(({ store }) => store.attention.note([item, { ...item, id: 'unknown' }]));
  assert.is(await listed(id), false);
  assert.is(await listed('unknown'), true);
});

test('inspect finds by what merchants and banks quote', async () => {
  const found = async (given: string, ...more: string[]): Promise<string> =>
    text(await folder.json(['inspect', given, ...more]), 'transaction.id');
  const other = await folder.account('--balance', '100000');
  const charge = await folder.charge(account, 10_000, 'order 1');
  const same = await folder.charge(other, 10_000, 'order 1');
  const endToEndId = 'E12345678202601011530abcdefghijk';
  const paidAt = '2026-01-05T12:00:00.000Z';
  await folder.json([
    'send',
    charge,
    'PAY',
    '--data',
    JSON.stringify({ endToEndId, amount: 10_000, paidAt }),
  ]);
  const transfer = await folder.transfer(account, 1_000, 'key 1');
  const reference = 'E12345678202601011530abcdefghijl';
  await folder.json(['send', transfer, 'START', '--data', JSON.stringify({ endToEndId: reference })]);
  assert.is(await found(endToEndId), charge);
  assert.is(await found(reference), transfer);
  assert.is(await found('key 1'), transfer);
  const [delivery] = list(await folder.json(['inspect', charge]), 'deliveries');
  assert.is(await found(text(delivery ?? null, 'id')), charge);
  assert.is(await found(text(delivery ?? null, 'eventId')), charge);
  assert.is(await found('order 1', '--account', other), same);
  const several = await folder.fails(['inspect', 'order 1'], 1, 'SEVERAL_TRANSACTIONS');
  const listed = list(several, 'transactions').map((each) => text(each, 'id'));
  assert.equal(listed.sort(), [charge, same].sort());
  await folder.fails(['inspect', 'order 2'], 1, 'TRANSACTION_NOT_FOUND');
  await folder.fails(
    ['inspect', `${text(delivery ?? null, 'eventId').slice(0, -2)}zz`],
    1,
    'TRANSACTION_NOT_FOUND',
  );
  await folder.fails(['inspect', charge, '--account', other], 1, 'TRANSACTION_NOT_FOUND');
  await folder.fails(['inspect', 'order 1', '--account', randomUUID()], 1, 'ACCOUNT_NOT_FOUND');
  await folder.fails(['inspect', 'x'.repeat(5_000)], 1, 'TRANSACTION_NOT_FOUND');
});

test('attention done takes an item off; verify stays sound', async () => {
  const id = await folder.charge(account);
  await folder.fails(['send', id, 'REFUND'], 1, 'MESSAGE_NOT_ACCEPTED');
  const items = list(await folder.json(['attention']), 'items');
  const item = items.find((candidate) => text(candidate, 'what').includes(id)) ?? null;
  assert.equal(keys(item), [
    'about',
    'account',
    'amount',
    'code',
    'data',
    'id',
    'kind',
    'next',
    'since',
    'what',
  ]);
  assert.is(text(item, 'account'), account);
  assert.ok(whole(item, 'amount') > 0);
  const sinces = items.map((each) => text(each, 'since'));
  assert.equal(sinces, [...sinces].sort());
  assert.equal(await folder.json(['attention', 'done', text(item, 'id')]), { done: text(item, 'id') });
  assert.is(await listed(text(item, 'id')), false);
  await folder.fails(['attention', 'done', 'nothing of the kind'], 1, 'ITEM_NOT_FOUND');
  await folder.fails(['attention', 'done', 'x'.repeat(5_000)], 1, 'ITEM_NOT_FOUND');

  const verified = await folder.json(['verify', '--heads', '--decide']);
  assert.equal(keys(verified), ['accounts', 'batches', 'differences', 'entries', 'heads', 'ok']);
  assert.equal(at(verified, 'differences'), []);
  assert.match((await folder.run(['verify'])).stdout, /^ok: 2 accounts/);
});

test.run();
