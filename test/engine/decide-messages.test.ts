/** What is decided about messages: repeats, refusals, late starts, submits, quarantine. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Transfer } from '../../src/domain/transactions.ts';
import type { SentMessage } from '../../src/engine/commands.ts';
import {
  adjustment,
  charge,
  endToEndId,
  type Ledger,
  message,
  pay,
  payment,
  transfer,
  uuid,
} from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: messages');

const [A, B] = [uuid(1), uuid(2)];
const AWKWARD = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '1', 'é', '😀'];

const opened = () => given(adjustment(10_000), transfer(A));

function contextOf(ledger: Ledger): Transfer {
  return ledger.record(A).snapshot.context as Transfer;
}

s('the same message twice has one effect', () => {
  const paid = pay(A, 1);
  given(charge(A))
    .when(paid, paid)
    .gives({ answers: ['applied', 'repeated'], available: 9_900, entries: 1, events: ['pix-in.paid'] });
  given(charge(A), paid, message(A, 'REFUND'))
    .when(paid)
    .gives({ answers: ['repeated'], states: { [A]: 'refunded' }, available: 0, entries: 0 });
});

s('an applied id with another type or data is refused, before anything else is looked at', () => {
  const sent = message(A, 'START', { endToEndId: endToEndId(1) }, { id: 'x' });
  const others = [
    message(A, 'SETTLE', { endToEndId: endToEndId(1) }, { id: 'x' }),
    message(A, 'START', { endToEndId: endToEndId(2) }, { id: 'x' }),
  ];
  for (const other of others) {
    opened()
      .and(sent)
      .when(other)
      .gives({ answers: ['refused'], states: { [A]: 'processing' }, attention: ['refused'], events: [] });
  }
});

s('an applied id is looked at before the payment that is known', () => {
  given(charge(A), pay(A, 1, { id: 'x' }))
    .when(message(A, 'PAY', { ...payment(1), note: 'more' }, { id: 'x' }))
    .gives({ answers: ['refused'], attention: ['refused'], orders: [] });
});

s('what the bank told before by another word of its counts once, whichever word came first', () => {
  const [refunded, charged] = [
    message(A, 'REFUND', { amount: 4_000 }, { id: 'D1:REFUND', sameAs: 'D1:CHARGEBACK' }),
    message(A, 'CHARGEBACK', { amount: 4_000 }, { id: 'D1:CHARGEBACK', sameAs: 'D1:REFUND' }),
  ];
  const other = message(A, 'REFUND', { amount: 4_000 }, { id: 'D2:REFUND', sameAs: 'D2:CHARGEBACK' });
  for (const [first, second] of [
    [refunded, charged],
    [charged, refunded],
  ] as const) {
    given(charge(A), pay(A, 1))
      .when(first, second, other)
      .gives({ answers: ['applied', 'repeated', 'applied'], entries: 2, available: 9_900 - 2 * 3_960 });
  }
});

s('what the bank takes back of a payment that was not credited is nothing of the charge', () => {
  const [first, second] = [endToEndId(1), endToEndId(2)];
  const takenBack = (type: string, ofPayment: string) => message(A, type, { amount: 4_000 }, { ofPayment });
  for (const type of ['CHARGEBACK', 'REFUND']) {
    given(charge(A))
      .when(pay(A, 1), pay(A, 2), takenBack(type, second))
      .gives({ answers: ['applied', 'refused', 'repeated'], states: { [A]: 'paid' }, available: 9_900 });
    given(charge(A), pay(A, 1))
      .when(takenBack(type, second), takenBack(type, first))
      .gives({ answers: ['repeated', 'applied'], entries: 1, available: 9_900 - 3_960 });
    given(charge(A))
      .when(takenBack(type, first))
      .gives({ answers: ['repeated'], entries: 0 });
  }
});

s('an id is unique within its transaction, not beyond it', () => {
  given(charge(A), charge(B), pay(A, 1, { id: 'x' }))
    .when(pay(B, 2, { id: 'x' }))
    .gives({ answers: ['applied'], states: { [B]: 'paid' } });
});

s('all doors share one set of ids', () => {
  for (const first of ['bank', 'sandbox', 'ops'] as const) {
    for (const second of ['bank', 'sandbox', 'ops'] as const) {
      const [sent, again] = [first, second].map((door) => message(A, 'START', {}, { id: 'x', door }));
      opened()
        .and(sent as SentMessage)
        .when(again as SentMessage)
        .gives({ answers: ['repeated'], entries: 0 });
    }
  }
});

s('ids that are names of every object are ids as any other', () => {
  for (const id of AWKWARD) {
    const sent = message(A, 'START', {}, { id });
    const { ledger } = opened()
      .when(sent, sent, message(A, 'SETTLE', {}, { id }))
      .gives({ answers: ['applied', 'repeated', 'refused'], states: { [A]: 'processing' }, entries: 2 });
    assert.equal(Object.keys(ledger.record(A).messages), [id]);
  }
});

s('data that has names of every object is compared as any other', () => {
  const [one, two] = ['{"__proto__":1}', '{"__proto__":2}'].map((text) =>
    message(A, 'START', JSON.parse(text), { id: 'x' }),
  ) as [SentMessage, SentMessage];
  const { entries } = opened()
    .when(one, one, two)
    .gives({ answers: ['applied', 'repeated', 'refused'] });
  assert.is(JSON.stringify(entries[0]?.message.data), '{"__proto__":1}');
});

s('a refused message may come again under its id and is judged afresh', () => {
  const settle = message(A, 'APPROVE', {}, { id: 'x' });
  given(charge(A), settle, message(A, 'HOLD', payment(1)))
    .when(settle)
    .gives({ answers: ['applied'], states: { [A]: 'paid' }, available: 9_900 });
});

s('a refused id may come again with other content', () => {
  given(charge(A), message(A, 'REFUND', {}, { id: 'x' }))
    .when(message(A, 'PAY', payment(1), { id: 'x' }))
    .gives({ answers: ['applied'], states: { [A]: 'paid' } });
});

s('the same refusal is recorded once, whatever the state; another one is another', () => {
  const early = message(A, 'DISMISS', {}, { id: 'x' });
  given(charge(A))
    .when(early, early)
    .gives({ answers: ['refused', 'refused'], entries: 1 });
  given(charge(A), early, pay(A, 1))
    .when(early)
    .gives({ answers: ['refused'], entries: 0, attention: [] });
  given(charge(A), early)
    .when(message(A, 'DISMISS', {}, { id: 'y' }), message(A, 'DISMISS', { reason: 'z' }, { id: 'x' }))
    .gives({ answers: ['refused', 'refused'], entries: 2, attention: ['refused', 'refused'] });
});

s('a refusal tells what the state takes, and keeps what was said', () => {
  const { decisions, entries } = opened()
    .when(message(A, 'PAY', { ...payment(1), unknown: { part: [1] } }))
    .gives({ answers: ['refused'], states: { [A]: 'pending' }, available: 8_950, events: [] });
  const [decision] = decisions;
  assert.equal(decision?.answer.kind === 'refused' && decision.answer.allowed.sort(), [
    'CANCEL',
    'FAIL',
    'REJECT',
    'SETTLE',
    'START',
  ]);
  assert.equal(entries[0]?.message.data, { ...payment(1), unknown: { part: [1] } });
});

s('an unknown transaction is unknown, and nothing is kept', () => {
  given(charge(A))
    .when(pay(B, 1), { kind: 'submit', transaction: B })
    .gives({ answers: ['unknown', 'unknown'], entries: 0 });
});

s('a malformed message is recorded once and changes nothing', () => {
  const { data: _data, ...sent } = message(A, 'PAY', { amount: 'x' }, { id: 'x' });
  const broken = { ...sent, kind: 'invalidMessage', problem: 'data.amount is wrong' } as const;
  given(charge(A))
    .when(broken, broken)
    .gives({
      answers: ['invalid', 'invalid'],
      states: { [A]: 'waiting_payment' },
      entries: 1,
      attention: ['invalid'],
      events: [],
    });
  given(charge(A), broken)
    .when(pay(A, 1, { id: 'x' }))
    .gives({ answers: ['applied'] });
});

s('a result that overtakes the start goes through processing', () => {
  const settle = message(A, 'SETTLE', { endToEndId: endToEndId(1) });
  const { ledger } = opened()
    .when(settle)
    .gives({
      states: { [A]: 'completed' },
      events: ['cashout.processing', 'cashout.completed'],
      available: 8_950,
    });
  assert.equal([contextOf(ledger).startImplied, contextOf(ledger).reference], [true, endToEndId(1)]);
  opened()
    .when(message(A, 'FAIL'))
    .gives({
      states: { [A]: 'failed' },
      events: ['cashout.processing', 'cashout.failed'],
      available: 10_000,
    });
});

s('after an implied start a START is answered as applied already, under any id, as often as it comes', () => {
  for (const result of ['SETTLE', 'FAIL']) {
    opened()
      .and(message(A, result, { endToEndId: endToEndId(1) }))
      .when(message(A, 'START', { endToEndId: endToEndId(2) }), message(A, 'START', {}))
      .gives({ answers: ['repeated', 'repeated'], entries: 0 });
  }
});

s('the first late START fills in a reference that is still null: an entry, no event', () => {
  const start = message(A, 'START', { endToEndId: endToEndId(1) }, { id: 'x' });
  const { ledger } = opened()
    .and(message(A, 'FAIL'))
    .and(message(A, 'START', {}))
    .when(start, message(A, 'START', { endToEndId: endToEndId(2) }), start)
    .gives({
      answers: ['repeated', 'repeated', 'repeated'],
      states: { [A]: 'failed' },
      entries: 1,
      events: [],
      attention: [],
      available: 10_000,
    });
  assert.is(contextOf(ledger).reference, endToEndId(1));
  assert.is(ledger.lookup('reference', endToEndId(1)), A);
  assert.is(ledger.lookup('reference', endToEndId(2)), null);
});

s('the id of a late START that was applied is taken', () => {
  opened()
    .and(message(A, 'FAIL'), message(A, 'START', { endToEndId: endToEndId(1) }, { id: 'x' }))
    .when(message(A, 'START', { endToEndId: endToEndId(2) }, { id: 'x' }))
    .gives({ answers: ['refused'], attention: ['refused'] });
});

s('after a start that was told a further START under another id is refused', () => {
  opened()
    .and(message(A, 'START'))
    .when(message(A, 'START'))
    .gives({ answers: ['refused'], attention: ['refused'] });
  opened()
    .and(message(A, 'START'), message(A, 'SETTLE'))
    .when(message(A, 'START'))
    .gives({ answers: ['refused'], attention: ['refused'] });
});

s('a SETTLE after a refund changes nothing and tells ops', () => {
  for (const end of ['REJECT', 'CANCEL', 'FAIL']) {
    opened()
      .and(message(A, end))
      .when(message(A, 'SETTLE', { endToEndId: endToEndId(1) }))
      .gives({ answers: ['refused'], available: 10_000, attention: ['refused'], events: [] });
  }
});

s('a submit is written down once, and only while the cashout is pending', () => {
  const submit = { kind: 'submit', transaction: A } as const;
  const { ledger } = opened()
    .when(submit, submit)
    .gives({
      answers: ['applied', 'repeated'],
      states: { [A]: 'pending' },
      entries: 1,
      events: [],
      available: 8_950,
    });
  assert.ok(ledger.record(A).submitted);
  for (const type of ['START', 'SETTLE', 'FAIL', 'REJECT', 'CANCEL']) {
    opened()
      .and(message(A, type))
      .when(submit)
      .gives({ answers: ['repeated'], entries: 0 });
  }
});

s("once submitted, CANCEL and REJECT are the bank's alone", () => {
  const submit = { kind: 'submit', transaction: A } as const;
  for (const type of ['CANCEL', 'REJECT']) {
    const byOps = message(A, type, {}, { door: 'ops' });
    opened()
      .when(byOps)
      .gives({ answers: ['applied'], available: 10_000 });
    opened()
      .and(submit)
      .when(byOps)
      .gives({ answers: ['refused'], available: 8_950, states: { [A]: 'pending' } });
    opened()
      .and(submit)
      .when(message(A, type))
      .gives({ answers: ['applied'], available: 10_000 });
    opened()
      .and(submit)
      .with({ everyDoorSpeaks: true })
      .when(byOps)
      .gives({ answers: ['applied'], available: 10_000 });
  }
  opened()
    .and(submit)
    .when(message(A, 'FAIL', {}, { door: 'ops' }))
    .gives({ answers: ['applied'], available: 10_000 });
});

s.run();
