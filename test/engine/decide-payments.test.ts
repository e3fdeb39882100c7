/** What is decided about payments: held, late, second, of another amount, known elsewhere, given back. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Charge } from '../../src/domain/transactions.ts';
import type { Command } from '../../src/engine/commands.ts';
import {
  adjustment,
  charge,
  endToEndId,
  type Ledger,
  message,
  pay,
  payment,
  START,
  transfer,
  uuid,
} from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: payments');

const [A, B, C] = [uuid(1), uuid(2), uuid(3)];

const hold = (transaction: string, n: number, amount?: number) =>
  message(transaction, 'HOLD', payment(n, amount));
const GIVEN_BACK = {
  answers: ['refused'],
  entries: 1,
  orders: ['return'],
  attention: ['return'],
  events: [],
};
const REFUSED = { answers: ['refused'], entries: 1, orders: [], attention: ['refused'], events: [] };

function chargeOf(ledger: Ledger): Charge {
  return ledger.record(A).snapshot.context as Charge;
}

const PAYER = { name: 'Maria', document: null, email: null, phone: null };

s("a payment shows the bank's end-to-end id, time and payer", () => {
  const data = { ...payment(1), payer: PAYER };
  const { ledger } = given(charge(A))
    .when(message(A, 'PAY', data))
    .gives({ available: 9_900 });
  const { endToEndId: id, paidAt, customer } = chargeOf(ledger);
  assert.equal([id, paidAt, customer], [endToEndId(1), data.paidAt, PAYER]);
  assert.is(ledger.lookup('payment', endToEndId(1)), A);
});

s("without a time of its own a payment has its entry's", () => {
  const { ledger } = given(charge(A))
    .at(START + 7)
    .when(message(A, 'PAY', { endToEndId: endToEndId(1) }))
    .gives({ available: 9_900 });
  assert.is(chargeOf(ledger).paidAt, new Date(START + 7).toISOString());
});

s('what a hold brought is shown from its approval on, and not before', () => {
  const data = { ...payment(1), payer: PAYER };
  const held = given(charge(A))
    .when(message(A, 'HOLD', data))
    .gives({ states: { [A]: 'in_analysis' }, available: 0 });
  assert.equal(
    [chargeOf(held.ledger).endToEndId, chargeOf(held.ledger).paidAt, chargeOf(held.ledger).customer],
    [null, null, null],
  );
  const { ledger } = given(charge(A), message(A, 'HOLD', data))
    .when(message(A, 'APPROVE'))
    .gives({ available: 9_900 });
  assert.equal(
    [chargeOf(ledger).endToEndId, chargeOf(ledger).paidAt, chargeOf(ledger).customer],
    [endToEndId(1), data.paidAt, PAYER],
  );
  // Without a time of its own it has its approval's.
  const untimed = given(charge(A), message(A, 'HOLD', { endToEndId: endToEndId(1) }))
    .at(START + 7)
    .when(message(A, 'APPROVE'))
    .gives({ available: 9_900 });
  assert.is(chargeOf(untimed.ledger).paidAt, new Date(START + 7).toISOString());
});

s('the first paidAt stays after a protest, a refund or a chargeback', () => {
  for (const types of [['PROTEST', 'DISMISS'], ['REFUND'], ['CHARGEBACK'], ['PROTEST', 'CHARGEBACK']]) {
    const { ledger } = given(charge(A), pay(A, 1))
      .at(START + 9_000)
      .when(...types.map((type) => message(A, type)))
      .gives({});
    assert.is(chargeOf(ledger).paidAt, payment(1).paidAt, types.join());
  }
});

s('a payment is known by its end-to-end id: a repeat under any message id, of any amount', () => {
  const repeats = [pay(A, 1), pay(A, 1, {}, 5), hold(A, 1)];
  for (const after of [[], ['REFUND'], ['CHARGEBACK'], ['PROTEST']]) {
    given(charge(A), pay(A, 1), ...after.map((type) => message(A, type)))
      .when(...repeats)
      .gives({ answers: ['repeated', 'repeated', 'repeated'], entries: 0 });
  }
  given(charge(A), hold(A, 1), message(A, 'APPROVE'))
    .when(...repeats)
    .gives({ entries: 0, available: 9_900 });
  given(charge(A), hold(A, 1))
    .when(hold(A, 1))
    .gives({ answers: ['repeated'], entries: 0 });
});

s('a held payment that is told as paid is refused without a return, whatever its amount', () => {
  for (const amount of [10_000, 5]) {
    given(charge(A), hold(A, 1))
      .when(pay(A, 1, {}, amount))
      .gives({ ...REFUSED, states: { [A]: 'in_analysis' }, available: 0 });
  }
});

s('a second payment of a paid or held charge is given back', () => {
  for (const first of [pay(A, 1), hold(A, 1)]) {
    for (const second of [pay(A, 2), hold(A, 2)]) given(charge(A), first).when(second).gives(GIVEN_BACK);
  }
});

s('a payment of another amount is given back; the charge waits for the right one', () => {
  for (const wrong of [pay(A, 1, {}, 9_999), hold(A, 1, 10_001)]) {
    given(charge(A), wrong)
      .when(pay(A, 2))
      .gives({ answers: ['applied'], available: 9_900 });
    const { entries } = given(charge(A))
      .when(wrong)
      .gives({ ...GIVEN_BACK, states: { [A]: 'waiting_payment' } });
    const [order] = entries[0]?.orders ?? [];
    assert.equal(order?.kind === 'return' && [order.endToEndId, order.amount], [
      endToEndId(1),
      wrong.data.amount,
    ]);
  }
});

s('a payment that comes too late is given back, once', () => {
  const ends: Command[][] = [
    [message(A, 'EXPIRE')],
    [message(A, 'CANCEL')],
    [message(A, 'REFUSE')],
    [message(A, 'FAIL')],
    [hold(A, 9), message(A, 'REFUSE')],
    [hold(A, 9), message(A, 'FAIL')],
    [pay(A, 9), message(A, 'REFUND')],
    [pay(A, 9), message(A, 'PROTEST')],
  ];
  for (const end of ends) {
    for (const late of [pay(A, 1), hold(A, 1)]) {
      given(charge(A), ...end)
        .when(late)
        .gives(GIVEN_BACK);
      // Under another message id it is another refusal, but no second return, and no news for ops.
      given(charge(A), ...end, late)
        .when(late, pay(A, 1))
        .gives({ answers: ['refused', 'refused'], entries: 1, orders: [], attention: [] });
    }
  }
});

s('a held payment that is told as paid after the charge was refused is given back', () => {
  given(charge(A), hold(A, 1), message(A, 'REFUSE')).when(pay(A, 1)).gives(GIVEN_BACK);
});

s(
  'a payment that was refused in analysis is judged afresh once the charge is refused: it is given back',
  () => {
    const told = pay(A, 1);
    given(charge(A), hold(A, 1), told, message(A, 'REFUSE'))
      .when(told)
      .gives({ answers: ['refused'], orders: ['return'] });
  },
);

s('what was given back is never credited and never given back again, wherever it is told', () => {
  const back = pay(A, 1, {}, 5);
  given(charge(A), charge(B), back)
    .when(pay(A, 1), pay(B, 1), hold(B, 1), pay(A, 1, {}, 5))
    .gives({
      answers: ['refused', 'refused', 'refused', 'refused'],
      states: { [A]: 'waiting_payment', [B]: 'waiting_payment' },
      orders: [],
      attention: [],
      available: 0,
    });
});

s('an end-to-end id credits one charge: elsewhere it is refused, recorded and not given back', () => {
  for (const first of [pay(A, 1), hold(A, 1)]) {
    for (const second of [pay(B, 1), hold(B, 1), pay(B, 1, {}, 5)]) {
      given(charge(A), charge(B), first)
        .when(second)
        .gives({ ...REFUSED, states: { [B]: 'waiting_payment' } });
    }
  }
});

s('the same end-to-end id for two charges in one batch credits the first', () => {
  given(charge(A), charge(B), charge(C))
    .when(pay(A, 1), pay(B, 1), hold(C, 1))
    .gives({ answers: ['applied', 'refused', 'refused'], available: 9_900, orders: [] });
  given(charge(A), charge(B))
    .when(pay(A, 1, {}, 5), pay(B, 1))
    .gives({ answers: ['refused', 'refused'], orders: ['return'], available: 0 });
});

s('a refund or a chargeback of more than stands is refused and recorded; of the whole it is taken', () => {
  for (const type of ['REFUND', 'CHARGEBACK']) {
    for (const before of [[], [message(A, 'PROTEST')]]) {
      const paid = () => given(charge(A), pay(A, 1), ...before);
      paid()
        .when(message(A, type, { amount: 10_001 }))
        .gives({ ...REFUSED, available: 9_900 });
      paid()
        .when(message(A, type, { amount: 10_000 }))
        .gives({ answers: ['applied'], available: 0 });
      paid()
        .when(message(A, type))
        .gives({ answers: ['applied'], available: 0 });
    }
  }
});

s('a refund or a chargeback applies whatever the balance, and cashouts are then refused', () => {
  for (const type of ['REFUND', 'CHARGEBACK']) {
    given(charge(A), pay(A, 1), transfer(B, { amount: 9_850 }))
      .when(message(A, type), transfer(C, { amount: 1, fee: { totalFee: 0, netAmount: 1 } }))
      .gives({ answers: ['applied', 'insufficientBalance'], available: -9_900 });
  }
});

s('a fee that eats all credits nothing, and posts no line of zero', () => {
  const fee = { totalFee: 100, netAmount: 0 };
  const { entries } = given(adjustment(1), charge(A, { amount: 100, fee }))
    .when(pay(A, 1, {}, 100))
    .gives({ answers: ['applied'], available: 1, events: ['pix-in.paid'] });
  assert.equal(
    entries[0]?.postings.map(({ leg, amount }) => [leg, amount]),
    [
      ['bank', -100],
      ['fees', 100],
    ],
  );
});

s.run();
