/** What the bank tells, as messages: the same bytes whichever way it is told. */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readCharge } from '../../../src/bank/api-pix/charges.ts';
import {
  chargeMessages,
  type KnownCharge,
  paymentMessages,
  type ReturnOwner,
  sendingMessages,
  withPayment,
} from '../../../src/bank/api-pix/messages.ts';
import { reaisText } from '../../../src/bank/api-pix/money-text.ts';
import { type Payment, readPayment } from '../../../src/bank/api-pix/payments.ts';
import type { Sending, SendingState } from '../../../src/bank/api-pix/profile.ts';
import { MAX_AMOUNT } from '../../../src/domain/money.ts';
import { holds } from '../../domain/holds.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { chargeOrder, Scene } from './scene.ts';

const test = suite('messages of a bank');

const TXID = '7978c0c97ea847e78e8849634473c1f1';
const REFUND_ID = '0b4dd9ba-2ce7-4ef2-8de5-0a3f3c5f1a10';

function known(over: Partial<KnownCharge> = {}): KnownCharge {
  const ownerOf = (id: string): ReturnOwner =>
    id.startsWith('ours')
      ? { kind: 'refund', refundId: REFUND_ID }
      : { kind: id === 'back' ? 'given-back' : 'bank' };
  const own = { amount: 100, waits: true, credited: 'E'.repeat(32) };
  return {
    txid: TXID,
    pixKey: OUR_KEY,
    ownerOf,
    isApplied: () => false,
    isBooked: () => false,
    ...own,
    ...over,
  };
}

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'];
const id32 = fc
  .array(fc.constantFrom(...letters), { minLength: 32, maxLength: 32 })
  .map((all) => all.join(''));
const cents = fc.integer({ min: 1, max: MAX_AMOUNT });
const time = fc.date({ min: new Date('2021-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });

const returned = fc.record({
  id: fc.constantFrom('ours1', 'back', 'D-bank'),
  rtrId: id32,
  valor: cents.map(reaisText),
  natureza: fc.constantFrom('ORIGINAL', 'MED_FRAUDE', 'MED_OPERACIONAL', 'MED_PIX_AUTOMATICO', undefined),
  status: fc.constantFrom('EM_PROCESSAMENTO', 'DEVOLVIDO', 'NAO_REALIZADO'),
});
const paid = fc.record({
  endToEndId: id32,
  valor: cents.map(reaisText),
  horario: time.map((at) => at.toISOString()),
  devolucoes: fc.array(returned, { maxLength: 4 }),
});

/** The same instant, in Brasília's own time. */
function inBrasilia(horario: string): string {
  const shifted = new Date(Date.parse(horario) - 3 * 3_600_000).toISOString();
  return shifted.replace('Z', '-03:00');
}

test('a payment gives the same bytes by its own GET, by the list, and within its charge', () => {
  holds(
    fc.property(paid, (pix) => {
      const alone = readPayment({ ...pix, txid: TXID, chave: OUR_KEY });
      const listed = readPayment({ infoPagador: 'x', ...pix, txid: TXID, horario: inBrasilia(pix.horario) });
      const charge = readCharge({ txid: TXID, status: 'CONCLUIDA', chave: OUR_KEY, pix: [pix] });
      assert.ok('amount' in alone && 'amount' in listed);
      const ours = known({ credited: pix.endToEndId });
      const bytes = JSON.stringify(paymentMessages(alone, ours));
      assert.is(JSON.stringify(paymentMessages(listed, ours)), bytes);
      assert.is(JSON.stringify(chargeMessages(charge, ours)), bytes);
      const ids = paymentMessages(alone, ours).map(({ id, type }) => [id, type]);
      assert.equal(ids[0], [`pix:${pix.endToEndId}`, 'PAY']);
    }),
  );
});

test('a payment’s own answer and its charge’s add to each other', () => {
  const part = (id: string) => ({ ...{ id, rtrId: `D${id}`, valor: '0.10' }, status: 'DEVOLVIDO' });
  const pix = { endToEndId: 'E'.repeat(32), valor: '1.00', horario: '2026-01-05T12:00:00Z' };
  const [first, second] = [part('D1'), part('D2')];
  const ours = known();
  const told = (inCharge: object[], alone: object[]): string[] => {
    const charge = readCharge({ txid: TXID, chave: OUR_KEY, pix: [{ ...pix, devolucoes: inCharge }] });
    const payment = readPayment({ ...pix, txid: TXID, chave: OUR_KEY, devolucoes: alone });
    const whole = withPayment(charge, payment, ours);
    return whole === null
      ? []
      : chargeMessages(whole, ours).map(({ type, data }) => `${type} ${data.returnId ?? ''}`);
  };
  const both = ['PAY ', 'REFUND DD1', 'REFUND DD2'];
  for (const [inCharge, alone] of [
    [[], [first, second]],
    [[first, second], []],
    [[second], [first]],
    [
      [first, second],
      [first, second],
    ],
    [[{ ...first, status: 'EM_PROCESSAMENTO' }, second], [first]],
  ] as const)
    assert.equal(told([...inCharge], [...alone]), both);
});

test('a message of a payment holds what was paid, when, and nothing else', () => {
  const pix = { endToEndId: 'E'.repeat(32), txid: TXID, valor: '12.34', horario: '2026-11-01T10:00:00' };
  const payment = readPayment({ ...pix, chave: OUR_KEY.toUpperCase(), infoPagador: 'Maria' });
  assert.ok('amount' in payment);
  assert.equal(paymentMessages(payment, known()), [
    {
      ...{ id: `pix:${'E'.repeat(32)}`, type: 'PAY' },
      data: { endToEndId: 'E'.repeat(32), amount: 1234, paidAt: '2026-11-01T13:00:00.000Z' },
    },
  ]);
});

test('a payment of another charge, a static code or another key says nothing of ours', () => {
  const payment: Payment = {
    ...{ endToEndId: 'E'.repeat(32), txid: TXID, amount: 1, pixKey: OUR_KEY },
    ...{ paidAt: '2026-11-01T13:00:00.000Z', returns: [] },
  };
  assert.is(paymentMessages(payment, known()).length, 1);
  for (const over of [
    { txid: null },
    { txid: 'STATIC1' },
    { txid: TXID.slice(1) },
    { pixKey: 'x@example.com' },
  ])
    assert.equal(paymentMessages({ ...payment, ...over }, known()), []);
  const charge = { txid: TXID, status: 'CONCLUIDA', chave: 'x@example.com' };
  const pix = [{ endToEndId: 'E'.repeat(32), valor: '0.01', horario: '2026-11-01T13:00:00Z' }];
  assert.equal(chargeMessages(readCharge({ ...charge, pix }), known()), []);
  assert.equal(chargeMessages(readCharge({ ...charge, chave: OUR_KEY, txid: 'other', pix }), known()), []);
});

test('each return is what its owner and nature make it', () => {
  const told = (id: string, status: string, natureza?: string) => {
    const back = { id, rtrId: `D${'1'.repeat(31)}`, valor: '0.40', status, natureza, motivo: 'why' };
    const pix = { endToEndId: 'E'.repeat(32), valor: '1.00', horario: '2026-11-01T13:00:00Z', txid: TXID };
    const payment = readPayment({ ...pix, devolucoes: [back] });
    assert.ok('amount' in payment);
    const [, message] = paymentMessages(payment, known());
    return message === undefined
      ? null
      : [message.type, message.id.split(':').slice(2).join(':'), message.data];
  };
  const returnId = `D${'1'.repeat(31)}`;
  const refundId = REFUND_ID;
  const bank = { amount: 40, returnId, reason: 'why' };
  assert.equal(told('ours', 'DEVOLVIDO'), ['REFUND_DONE', 'ours:REFUND_DONE', { refundId, returnId }]);
  assert.equal(told('ours', 'NAO_REALIZADO'), [
    ...['REFUND_FAILED', 'ours:REFUND_FAILED'],
    { refundId, returnId, reason: 'why' },
  ]);
  assert.equal(told('x', 'DEVOLVIDO'), ['REFUND', 'x:REFUND', bank]);
  assert.equal(told('x', 'DEVOLVIDO', 'ORIGINAL'), ['REFUND', 'x:REFUND', bank]);
  for (const natureza of ['MED_FRAUDE', 'MED_OPERACIONAL', 'MED_PIX_AUTOMATICO'])
    assert.equal(told('x', 'DEVOLVIDO', natureza), ['CHARGEBACK', 'x:CHARGEBACK', bank]);
  for (const id of ['ours', 'x', 'back']) assert.is(told(id, 'EM_PROCESSAMENTO'), null);
  for (const [id, status, natureza] of [
    ['back', 'DEVOLVIDO', 'ORIGINAL'],
    ['back', 'NAO_REALIZADO', 'ORIGINAL'],
    ['x', 'NAO_REALIZADO', 'MED_FRAUDE'],
    ['x', 'DEVOLVIDO', 'NOVA'],
  ] as const)
    assert.is(told(id, status, natureza), null);
});

test('a return has the bank’s time, and what was booked of it is told no more', () => {
  const back = (over: object) => ({
    ...{ id: 'x', valor: '0.40', status: 'DEVOLVIDO', rtrId: `D${'1'.repeat(31)}` },
    ...{ horario: { solicitacao: '2026-11-02T10:00:00Z', liquidacao: '2026-11-02T10:00:05Z' }, ...over },
  });
  const told = (over: object, applied: string[] = []) => {
    const pix = { endToEndId: 'E'.repeat(32), valor: '1.00', horario: '2026-11-01T13:00:00Z', txid: TXID };
    const payment = readPayment({ ...pix, devolucoes: [back(over)] });
    assert.ok('amount' in payment);
    const ours = known({ isApplied: (id) => applied.includes(id) });
    return paymentMessages(payment, ours).slice(1);
  };
  const completedAt = '2026-11-02T10:00:05.000Z';
  for (const id of ['ours', 'x']) assert.is(told({ id })[0]?.data.completedAt, completedAt);
  assert.is(told({ natureza: 'MED_FRAUDE' })[0]?.data.completedAt, undefined);
  const untimed = told({ horario: { solicitacao: '2026-11-02T10:00:00Z' }, rtrId: undefined });
  assert.equal(untimed[0]?.data, { amount: 40 });
  const [{ id = '' } = {}] = untimed;
  assert.equal(told({}, [id]), []);
  // Another outcome is another message.
  const done = told({ id: 'ours' })[0]?.id ?? '';
  assert.is(told({ id: 'ours', status: 'NAO_REALIZADO' }, [done])[0]?.type, 'REFUND_FAILED');
});

test('what comes back of a payment that was no credit is no word about the charge', () => {
  const back = { id: 'x', rtrId: 'D1', valor: '1.00', status: 'DEVOLVIDO', natureza: 'MED_FRAUDE' };
  const pix = (letter: string, valor = '1.00') => ({
    ...{ endToEndId: letter.repeat(32), valor, horario: '2026-11-01T13:00:00Z', devolucoes: [back] },
  });
  const told = (over: Partial<KnownCharge>, all: object[]) =>
    chargeMessages(
      readCharge({ txid: TXID, status: 'CONCLUIDA', chave: OUR_KEY, pix: all }),
      known(over),
    ).map(({ type, id, ofPayment }) => {
      const payment = id.split(':')[1];
      // Only the engine knows which one is credited in the end.
      assert.is(ofPayment, type === 'CHARGEBACK' ? payment : undefined);
      return `${type} ${payment?.charAt(0)}`;
    });
  const all = [pix('W', '0.99'), pix('A'), pix('B')];
  assert.equal(told({ credited: 'B'.repeat(32) }, all), ['PAY W', 'PAY A', 'PAY B', 'CHARGEBACK B']);
  const either = ['PAY A', 'CHARGEBACK A', 'PAY B', 'CHARGEBACK B'];
  assert.equal(told({ credited: null }, all), ['PAY W', ...either]);
  assert.equal(told({ credited: null, waits: false }, all), ['PAY W', 'PAY A', 'PAY B']);
});

test('the bank’s reasons are one line that can be shown', () => {
  const reason = `  no\nfunds\u0000 ${'x'.repeat(600)}`;
  const [message] = sendingMessages('x', sending({ state: 'failed', reason }), true);
  assert.is(message?.data.reason, `no funds ${'x'.repeat(491)}`);
  const none = sendingMessages('x', sending({ state: 'failed', reason: ' \n' }), true);
  assert.equal(none[0]?.data, { endToEndId: 'E'.repeat(32) });
});

test('a charge that was removed says by whom, after the money in it', () => {
  const messages = (status: string) =>
    chargeMessages(
      readCharge({
        ...{ txid: TXID, status, chave: OUR_KEY },
        pix: [{ endToEndId: 'E'.repeat(32), valor: '1.00', horario: '2026-11-01T13:00:00Z' }],
      }),
      known(),
    ).map(({ id, type }) => `${type} ${id}`);
  const pay = `PAY pix:${'E'.repeat(32)}`;
  assert.equal(messages('REMOVIDA_PELO_PSP'), [pay, `REFUSE cob:${TXID}:REMOVIDA_PELO_PSP`]);
  const removed = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
  assert.equal(messages(removed), [pay, `CANCEL cob:${TXID}:${removed}`]);
  for (const status of ['ATIVA', 'CONCLUIDA', 'NOVA']) assert.equal(messages(status), [pay]);
  const answer = readCharge({ txid: TXID, status: removed, chave: OUR_KEY });
  assert.equal(chargeMessages(answer, known({ waits: false })), [], 'no news to one that has ended');
});

function sending(over: Partial<Sending> = {}): Sending {
  return {
    ...{ id: 'x', bankId: 'x', endToEndId: 'E'.repeat(32), amount: 100, state: 'settled', told: 'X' },
    ...{ paidAt: '2026-11-01T13:00:00.000Z', reason: null, returns: [], ...over },
  };
}

test('a transfer’s state is a message, by whether it had started', () => {
  const types = (state: SendingState, hasStarted: boolean) =>
    sendingMessages('x', sending({ state }), hasStarted).map(({ id, type }) => `${type} ${id}`);
  const table: [SendingState, string[], string[]][] = [
    ['waiting', [], []],
    ['unknown', [], []],
    ['started', ['START env:x:start'], ['START env:x:start']],
    ['settled', ['SETTLE env:x:SETTLE'], ['SETTLE env:x:SETTLE']],
    ['failed', ['FAIL env:x:FAIL'], ['FAIL env:x:FAIL']],
    ['rejected', ['REJECT env:x:REJECT'], ['FAIL env:x:FAIL']],
    ['canceled', ['CANCEL env:x:CANCEL'], ['FAIL env:x:FAIL']],
  ];
  for (const [state, before, after] of table)
    assert.equal([types(state, false), types(state, true)], [before, after]);
});

test('a transfer without its id or its time is asked about again', () => {
  assert.equal(sendingMessages('x', sending({ state: 'started', endToEndId: null }), false), []);
  assert.equal(sendingMessages('x', sending({ endToEndId: null }), false), []);
  assert.equal(sendingMessages('x', sending({ paidAt: null }), false), []);
});

test('what comes back of a transfer is told part by part', () => {
  const returns = [
    { id: 'd1', returnId: 'D1', amount: 40, reason: null },
    { id: 'd2', returnId: null, amount: 60, reason: 'why' },
  ];
  const told = (over: Partial<Sending>) => sendingMessages('x', sending({ returns, ...over }), true).slice(1);
  const all = told({});
  const made = String(all[1]?.data.returnId);
  assert.equal(all, [
    { id: `ret:${'E'.repeat(32)}:d1`, type: 'RETURN', data: { returnId: 'D1', amount: 40 } },
    { id: `ret:${'E'.repeat(32)}:d2`, type: 'RETURN', data: { returnId: made, amount: 60, reason: 'why' } },
  ]);
  // A payee's own id says nothing of other payees' returns.
  assert.match(made, /^D[0-9a-f]{31}$/);
  assert.is(told({})[1]?.data.returnId, made);
  assert.is.not(told({ endToEndId: 'F'.repeat(32) })[1]?.data.returnId, made);
});

test('over the wire, list, payment and charge tell the same', async () => {
  const scene = await Scene.make();
  const order = chargeOrder();
  await scene.us.charges.register(order);
  const txid = order.id.replaceAll('-', '');
  const payment = scene.bank.state.pay({ txid, amount: '12.34', key: OUR_KEY });
  const part = {
    id: 'M1',
    rtrId: `D${'9'.repeat(31)}`,
    valor: '2.00',
    natureza: 'MED_FRAUDE',
    at: Date.now(),
  };
  payment.returns.push({ ...part, status: 'DEVOLVIDO' });
  const charge = await scene.us.charges.ask(order.id);
  const alone = await scene.us.payments.ask(payment.endToEndId);
  const ours = known({ txid, credited: payment.endToEndId });
  assert.ok(charge !== null && alone !== null && 'amount' in alone);
  const bytes = JSON.stringify(chargeMessages(charge, ours));
  assert.is(JSON.stringify(paymentMessages(alone, ours)), bytes);
  for await (const page of scene.us.payments.list({ from: payment.at - 1, to: payment.at + 1 })) {
    const [listed] = page;
    assert.ok(listed !== undefined && 'amount' in listed);
    assert.is(JSON.stringify(paymentMessages(listed, ours)), bytes);
  }
  await scene.end();
});

test.run();
