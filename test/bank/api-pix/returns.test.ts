/** Payments on their way back at a bank: what becomes of each of the returns that were ordered. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LastWords } from '../../../src/bank/api-pix/last-words.ts';
import { givenBackId, Returns } from '../../../src/bank/api-pix/returns.ts';
import {
  type Awakening,
  BANK_PACE,
  BankNotBegun,
  BankOutcomeUnknown,
  BankRefused,
  type ReturnTurn,
} from '../../../src/engine/bank.ts';
import type { ChargeRecord } from '../../../src/engine/journal.ts';
import { OUR_KEY } from '../../support/bank/bank.ts';
import { rejectionOf } from '../../support/expect.ts';
import { Scene } from './scene.ts';

const test = suite('returns at a bank');
const PACE = { ...BANK_PACE, callMs: 10_000, firstMs: 1, longestMs: 1, refusalMs: 1 };
const DUPLICATE = JSON.stringify({
  type: 'https://pix.bcb.gov.br/api/v2/error/PixDevolucaoInvalida',
  status: 400,
});
const OURS = { refusedAt: null, isStillOurs: async () => true, mayBegin: async () => true };
/** The order is asked about, since it may have been sent before. */
const LATER = { ...OURS, isFirst: false, turn: 1 };
/** Surely nobody has sent the order before. */
const FIRST = { ...OURS, isFirst: true, turn: 0 };
/** Nobody hears of what differs. */
const NOTES = { difference: async () => undefined, agreed: async () => undefined };
let scene: Scene;

test.before(async () => {
  scene = await Scene.make();
});
test.after(() => scene.end());

/** A payment of 10.00 whose returns have ended so, and what the how-manieth one says when it is asked about again. */
async function heardOf(statuses: readonly string[], number: number): Promise<ReturnTurn> {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const { payments } = scene.us;
  for (const [index, status] of statuses.entries()) {
    await payments.giveBack({ endToEndId, id: givenBackId(endToEndId, index + 1) }, 1_000);
    const made = scene.bank.state.payments.get(endToEndId)?.returns.at(-1);
    Object.assign(made ?? {}, { status, motivo: 'conta encerrada' });
  }
  const returns = new Returns(payments, PACE, new LastWords(), NOTES);
  return returns.giveBack({ endToEndId, amount: 1_000, reason: 'x', number }, LATER);
}

test('a return that failed is a person’s, unless all of the payment is back by others', async () => {
  const failed: ReturnTurn = { wakeInMs: null, failed: 'conta encerrada' };
  const [no, done] = ['NAO_REALIZADO', 'DEVOLVIDO'];
  assert.equal(await heardOf([no], 1), failed);
  assert.equal(await heardOf([no, no], 1), failed);
  assert.equal(await heardOf([no, no], 2), failed);
  assert.equal(await heardOf([no, done], 1), { wakeInMs: null });
  assert.equal(await heardOf([no, no, done], 2), { wakeInMs: null });
});

test('a return of which less was done than was ordered is a person’s, unless the bank took the rest itself', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const { payments } = scene.us;
  await payments.giveBack({ endToEndId, id: givenBackId(endToEndId, 2) }, 400);
  const returns = scene.bank.state.payments.get(endToEndId)?.returns ?? [];
  const [ours] = returns;
  Object.assign(ours ?? {}, { status: 'DEVOLVIDO' });
  const turn = (): Promise<ReturnTurn> =>
    new Returns(payments, PACE, new LastWords(), NOTES).giveBack(
      { endToEndId, amount: 1_000, reason: 'x', number: 2 },
      LATER,
    );
  assert.equal(await turn(), { wakeInMs: null, failed: 'the bank gave back 4.00 of 10.00' });
  if (ours !== undefined)
    returns.push({ ...ours, id: 'bank1', valor: '6.00', natureza: 'MED_FRAUDE', status: 'DEVOLVIDO' });
  assert.equal(await turn(), { wakeInMs: null });
});

/** Returns of a payment as others made them: value and status. */
type Theirs = readonly (readonly [string, 'EM_PROCESSAMENTO' | 'DEVOLVIDO' | 'NAO_REALIZADO'])[];

/** What a first return of a payment of 12.35 comes to that has these of others, and which values were ordered. */
async function orderedBeside(theirs: Theirs): Promise<{ turn: ReturnTurn; ordered: unknown[] }> {
  const { endToEndId } = scene.bank.state.pay({ amount: '12.35', key: OUR_KEY });
  const returns = scene.bank.state.payments.get(endToEndId)?.returns ?? [];
  for (const [index, [valor, status]] of theirs.entries()) {
    const at = Date.now();
    const rtrId = scene.bank.state.id('D', at);
    returns.push({ id: `app${index}`, rtrId, valor, natureza: 'ORIGINAL', at, status });
  }
  const before = scene.bank.calls('PUT devolucao').length;
  const turn = await new Returns(scene.us.payments, PACE, new LastWords(), NOTES).giveBack(
    { endToEndId, amount: 1_235, reason: 'x' },
    FIRST,
  );
  const calls = scene.bank.calls('PUT devolucao').slice(before);
  return { turn, ordered: calls.map(({ body }) => JSON.parse(body).valor) };
}

test('of a payment that others have given back, what is left is ordered, and nothing where nothing is', async () => {
  const [later, done] = [{ wakeInMs: 1 }, { wakeInMs: null }];
  assert.equal(await orderedBeside([]), { turn: later, ordered: ['12.35'] });
  assert.equal(await orderedBeside([['12.35', 'DEVOLVIDO']]), { turn: done, ordered: [] });
  assert.equal(await orderedBeside([['2.35', 'DEVOLVIDO']]), { turn: later, ordered: ['10.00'] });
  assert.equal(await orderedBeside([['12.35', 'NAO_REALIZADO']]), { turn: later, ordered: ['12.35'] });
  const both: Theirs = [
    ['2.00', 'DEVOLVIDO'],
    ['0.35', 'DEVOLVIDO'],
  ];
  assert.equal(await orderedBeside(both), { turn: later, ordered: ['10.00'] });
});

test('while a return of others is under way nothing is ordered: it may fail', async () => {
  assert.equal(await orderedBeside([['2.35', 'EM_PROCESSAMENTO']]), { turn: { wakeInMs: 1 }, ordered: [] });
});

test('a return of ours that the payment alone shows is not ordered again', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const { payments } = scene.us;
  await payments.giveBack({ endToEndId, id: givenBackId(endToEndId) }, 1_000);
  const before = scene.bank.calls('PUT devolucao').length;
  const missing = JSON.stringify({ type: 'https://x/PixDevolucaoNaoEncontrada', status: 404 });
  scene.bank.fault('GET devolucao', { kind: 'answer', status: 404, body: missing });
  const order = { endToEndId, amount: 1_000, reason: 'x' };
  const returns = new Returns(payments, PACE, new LastWords(), NOTES);
  assert.equal(await returns.giveBack(order, LATER), { wakeInMs: 1 });
  assert.is(scene.bank.calls('PUT devolucao').length, before);
});

test('where what is left of a payment can’t be asked, nothing is ordered, and that is no refusal', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const returns = new Returns(scene.us.payments, PACE, new LastWords(), NOTES);
  const before = scene.bank.calls('PUT devolucao').length;
  const unread = JSON.stringify({ endToEndId, valor: '10.00', horario: 'ontem' });
  for (const [status, body] of [
    [400, DUPLICATE],
    [503, '{}'],
    [404, JSON.stringify({ type: 'https://x/PixNaoEncontrado', status: 404 })],
    [200, unread],
  ] as const) {
    scene.bank.fault('GET pix', { kind: 'answer', status, body });
    const turn = returns.giveBack({ endToEndId, amount: 1_000, reason: 'x' }, FIRST);
    const outcome = await turn.catch((error: unknown) => error);
    assert.instance(outcome, BankOutcomeUnknown, `${status}`);
  }
  assert.is(scene.bank.calls('PUT devolucao').length, before);
});

test('where the bank takes no question about the payment, a failed return is told of', async () => {
  scene.bank.fault('GET pix', { kind: 'answer', status: 400, body: DUPLICATE });
  assert.is((await heardOf(['NAO_REALIZADO', 'DEVOLVIDO'], 1)).failed, 'conta encerrada');
});

test('where the bank can’t be asked now, a failed return waits: all of the payment may be back', async () => {
  for (const status of [403, 503]) {
    scene.bank.fault('GET pix', { kind: 'answer', status, body: '{}' });
    const outcome = await heardOf(['NAO_REALIZADO', 'DEVOLVIDO'], 1).catch((error: unknown) => error);
    assert.instance(outcome, BankOutcomeUnknown, `${status}`);
  }
});

test('a refund that ops end before its order leaves isn’t ordered, be it the first or a repeat', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const context = { endToEndId, 'refund:r1': { status: 'pending', amount: 1_000, reason: 'x' } };
  const charge = { id: 't', messages: {}, snapshot: { context } } as unknown as ChargeRecord;
  const before = scene.bank.calls('PUT devolucao').length;
  const returns = new Returns(scene.us.payments, PACE, new LastWords(), NOTES);
  const turn = (attempt: typeof FIRST, isOpen: boolean): Promise<Awakening> =>
    returns.refund(charge, 'r1', { ...attempt, mayBegin: async () => isOpen });
  for (const attempt of [FIRST, LATER]) await rejectionOf(BankNotBegun, turn(attempt, false));
  assert.is(scene.bank.calls('PUT devolucao').length, before);
  await turn(LATER, true);
  assert.is(scene.bank.calls('PUT devolucao').length, before + 1);
});

test('the refusal of a first order counts, unless another process may have sent it meanwhile', async () => {
  const { endToEndId } = scene.bank.state.pay({ amount: '10.00', key: OUR_KEY });
  const returns = new Returns(scene.us.payments, PACE, new LastWords(), NOTES);
  const turn = (isOurs: boolean): Promise<ReturnTurn> => {
    scene.bank.fault('PUT devolucao', { kind: 'answer', status: 400, body: DUPLICATE });
    const attempt = { ...FIRST, isStillOurs: async () => isOurs };
    return returns.giveBack({ endToEndId, amount: 1_000, reason: 'x' }, attempt);
  };
  assert.match((await turn(true)).failed ?? '', /PixDevolucaoInvalida/);
  const refusal = await turn(false).then(
    () => null,
    (error: unknown) => error,
  );
  assert.instance(refusal, BankRefused);
});

test.run();
