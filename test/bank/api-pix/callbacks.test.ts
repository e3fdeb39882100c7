/** From a callback to a message: what a callback says is asked about, and nothing else counts. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Door } from '../../../src/bank/api-pix/callbacks/door.ts';
import { chargeMessages, type KnownCharge, paymentMessages } from '../../../src/bank/api-pix/messages.ts';
import type { Hint } from '../../../src/bank/api-pix/profile.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { callBack } from '../../support/bank/callbacks.ts';
import type { Pair } from '../../support/bank/certificates.ts';
import { type FakePayment, shownPayment } from '../../support/bank/state.ts';
import { chargeOrder, Scene } from './scene.ts';

const test = suite('callbacks');
let scene: Scene;
let door: Door;
let client: Pair;
let webhookUrl: string;
/** All hints that were made durable, as the store would keep them. */
let kept: Hint[];

test.before(async () => {
  scene = await Scene.make();
  const { certificates, authority } = scene.bank;
  const own = certificates.certificate('our-door', { authority: certificates.authority('public') });
  client = certificates.certificate('pix.bank.example', { authority });
  door = new Door({
    door: {
      ...{ port: 0, host: '127.0.0.1', path: '/bank/pix', names: ['pix.bank.example'] },
      tls: { cert: own.cert, key: own.key, ca: authority.cert },
    },
    profile: scene.us.profile,
    take: async (hints) => void kept.push(...hints.flat()),
    onTrouble: () => {},
  });
  webhookUrl = `https://127.0.0.1:${await door.open()}/bank/pix`;
  await scene.us.hooks.register(OUR_KEY, webhookUrl);
});
test.after(async () => {
  await door.close();
  await scene.end();
});
test.before.each(() => {
  kept = [];
});

/** The messages that asking about the hints brings, for a charge of ours. */
async function asked(id: string): Promise<string[]> {
  const ours: KnownCharge = {
    ...{ txid: id.replaceAll('-', ''), pixKey: OUR_KEY, amount: 1234, waits: true, credited: null },
    ownerOf: () => ({ kind: 'bank' }),
    isBooked: () => false,
    isApplied: () => false,
  };
  const messages = new Set<string>();
  const told = (all: readonly object[]): void => {
    for (const message of all) messages.add(JSON.stringify(message));
  };
  for (const hint of kept) {
    if (hint.kind === 'payment') {
      const payment = await scene.us.payments.ask(hint.endToEndId);
      if (payment !== null && 'amount' in payment) told(paymentMessages(payment, ours));
    } else if (hint.kind === 'charge' && hint.txid === ours.txid) {
      const charge = await scene.us.charges.ask(id);
      if (charge !== null) told(chargeMessages(charge, ours));
    }
  }
  return [...messages];
}

function sent(...elements: object[]): Promise<number> {
  const registered = scene.bank.state.webhooks.get(OUR_KEY) ?? '';
  return callBack({ webhookUrl: registered, elements: elements.map((each) => ({ ...each })), client });
}

async function paidCharge(): Promise<{ id: string; payment: FakePayment }> {
  const order = chargeOrder();
  await scene.us.charges.register(order);
  const txid = order.id.replaceAll('-', '');
  return { id: order.id, payment: scene.bank.state.pay({ txid, amount: '12.34', key: OUR_KEY }) };
}

test('a payment that is called back three times is one message', async () => {
  const { id, payment } = await paidCharge();
  for (let time = 0; time < 3; time++) assert.is(await sent(shownPayment(payment)), 200);
  const messages = await asked(id);
  assert.is(messages.length, 1);
  const { endToEndId } = payment;
  const data = { endToEndId, amount: 1234, paidAt: new Date(payment.at).toISOString() };
  assert.equal(JSON.parse(messages[0] ?? ''), { id: `pix:${endToEndId}`, type: 'PAY', data });
});

test('an amount and a time that only the callback says count for nothing', async () => {
  const { id, payment } = await paidCharge();
  await sent({ ...shownPayment(payment), valor: '999.00', horario: '2020-01-01T00:00:00Z' });
  const [message = '{}'] = await asked(id);
  assert.is(JSON.parse(message).data.amount, 1234);
});

test('a payment forged by another customer of the bank, in its own callback, is nobody’s', async () => {
  const order = chargeOrder();
  await scene.us.charges.register(order);
  const txid = order.id.replaceAll('-', '');
  const forged = { endToEndId: `E${'f'.repeat(31)}`, txid, valor: '12.34', chave: OUR_KEY };
  assert.is(await sent({ ...forged, horario: new Date().toISOString() }), 200);
  assert.is(kept.length, 2);
  assert.equal(await asked(order.id), []);
});

test('a payment with our txid to another key isn’t ours', async () => {
  const order = chargeOrder();
  await scene.us.charges.register(order);
  const txid = order.id.replaceAll('-', '');
  const payment = scene.bank.state.pay({
    txid: `${txid.slice(1)}x`,
    amount: '12.34',
    key: 'other@example.com',
  });
  scene.bank.state.rename(payment, txid);
  await sent(shownPayment(payment));
  assert.equal(await asked(order.id), []);
});

test('part of a payment that the bank takes back is told by the callback of its return', async () => {
  const { id, payment } = await paidCharge();
  const part = {
    id: 'MED1',
    rtrId: `D${'7'.repeat(31)}`,
    valor: '5.00',
    natureza: 'MED_FRAUDE',
    at: Date.now(),
  };
  payment.returns.push({ ...part, status: 'DEVOLVIDO' });
  await sent(shownPayment(payment));
  const types = (await asked(id)).map((message) => JSON.parse(message).type);
  assert.equal(types, ['PAY', 'CHARGEBACK']);
});

test('one that is lost is found in the list, and one that is late says the same', async () => {
  const { id, payment } = await paidCharge();
  const own = { txid: id.replaceAll('-', ''), pixKey: OUR_KEY, amount: 1234, waits: true, credited: null };
  const ours: KnownCharge = {
    ...own,
    ownerOf: () => ({ kind: 'bank' }),
    isApplied: () => false,
    isBooked: () => false,
  };
  const listed: string[] = [];
  for await (const page of scene.us.payments.list({ from: payment.at - 1, to: payment.at + 1 })) {
    for (const each of page)
      if ('amount' in each)
        for (const message of paymentMessages(each, ours)) listed.push(JSON.stringify(message));
  }
  await sent(shownPayment(payment));
  assert.equal(await asked(id), listed);
});

test.run();
