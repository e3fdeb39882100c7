/** Which refusals have stood for their time. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusals } from '../../src/bank/refusals.ts';
import type { BankOrder } from '../../src/engine/journal.ts';
import type { DueOrder } from '../../src/engine/store/due.ts';

const test = suite('refusals');

const STANDS_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

function orderOf(transaction: string, order: BankOrder = { kind: 'payout' }): DueOrder {
  return { kind: 'bank', at: 0, account: 'a', transaction, tries: 0, order };
}

function opened() {
  const clock = { ms: 0 };
  return { clock, refusals: new Refusals(() => clock.ms, STANDS_MS) };
}

test('however many stand at once, each counts after its time', () => {
  const { clock, refusals } = opened();
  const orders = Array.from({ length: 50_000 }, (_, n) => orderOf(`t${n}`));
  for (const order of orders) refusals.heard(order);
  clock.ms = STANDS_MS;
  assert.ok(orders.every((order) => refusals.leftMs(order) === 0));
});

test('each order has its own, and one that is refused anew stands anew', () => {
  const { clock, refusals } = opened();
  const refund = (refundId: string) => orderOf('t', { kind: 'refund', refundId });
  const back = (number: number) =>
    orderOf('t', { kind: 'return', endToEndId: 'E1', amount: 1, reason: '', number });
  const orders = [orderOf('t'), orderOf('u'), refund('r'), refund('s'), back(1), back(2)];
  for (const order of orders) {
    refusals.heard(order);
    clock.ms += 1_000;
  }
  const left = () => orders.map((order) => refusals.leftMs(order));
  assert.equal(left(), [54_000, 55_000, 56_000, 57_000, 58_000, 59_000]);
  refusals.heard(refund('r'));
  assert.equal(left(), [54_000, 55_000, 60_000, 57_000, 58_000, 59_000]);
});

test('one of a day before is forgotten, and stands anew', () => {
  const { clock, refusals } = opened();
  refusals.heard(orderOf('t'));
  refusals.heard(orderOf('u'));
  clock.ms = DAY_MS;
  assert.is(refusals.leftMs(orderOf('u')), 0);
  refusals.heard(orderOf('v'));
  assert.equal(
    ['t', 'u', 'v'].map((each) => refusals.leftMs(orderOf(each))),
    [STANDS_MS, STANDS_MS, STANDS_MS],
  );
});

test.run();
