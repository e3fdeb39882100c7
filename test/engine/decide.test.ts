/** What is decided about an account: keys, balances, adjustments, expiry. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '../../src/engine/commands.ts';
import { adjustment, charge, message, pay, transfer, uuid } from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: the account');

const [A, B, C] = [uuid(1), uuid(2), uuid(3)];
const AWKWARD = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'a:b', ' ', '😀'];

function only(answers: readonly { answer: Answer }[]): Answer {
  const [first] = answers;
  if (first === undefined || answers.length !== 1) throw new Error('one answer was expected');
  return first.answer;
}

s('a cashout takes amount plus fee at once, and orders the payout', () => {
  given(adjustment(10_000))
    .when(transfer(A))
    .gives({
      answers: ['applied'],
      states: { [A]: 'pending' },
      available: 8_950,
      events: ['cashout.pending'],
      orders: ['payout'],
    });
});

s('amount plus fee may take the last cent, and not one more', () => {
  given(adjustment(1_050))
    .when(transfer(A))
    .gives({ answers: ['applied'], available: 0 });
  const { decisions, ledger } = given(adjustment(1_049))
    .when(transfer(A))
    .gives({ answers: ['insufficientBalance'], available: 1_049, entries: 0 });
  assert.equal(only(decisions), { kind: 'insufficientBalance', available: 1_049 });
  assert.not.ok(ledger.has(A));
});

s('without a balance there is no cashout, and none is taken from a debt', () => {
  given()
    .when(transfer(A, { amount: 1, fee: { totalFee: 0, netAmount: 1 } }))
    .gives({
      answers: ['insufficientBalance'],
      entries: 0,
    });
  given(adjustment(-1, 'debt', true))
    .when(transfer(A, { amount: 1, fee: { totalFee: 0, netAmount: 1 } }))
    .gives({ answers: ['insufficientBalance'], available: -1, entries: 0 });
});

s('two cashouts in one batch: the balance suffices for one', () => {
  given(adjustment(2_099))
    .when(transfer(A), transfer(B))
    .gives({ answers: ['applied', 'insufficientBalance'], available: 1_049, entries: 1 });
});

s('a cashout that is too large does not stop a smaller one behind it', () => {
  given(adjustment(1_500))
    .when(transfer(A, { amount: 1_600 }), transfer(B))
    .gives({ answers: ['insufficientBalance', 'applied'], states: { [B]: 'pending' }, available: 450 });
});

s('what a payment brings in a batch may be sent on in the same batch', () => {
  given(charge(A))
    .when(transfer(B), pay(A, 1), transfer(C))
    .gives({ answers: ['insufficientBalance', 'applied', 'applied'], available: 9_900 - 1_050 });
});

s('what a refusal by the bank gives back can be sent in the same batch', () => {
  given(adjustment(1_050), transfer(A))
    .when(message(A, 'REJECT'), transfer(B))
    .gives({ answers: ['applied', 'applied'], available: 0 });
});

s('the key comes before the balance: a repeat after the money went gets its 409', () => {
  const { decisions } = given(adjustment(1_050), transfer(A, { idempotencyKey: 'k' }))
    .when(transfer(B, { idempotencyKey: 'k' }))
    .gives({ answers: ['duplicateKey'], available: 0, entries: 0 });
  assert.equal(only(decisions), { kind: 'duplicateKey', transaction: A });
});

s('a key stays taken whatever becomes of its cashout and whatever else the repeat says', () => {
  given(adjustment(10_000), transfer(A, { idempotencyKey: 'k' }), message(A, 'REJECT'))
    .when(transfer(B, { idempotencyKey: 'k', amount: 5 }))
    .gives({ answers: ['duplicateKey'], available: 10_000, entries: 0 });
});

s('two with one key in one batch: one is created', () => {
  given(adjustment(10_000))
    .when(transfer(A, { idempotencyKey: 'k' }), transfer(B, { idempotencyKey: 'k' }))
    .gives({ answers: ['applied', 'duplicateKey'], available: 8_950, entries: 1 });
});

s('a key of a cashout that was refused stays free', () => {
  given(adjustment(1_000))
    .and(transfer(A, { idempotencyKey: 'k' }))
    .and(adjustment(50, 'more'))
    .when(transfer(B, { idempotencyKey: 'k' }))
    .gives({ answers: ['applied'], available: 0 });
});

s('without a key each request is a new cashout', () => {
  given(adjustment(10_000))
    .when(transfer(A), transfer(B))
    .gives({ answers: ['applied', 'applied'] });
});

s('keys that are names of every object are keys as any other', () => {
  for (const key of AWKWARD) {
    given(adjustment(10_000))
      .when(transfer(A, { idempotencyKey: key }), transfer(B, { idempotencyKey: key }))
      .gives({ answers: ['applied', 'duplicateKey'], entries: 1 });
  }
});

s('an adjustment posts between bank and available, once for an id', () => {
  const { entries, decisions } = given()
    .when(adjustment(500, 'a'), adjustment(500, 'a'), adjustment(500, 'b'))
    .gives({ answers: ['adjusted', 'adjusted', 'adjusted'], available: 1_000, entries: 2, events: [] });
  assert.equal(
    decisions.map(({ answer }) => answer.kind === 'adjusted' && [answer.balance, answer.applied]),
    [
      [500, true],
      [500, false],
      [1_000, true],
    ],
  );
  assert.equal(entries[0]?.postings, [
    { leg: 'bank', amount: -500 },
    { leg: 'available', amount: 500 },
  ]);
});

s('the same adjustment id with another amount is turned down and leaves nothing', () => {
  given(adjustment(500, 'a'))
    .when(adjustment(501, 'a'))
    .gives({ answers: ['notAdjusted'], available: 500, entries: 0 });
});

s('an adjustment goes below zero only where it says so', () => {
  given(adjustment(500))
    .when(adjustment(-500, 'a'))
    .gives({ answers: ['adjusted'], available: 0 });
  given(adjustment(500))
    .when(adjustment(-501, 'a'))
    .gives({ answers: ['notAdjusted'], available: 500, entries: 0 });
  given(adjustment(500))
    .when(adjustment(-501, 'a', true))
    .gives({ answers: ['adjusted'], available: -1 });
});

s('a deposit into a debt is taken, though it does not cover it', () => {
  given(adjustment(-500, 'a', true))
    .when(adjustment(1, 'b'))
    .gives({ answers: ['adjusted'], available: -499 });
});

s('an id that was turned down may be used again', () => {
  given()
    .and(adjustment(-5, 'a'))
    .when(adjustment(5, 'a'))
    .gives({ answers: ['adjusted'], available: 5 });
});

s('adjustment ids that are names of every object are ids as any other', () => {
  for (const id of AWKWARD) {
    given()
      .when(adjustment(7, id), adjustment(7, id))
      .gives({ answers: ['adjusted', 'adjusted'], available: 7, entries: 1 });
  }
});

s.run();
