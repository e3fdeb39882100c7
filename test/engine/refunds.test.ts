/** What is decided about refunds, parts that the bank takes back, and returns of cashouts (additions). */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bankRefundId, refundOf, refundsOf } from '../../src/domain/reversals/sums.ts';
import type { Charge } from '../../src/domain/transactions.ts';
import { webhookPayload } from '../../src/domain/webhook-payload.ts';
import type { Answer, Command, SoundMessage } from '../../src/engine/commands.ts';
import {
  adjustment,
  charge,
  Ledger,
  message,
  pay,
  payment,
  refund,
  START,
  transfer,
  uuid,
} from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: refunds');

const [A, B, C] = [uuid(1), uuid(2), uuid(3)];
const R = uuid(9);
const DAY_MS = 24 * 3_600_000;

function answerOf(ledger: Ledger, amount: number | null, n = 999): Answer | undefined {
  return ledger.commit(refund(A, uuid(n), amount))[0]?.answer;
}

function paidLedger(amount = 10_000): Ledger {
  const ledger = new Ledger();
  ledger.commit(adjustment(1_000_000), charge(A, { amount }), pay(A, 1, {}, amount));
  return ledger;
}

s(
  'a hundred refunds that the API ordered are enough, failed ones too; the bank’s own are none of them',
  () => {
    const ledger = paidLedger();
    ledger.commit(message(A, 'REFUND', { amount: 1 }));
    for (let n = 0; n < 100; n += 1) {
      const refundId = uuid(100 + n);
      assert.is(ledger.commit(refund(A, refundId, 1))[0]?.answer.kind, 'applied', `number ${n + 1}`);
      ledger.commit(message(A, 'REFUND_FAILED', { refundId }));
    }
    const answer = answerOf(ledger, 1);
    assert.is(answer?.kind, 'notRefundable');
    assert.match(answer?.kind === 'notRefundable' ? answer.reason : '', '100 refunds already');
  },
);

s('a charge may be refunded for 90 times 24 hours from its paidAt', () => {
  const paidAt = Date.parse(payment(1).paidAt);
  for (const [laterMs, kind] of [
    [90 * DAY_MS, 'applied'],
    [90 * DAY_MS + 1, 'notRefundable'],
  ] as const) {
    const ledger = paidLedger();
    ledger.now = paidAt + laterMs;
    assert.is(answerOf(ledger, 1)?.kind, kind);
  }
});

s('a charge’s age is the clock’s, though the account’s last entry lies ahead of it', () => {
  const ledger = paidLedger();
  ledger.aheadMs = 100 * DAY_MS;
  ledger.now += ledger.aheadMs;
  assert.is(answerOf(ledger, 1)?.kind, 'applied');
  ledger.assertReplays();
});

s(
  'a refund takes the balance to nothing, and not a cent below: the part of the fee that goes back counts',
  () => {
    for (const [amount, debit] of [
      [null, 9_900],
      [5_000, 4_950],
      [50, 49],
    ] as const) {
      const withBalance = (available: number) =>
        given(adjustment(available - 9_900, 'set', true), charge(A), pay(A, 1));
      withBalance(debit)
        .when(refund(A, R, amount))
        .gives({ answers: ['applied'], available: 0 });
      withBalance(debit - 1)
        .when(refund(A, R, amount))
        .gives({ answers: ['insufficientBalance'], available: debit - 1, entries: 0 });
    }
  },
);

s(
  'the state comes before the amount, and what is pending is held: 409 of a refunded one, at most 0 of a held one',
  () => {
    const ledger = paidLedger();
    ledger.commit(refund(A, R));
    assert.equal(answerOf(ledger, null), { kind: 'refundTooLarge', most: 0 });
    ledger.commit(message(A, 'REFUND_DONE', { refundId: R }));
    assert.is(ledger.status(A), 'refunded');
    assert.is(answerOf(ledger, 99_999)?.kind, 'notRefundable');
  },
);

s('a completion where less stands than its refund is taken, and an ALARM', () => {
  for (const [took, standing] of [
    [10_000, 0],
    [9_000, 1_000],
  ] as const) {
    const { ledger, entries } = given(
      adjustment(1_000_000),
      charge(A),
      pay(A, 1),
      refund(A, R, 5_000),
      message(A, 'CHARGEBACK', { amount: took }),
    )
      .when(message(A, 'REFUND_DONE', { refundId: R }))
      .gives({ answers: ['applied'], attention: ['return'] });
    const { attention = null } = entries[0] ?? {};
    assert.is(attention?.code, 'REFUNDED_TOO_MUCH');
    assert.match(attention?.what ?? '', 'ALARM');
    assert.equal(attention?.data, { refundId: R, standing });
    assert.is(ledger.balances.clearing, 0);
  }
});

s('of a refund that has ended the same outcome is known, another is refused and recorded', () => {
  const outcome = (type: string, returnId?: string) =>
    message(A, type, { refundId: R, ...(returnId === undefined ? {} : { returnId }) });
  const ordered = () => given(adjustment(1_000_000), charge(A), pay(A, 1), refund(A, R, 5_000));
  const refused = { answers: ['refused'], entries: 1, attention: ['refused'], events: [] };
  ordered()
    .and(outcome('REFUND_DONE', 'D1'))
    .when(outcome('REFUND_DONE', 'D1'), outcome('REFUND_DONE'))
    .gives({ answers: ['repeated', 'repeated'], entries: 0 });
  ordered().and(outcome('REFUND_DONE', 'D1')).when(outcome('REFUND_DONE', 'D2')).gives(refused);
  ordered().and(outcome('REFUND_DONE', 'D1')).when(outcome('REFUND_FAILED')).gives(refused);
  const { entries } = ordered().and(outcome('REFUND_FAILED')).when(outcome('REFUND_DONE')).gives(refused);
  assert.match(entries[0]?.attention?.what ?? '', 'ALARM');
});

s('the bank’s id of a refund that ops ended without it is filled in when it is told, once', () => {
  for (const [type, status] of [
    ['REFUND_DONE', 'completed'],
    ['REFUND_FAILED', 'failed'],
  ] as const) {
    const outcome = (returnId?: string, parts: Partial<SoundMessage> = {}) =>
      message(A, type, { refundId: R, ...(returnId === undefined ? {} : { returnId }) }, parts);
    const { ledger, entries } = given(charge(A), pay(A, 1), refund(A, R, 3_000))
      .and(outcome(undefined, { door: 'ops' }))
      .at(START + 60_000)
      .when(outcome('D1', { id: 'dev' }), outcome('D1', { id: 'dev' }), outcome('D1'), outcome('D2'))
      .gives({
        answers: ['repeated', 'repeated', 'repeated', 'refused'],
        entries: 2,
        events: [],
        attention: ['refused'],
        available: 9_900 - (status === 'completed' ? 2_970 : 0),
      });
    assert.equal(entries[0]?.postings, []);
    const { snapshot, messages } = ledger.record(A);
    const ended = refundOf(snapshot.context as Charge, R);
    const at = new Date(START + 60_000).toISOString();
    assert.equal([ended?.status, ended?.returnId, ended?.updatedAt], [status, 'D1', at]);
    assert.ok(Object.hasOwn(messages, 'dev'));
  }
  // From then on the return counts as that refund.
  const done = (data: object) => message(A, 'REFUND_DONE', { refundId: R, ...data });
  given(charge(A), pay(A, 1), refund(A, R, 3_000), done({}), done({ returnId: 'D1' }))
    .when(message(A, 'REFUND', { amount: 3_000, returnId: 'D1' }))
    .gives({ answers: ['repeated'], available: 9_900 - 2_970 });
});

s('whoever takes the last standing cent names the state, in the entry of the part', () => {
  const paid = () => given(adjustment(1_000_000), charge(A), pay(A, 1));
  for (const [type, part, state] of [
    ['REFUND', 'refund.completed', 'refunded'],
    ['CHARGEBACK', 'chargeback.booked', 'chargedback'],
  ] as const) {
    paid()
      .and(message(A, type, { amount: 4_000 }))
      .when(message(A, type, { amount: 6_000 }))
      .gives({ entries: 1, events: [part, `pix-in.${state}`], states: { [A]: state } });
    // One message for the whole amount is no part.
    paid()
      .when(message(A, type))
      .gives({ entries: 1, events: [`pix-in.${state}`], states: { [A]: state } });
  }
  paid()
    .and(refund(A, R))
    .when(message(A, 'REFUND_DONE', { refundId: R }))
    .gives({ entries: 1, events: ['refund.completed', 'pix-in.refunded'], states: { [A]: 'refunded' } });
});

s('a pending refund stands for the bank, and a protest changes none', () => {
  given(adjustment(1_000_000), charge(A), pay(A, 1), refund(A, R), message(A, 'PROTEST'))
    .when(message(A, 'CHARGEBACK', { amount: 4_000 }))
    .gives({ answers: ['applied'], states: { [A]: 'in_protest' }, events: ['chargeback.booked'] });
  given(adjustment(1_000_000), charge(A), pay(A, 1), refund(A, R, 1_000), message(A, 'PROTEST'))
    .when(message(A, 'REFUND_DONE', { refundId: R }), message(A, 'DISMISS'))
    .gives({ answers: ['applied', 'applied'], states: { [A]: 'paid' } });
});

/** Commits a command an hour later; what merchants are told of the first event that comes of it. */
function toldOf(ledger: Ledger, command: Command): { name?: string; at: string; data?: object } {
  ledger.now += 3_600_000;
  ledger.commit(command);
  const entry = ledger.entries.at(-1)?.entry;
  const event = entry?.events[0];
  const at = new Date(ledger.now).toISOString();
  if (entry?.transaction == null || event === undefined) return { at };
  const { data } = webhookPayload(event, entry.at, ledger.record(entry.transaction));
  return { name: event.name, at, data };
}

s('the event of a booked part tells its amount, and what is booked so far', () => {
  const ledger = new Ledger();
  const own = { externalRef: 'order-7', metadata: { shop: 'x' } };
  ledger.commit(adjustment(1_000_000), charge(A, own), pay(A, 1), transfer(B, own));
  ledger.commit(message(B, 'SETTLE'));
  const expectBooked = (id: string, type: string, data: object, amount: number, total: number) => {
    const { reason = null, returnId = null } = data as { reason?: string; returnId?: string };
    const { name, at, data: told } = toldOf(ledger, message(id, type, data));
    const about = { transaction_id: id, external_ref: 'order-7', metadata: { shop: 'x' } };
    const part = { amount, total, currency: 'BRL', reason, return_id: returnId, created_at: at };
    assert.equal([name, told], [`${type.toLowerCase()}.booked`, { ...about, ...part }]);
  };
  expectBooked(A, 'CHARGEBACK', { amount: 2_500, reason: 'MED' }, 2_500, 2_500);
  // Not a chargeback's: it is no part of what they have booked.
  ledger.commit(message(A, 'REFUND', { amount: 1_000 }));
  expectBooked(A, 'CHARGEBACK', { amount: 500, returnId: 'D2' }, 500, 3_000);
  expectBooked(A, 'CHARGEBACK', {}, 6_000, 9_000);
  expectBooked(B, 'RETURN', { amount: 400, returnId: 'D3', reason: 'r' }, 400, 400);
  expectBooked(B, 'RETURN', { amount: 600, returnId: 'D4' }, 600, 1_000);
});

s('the events of a refund tell how it stands then', () => {
  const ledger = paidLedger();
  const charged = { transaction_id: A, currency: 'BRL', external_ref: null, metadata: {} };
  const begun = toldOf(ledger, refund(A, R, 5_000, { reason: 'why' }));
  const fixed = {
    ...charged,
    id: R,
    amount: 5_000,
    fee: { returned: 50 },
    reason: 'why',
    created_at: begun.at,
  };
  const pending = { ...fixed, status: 'pending', return_id: null, completed_at: null };
  assert.equal([begun.name, begun.data], ['refund.pending', pending]);
  const done = toldOf(ledger, message(A, 'REFUND_DONE', { refundId: R, returnId: 'D9' }));
  const completed = { ...fixed, status: 'completed', return_id: 'D9', completed_at: done.at };
  assert.equal([done.name, done.data], ['refund.completed', completed]);
  ledger.commit(refund(A, uuid(8), 1_000));
  const failed = toldOf(ledger, message(A, 'REFUND_FAILED', { refundId: uuid(8) }));
  const { status, amount, completed_at } = (failed.data ?? {}) as Record<string, unknown>;
  assert.equal([failed.name, status, amount, completed_at], ['refund.failed', 'failed', 1_000, null]);
});

s('a refund is ordered at the bank, and one of the bank’s own is listed beside it, the newest first', () => {
  const { entries } = given(adjustment(1_000_000), charge(A), pay(A, 1))
    .when(refund(A, R, 100))
    .gives({ orders: ['refund'] });
  assert.equal(entries[0]?.orders, [{ kind: 'refund', refundId: R }]);
  const theirs = message(A, 'REFUND', { amount: 200, reason: 'theirs' }, { id: 'own' });
  const { ledger } = given(adjustment(1_000_000), charge(A), pay(A, 1), refund(A, R, 100))
    .and(theirs)
    .when(refund(A, uuid(8), 300))
    .gives({ orders: ['refund'] });
  // Whoever decides on it again, with a later build, too, comes to the same id.
  const own = 'e23c698e-4273-43f2-b615-5a18c982d086';
  assert.is(bankRefundId(A, 'own'), own);
  assert.equal(
    refundsOf(ledger.record(A).snapshot.context as Charge).map(({ id, refund: each }) => [
      ...[id, each.number, each.amount, each.status, each.reason],
    ]),
    [
      [uuid(8), 3, 300, 'pending', null],
      [own, 2, 200, 'completed', 'theirs'],
      [R, 1, 100, 'pending', null],
    ],
  );
});

s('an entry stores the one refund that changed', () => {
  const ledger = paidLedger();
  for (let n = 0; n < 3; n += 1) ledger.commit(refund(A, uuid(20 + n), 100));
  ledger.commit(message(A, 'REFUND_DONE', { refundId: uuid(21) }));
  const context = ledger.entries.at(-1)?.entry.snapshot?.context ?? {};
  const names = Object.keys(context).filter((name) => name.startsWith('refund:'));
  assert.equal(names, [`refund:${uuid(21)}`]);
  const all = Object.keys(ledger.record(A).snapshot.context as Charge);
  assert.is(all.filter((name) => name.startsWith('refund:')).length, 3);
});

s('of money that comes back the fee stays ours, and a return counts once in the account', () => {
  const back = (transaction: string, amount: number) =>
    message(transaction, 'RETURN', { returnId: 'D1', amount });
  const { ledger } = given(adjustment(10_000), transfer(B), transfer(C))
    .and(message(B, 'SETTLE'), message(C, 'SETTLE'))
    .when(back(B, 1_000), back(C, 1_000), back(C, 1))
    .gives({ answers: ['applied', 'repeated', 'refused'], available: 10_000 - 2 * 1_050 + 1_000 });
  assert.is(ledger.balances.fees, 100);
});

s(
  'what the bank takes back under an id of its own counts once, by whichever message and type it comes',
  () => {
    const back = (type: string, amount: number | null, parts: Partial<SoundMessage> = {}, returnId = 'D1') =>
      message(A, type, amount === null ? { returnId } : { amount, returnId }, parts);
    for (const type of ['REFUND', 'CHARGEBACK']) {
      for (const word of ['REFUND', 'CHARGEBACK']) {
        const { ledger } = given(charge(A), pay(A, 1), back(type, 2_000, { door: 'ops' }))
          .when(back(word, 2_000), back(word, null), back(word, 1_999), back(word, 2_000, {}, 'D2'))
          .gives({ answers: ['repeated', 'repeated', 'refused', 'applied'], available: 9_900 - 2 * 1_980 });
        assert.is(ledger.entries.at(-2)?.entry.code, 'RETURN_DIFFERS');
      }
    }
    given(charge(A), pay(A, 1), back('CHARGEBACK', null, { door: 'ops' }))
      .when(back('CHARGEBACK', 10_000), back('REFUND', 9_999))
      .gives({ answers: ['repeated', 'refused'], states: { [A]: 'chargedback' }, available: 0 });
  },
);

s(
  'the bank’s own message for what ops have booked is known from then on: one, whatever ids it makes up',
  () => {
    const back = (id: string, parts: Partial<SoundMessage> = {}) =>
      message(A, 'CHARGEBACK', { amount: 2_000, returnId: 'D1' }, { id, ...parts });
    const { ledger } = given(charge(A), pay(A, 1), back('by-hand', { door: 'ops' }))
      .when(back('again', { door: 'ops' }), back('the-bank’s'), back('the-bank’s'), back('another'))
      .gives({
        answers: ['repeated', 'repeated', 'repeated', 'repeated'],
        entries: 1,
        events: [],
        attention: [],
      });
    const { messages, snapshot } = ledger.record(A);
    assert.equal(Object.keys(messages).slice(1), ['by-hand', 'the-bank’s']);
    assert.is(snapshot.value, 'paid');
    assert.equal(ledger.entries.at(-1)?.entry.postings, []);
  },
);

s('a return that a refund is done by isn’t debited again, whatever the bank calls it', () => {
  const done = message(A, 'REFUND_DONE', { refundId: R, returnId: 'D1' });
  for (const type of ['REFUND', 'CHARGEBACK']) {
    const back = (id: string, amount: number | null) =>
      message(A, type, { returnId: 'D1', ...(amount === null ? {} : { amount }) }, { id });
    const { ledger } = given(charge(A), pay(A, 1), refund(A, R, 3_000), done)
      .when(back('a', 3_000), back('a', 3_000), back('b', null), back('c', 2_999))
      .gives({
        answers: ['repeated', 'repeated', 'repeated', 'refused'],
        available: 9_900 - 2_970,
        // The bank's own word is known from then on, so that nobody asks about it for ever.
        entries: 2,
        attention: ['refused'],
        events: [],
      });
    assert.is(ledger.entries.at(-1)?.entry.code, 'RETURN_DIFFERS');
    assert.ok(Object.hasOwn(ledger.record(A).messages, 'a'));
    const ofFailed = message(A, 'REFUND_FAILED', { refundId: R, returnId: 'D1' });
    given(charge(A), pay(A, 1), refund(A, R, 3_000), ofFailed)
      .when(back('d', 3_000))
      .gives({ answers: ['applied'], available: 9_900 - 2_970 });
  }
});

s(
  'a refund isn’t done by a return that counts already: ops are told, and its debit can be given back',
  () => {
    const done = (refundId: string, parts: Partial<SoundMessage> = {}) =>
      message(A, 'REFUND_DONE', { refundId, returnId: 'D1' }, parts);
    for (const [type, amount] of [
      ['REFUND', 3_000],
      ['CHARGEBACK', 3_000],
      ['REFUND', 2_000],
    ] as const) {
      const { ledger, entries } = given(charge(A), pay(A, 1), refund(A, R, 3_000))
        .and(message(A, type, { returnId: 'D1', amount }))
        .when(done(R, { id: 'x' }), done(R, { id: 'x' }))
        .gives({ answers: ['refused', 'refused'], entries: 1, attention: ['refused'], events: [] });
      const [{ code = null, attention = null } = {}] = entries;
      assert.is(code, 'RETURN_COUNTED');
      assert.match(attention?.what ?? '', 'ALARM');
      assert.match(attention?.next ?? '', `send ${A} REFUND_FAILED --data '{"refundId":"${R}"}'`);
      ledger.commit(message(A, 'REFUND_FAILED', { refundId: R }, { door: 'ops' }));
      assert.equal(ledger.commit(done(R, { id: 'x' }))[0]?.taken, null, 'it is known');
      assert.is(ledger.balances.available, 9_900 - amount * 0.99);
      assert.is(ledger.balances.clearing, 0);
    }
    // Of two refunds that the bank has done by one return nobody here knows which.
    const { ledger } = given(charge(A), pay(A, 1), refund(A, R, 3_000), refund(A, uuid(8), 3_000), done(R))
      .when(done(uuid(8)), message(A, 'REFUND_DONE', { refundId: uuid(8), returnId: 'D2' }))
      .gives({ answers: ['refused', 'applied'], attention: ['refused'], available: 9_900 - 2 * 2_970 });
    assert.is(ledger.balances.clearing, 0);
  },
);

s('a return of a cashout that isn’t completed is refused and recorded', () => {
  for (const before of [[], ['START'], ['FAIL'], ['REJECT'], ['CANCEL']]) {
    given(adjustment(10_000), transfer(B), ...before.map((type) => message(B, type)))
      .when(message(B, 'RETURN', { returnId: 'D1', amount: 1 }))
      .gives({ answers: ['refused'], entries: 1, attention: ['refused'], events: [] });
  }
});

s('what later words change has ended all the same: nothing of it is due', () => {
  const ledger = paidLedger();
  ledger.commit(message(A, 'REFUND'));
  ledger.commit(transfer(B), message(B, 'SETTLE'));
  for (const id of [A, B]) assert.is(ledger.record(id).final, true);
  assert.equal(ledger.record(A).timers, []);
});

s('a key of a charge stays taken whatever becomes of it', () => {
  for (const end of ['CANCEL', 'EXPIRE', 'FAIL']) {
    given(charge(A, { idempotencyKey: 'k' }), message(A, end))
      .when(charge(B, { idempotencyKey: 'k' }))
      .gives({ answers: ['duplicateKey'], entries: 0 });
  }
});

s.run();
