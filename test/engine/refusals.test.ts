/** Refusals: the bound on those that are recorded, and their codes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decideAgain } from '../../src/audit/redecide.ts';
import { WITHOUT_RETURNS } from '../../src/engine/chart.ts';
import type { Command } from '../../src/engine/commands.ts';
import { MOST_REFUSALS } from '../../src/engine/decide-message.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { project } from '../../src/engine/project.ts';
import { batchFrom, contentOf } from '../../src/engine/store/content.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { until } from '../support/wait.ts';
import { engineOn } from './on-store.ts';
import {
  ACCOUNT,
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

const s = suite('refusals');

const [A, B, C] = [uuid(1), uuid(2), uuid(3)];

/** A charge that has refused so many messages, with ids from 1 on. */
function refusedOften(count: number): Ledger {
  const ledger = new Ledger();
  ledger.commit(charge(A), charge(B));
  for (let from = 1; from <= count; from += 250) {
    const ids = Array.from({ length: Math.min(250, count - from + 1) }, (_, index) => `r${from + index}`);
    ledger.commit(...ids.map((id) => message(A, 'DISMISS', {}, { id })));
  }
  return ledger;
}

/** What became of the commands: the answer, with `+` where it left an entry and `!` where it was too much. */
function outcomes(ledger: Ledger, ...commands: Parameters<Ledger['commit']>): string[] {
  const decisions = ledger.commit(...commands);
  return decisions.map(
    ({ answer, taken, unrecorded }) =>
      `${answer.kind}${taken === null ? '' : '+'}${unrecorded === undefined ? '' : '!'}`,
  );
}

s('a refused message is recorded until there are so many, and then answered alone', () => {
  const ledger = refusedOften(MOST_REFUSALS - 1);
  const more = ['x', 'y', 'z'].map((id) => message(A, 'DISMISS', {}, { id }));
  assert.equal(outcomes(ledger, ...more), ['refused+', 'refused!', 'refused!'], 'within one batch, too');
  assert.equal(outcomes(ledger, ...more), ['refused', 'refused!', 'refused!'], 'what is recorded is known');
  const { data: _data, ...sent } = message(A, 'PAY', { amount: 'x' });
  const broken = { ...sent, kind: 'invalidMessage', problem: 'data.amount is wrong' } as const;
  assert.equal(outcomes(ledger, broken), ['invalid!']);
  assert.is(ledger.record(A).refusals, MOST_REFUSALS);
  assert.equal(outcomes(ledger, message(B, 'DISMISS')), ['refused+'], 'another transaction has its own');
  ledger.assertReplays();
});

s('what the chart takes is taken, and what must be given back is given back once', () => {
  const ledger = refusedOften(MOST_REFUSALS);
  const wrong = pay(A, 1, {}, 5);
  const again = pay(A, 1, {}, 5);
  assert.equal(outcomes(ledger, wrong, wrong, again), ['refused+', 'refused', 'refused!']);
  assert.equal(
    ledger.entries.at(-1)?.entry.orders.map(({ kind }) => kind),
    ['return'],
  );
  assert.is(ledger.record(A).refusals, MOST_REFUSALS + 1, 'it counts as well');
  assert.equal(outcomes(ledger, pay(A, 2), pay(A, 3), pay(A, 3)), ['applied+', 'refused+', 'refused!']);
  assert.is(ledger.status(A), 'paid');
  ledger.assertReplays();
});

s('what was recorded is decided again as it was, however many a replay counts', async () => {
  const ledger = refusedOften(3);
  const { seq, entry } = ledger.entries.at(-1) ?? { seq: 0, entry: null };
  if (entry === null) throw new Error('nothing was recorded');
  const record: TransactionRecord = { ...ledger.record(A), refusals: MOST_REFUSALS };
  const before = { account: ACCOUNT, seq, balances: ledger.balances, record, lookup: async () => null };
  assert.is(await decideAgain(before, entry, false), null);
});

/** The code of what the last of the commands left; those before it lead there, a batch each. */
function codeOf(...commands: Command[]): string | null {
  const ledger = new Ledger();
  ledger.surroundings = { webhooks: [], everyDoorSpeaks: false };
  for (const command of [adjustment(10_000), charge(A), charge(B), transfer(C), ...commands]) {
    ledger.now += 1_000;
    ledger.commit(command);
  }
  const { entry } = ledger.entries.at(-1) ?? { entry: null };
  if (entry === null) throw new Error('there is no entry');
  assert.is(entry.refusal === null, entry.code === null);
  return entry.code;
}

s('each refusal has a code', () => {
  const hold = (n: number) => message(A, 'HOLD', payment(n));
  const { data: _data, ...sent } = message(A, 'PAY', { amount: 'x' });
  const broken = { ...sent, kind: 'invalidMessage', problem: 'data.amount is wrong' } as const;
  assert.is(codeOf(pay(A, 1)), null);
  const same = { id: 'same' };
  assert.is(codeOf(message(C, 'START', {}, same), message(C, 'SETTLE', {}, same)), 'ID_REUSED');
  assert.is(codeOf(message(A, 'DISMISS')), 'MESSAGE_NOT_ACCEPTED');
  assert.is(codeOf(message(C, 'FAIL'), message(C, 'SETTLE')), 'PAID_TWICE');
  const canceled = message(C, 'CANCEL', {}, { door: 'ops' });
  assert.is(codeOf({ kind: 'submit', transaction: C }, canceled), 'BANK_ALONE');
  assert.is(codeOf(pay(A, 1), message(A, 'REFUND', { amount: 10_001 })), 'MORE_THAN_STANDS');
  const back = (amount: number) => message(C, 'RETURN', { returnId: 'D1', amount });
  assert.is(codeOf(message(C, 'SETTLE'), back(1_001)), 'MORE_THAN_STANDS');
  assert.is(codeOf(message(C, 'SETTLE'), back(1), back(2)), 'RETURN_DIFFERS');
  const takenBack = (amount: number) => message(A, 'REFUND', { returnId: 'D1', amount });
  assert.is(codeOf(pay(A, 1), takenBack(1), takenBack(2)), 'RETURN_DIFFERS');
  const outcome = (type: string, data: object = {}) => message(A, type, { refundId: uuid(9), ...data });
  const ordered = [pay(A, 1), refund(A, uuid(9))];
  const done = outcome('REFUND_DONE', { returnId: 'D1' });
  for (const before of [[], [outcome('REFUND_FAILED')], [outcome('REFUND_DONE')]])
    assert.is(codeOf(...ordered, takenBack(1), ...before, done), 'RETURN_COUNTED');
  assert.is(codeOf(...ordered, outcome('REFUND_DONE'), outcome('REFUND_FAILED')), 'REFUND_ENDED');
  assert.is(codeOf(...ordered, outcome('REFUND_FAILED'), outcome('REFUND_DONE')), 'REFUNDED_TWICE');
  assert.is(codeOf(pay(A, 1), pay(B, 1)), 'PAYMENT_ELSEWHERE');
  assert.is(codeOf(hold(1), pay(A, 1)), 'PAYMENT_IN_ANALYSIS');
  assert.is(codeOf(pay(A, 1, {}, 5), pay(A, 1)), 'ALREADY_RETURNED');
  assert.is(codeOf(pay(A, 1, {}, 5)), 'AMOUNT_DIFFERS');
  assert.is(codeOf(message(A, 'CANCEL'), pay(A, 1)), 'NOT_WAITING');
  assert.is(codeOf(broken), 'INVALID_DATA');
});

s('an entry without a code is stored as it ever was, and decided again as it was', async () => {
  const ledger = refusedOften(1);
  const { seq, entry } = ledger.entries.at(-1) ?? { seq: 0, entry: null };
  if (entry === null) throw new Error('nothing was recorded');
  const { kind, id, what, next } = entry.attention ?? { kind: 'refused', id: '', what: '', next: '' };
  const former = { ...entry, code: null, attention: { kind, id, what, next } };
  const around = { account: ACCOUNT, seq, id: 'x', at: entry.at, balances: ledger.balances, previous: '' };
  const text = contentOf({ ...around, entries: [former] });
  assert.not.ok(text.includes('"code"'));
  assert.equal(batchFrom(JSON.parse(text), '').entries, [former]);
  const record = ledger.record(A);
  const before = { account: ACCOUNT, seq, balances: ledger.balances, record, lookup: async () => null };
  assert.is(await decideAgain(before, former, false), null);
  assert.match((await decideAgain(before, { ...entry, code: 'BANK_ALONE' }, false)) ?? '', /other code/);
});

s('a return that a former build booked twice is decided again as it was', async () => {
  const ledger = new Ledger();
  // The present one knows a refund of the bank's own by its id, too.
  ledger.surroundings = { ...ledger.surroundings, charts: WITHOUT_RETURNS };
  ledger.commit(charge(A), pay(A, 1));
  let record = ledger.record(A);
  for (const [type, door] of [
    ['REFUND', 'ops'],
    ['CHARGEBACK', 'bank'],
  ] as const) {
    const { balances } = ledger;
    ledger.plant(record);
    ledger.commit(message(A, type, { returnId: 'D1', amount: 1_000 }, { door }));
    const { seq, entry } = ledger.entries.at(-1) ?? { seq: 0, entry: null };
    if (entry?.snapshot == null) throw new Error('nothing was booked');
    const { 'return:D1': taken, ...context } = entry.snapshot.context as Record<string, unknown>;
    assert.equal(taken, { amount: 1_000, toldAgain: false });
    const former = { ...entry, snapshot: { ...entry.snapshot, context } };
    const before = { account: ACCOUNT, seq, balances, record, lookup: async () => null };
    for (const each of [entry, former]) assert.is(await decideAgain(before, each, false), null, door);
    record = project(record, ACCOUNT, seq, former);
  }
});

s('what former builds made of the bank’s ids of returns is decided again as it was', async () => {
  const done = (n: number, data: object = { returnId: 'D1' }) =>
    message(A, 'REFUND_DONE', { refundId: uuid(n), ...data });
  const takenBack = () => message(A, 'REFUND', { returnId: 'D1', amount: 1_000 });
  for (const [code, first, second] of [
    [null, done(8), takenBack()],
    [null, takenBack(), done(8)],
    [null, done(8), done(9)],
    ['REFUND_ENDED', done(8, {}), done(8)],
  ] as const) {
    const ledger = new Ledger();
    ledger.surroundings = { ...ledger.surroundings, charts: WITHOUT_RETURNS };
    ledger.commit(charge(A), pay(A, 1), refund(A, uuid(8), 1_000), refund(A, uuid(9), 1_000));
    for (const command of [first, second]) {
      const { balances } = ledger;
      const record = ledger.record(A);
      ledger.commit(command);
      const { seq, entry } = ledger.entries.at(-1) ?? { seq: 0, entry: null };
      if (entry === null) throw new Error('there is no entry');
      const before = { account: ACCOUNT, seq, balances, record, lookup: async () => null };
      assert.is(entry.code, command === second ? code : null);
      assert.is(await decideAgain(before, entry, false), null);
    }
  }
});

const now = (): number => START;

/** An engine whose charge is at the bound; what it tells of. */
async function atTheBound() {
  const faults = new FaultPlan();
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000, faults });
  const engine = engineOn(store, now);
  await engine.send(ACCOUNT, charge(A));
  const refuse = (count: number) =>
    Promise.all(Array.from({ length: count }, () => engine.send(ACCOUNT, message(A, 'DISMISS'))));
  await refuse(MOST_REFUSALS);
  const told: string[] = [];
  const counts: number[] = [];
  const troubles: unknown[] = [];
  engine.onAttention(({ kind, id }) => told.push(`${kind} ${id}`));
  engine.onUnrecorded((count) => counts.push(count));
  engine.onTrouble((error) => troubles.push(error));
  const full = async () => (await store.attention.find(`refusals_${A}`)).map(({ about }) => about);
  return { faults, store, engine, refuse, told, counts, troubles, full };
}

s('ops are told once, and the count goes on', async () => {
  const { store, refuse, told, counts, full } = await atTheBound();
  const { seq } = await store.journal.head(ACCOUNT);
  const answers = await refuse(700);
  for (const { kind } of answers) assert.is(kind, 'refused');
  await refuse(1);
  await until(async () => (await full()).length > 0, 5_000, 'the item');
  assert.equal(await full(), [{ account: ACCOUNT, transaction: A, delivery: null, url: null }]);
  assert.equal(told, [`refused refusals_${A}`]);
  assert.is(
    counts.reduce((sum, count) => sum + count, 0),
    701,
  );
  assert.is((await store.journal.head(ACCOUNT)).seq, seq, 'no batch more');
  await store.attention.dismiss([{ kind: 'refused', id: `refusals_${A}` }]);
  await refuse(1);
  assert.equal(await full(), [], 'what is done stays done');
});

s('where it could not be noted, the next refused message has it noted', async () => {
  const { faults, refuse, troubles, full } = await atTheBound();
  faults.fail('note');
  await refuse(1);
  await until(() => troubles.length > 0, 5_000, 'the trouble');
  assert.equal(await full(), []);
  await refuse(1);
  await until(async () => (await full()).length > 0, 5_000, 'the item');
});

s.run();
