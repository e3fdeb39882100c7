/**
 * Parts of transactions: refunds, booked parts and returns, in random sequences, held against sums that are kept
 * beside them in the additions' words.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Charge } from '../../src/domain/transactions.ts';
import type { Command } from '../../src/engine/commands.ts';
import { charge, Ledger, message, pay, refund, transfer, uuid } from '../engine/support.ts';

const s = suite('parts of transactions');

const A = uuid(1);

type Act =
  | { kind: 'order'; amount: number | null }
  | { kind: 'end'; which: number; type: 'REFUND_DONE' | 'REFUND_FAILED' }
  | { kind: 'take'; type: 'REFUND' | 'CHARGEBACK'; amount: number | null }
  | { kind: 'protest'; type: 'PROTEST' | 'DISMISS' };

/** What the additions say of a charge, counted without looking at its context. */
class Sums {
  readonly amount: number;
  readonly totalFee: number;
  readonly refunds: { amount: number; share: number; status: string }[] = [];
  /** Completed refunds, and what chargebacks booked. */
  refunded = 0;
  chargedback = 0;
  /** Of our fee. */
  returned = 0;
  state = 'paid';

  constructor(amount: number, totalFee: number) {
    this.amount = amount;
    this.totalFee = totalFee;
  }

  get standing(): number {
    return Math.max(0, this.amount - this.refunded - this.chargedback);
  }

  get pending(): number {
    return this.refunds.reduce((sum, { amount, status }) => sum + (status === 'pending' ? amount : 0), 0);
  }

  /** The fee's share of a further part: its sum rounded half up, less what went back so far. */
  #share(part: number): number {
    const sum = Math.min(this.refunded + this.chargedback + this.pending + part, this.amount);
    const share = Math.floor((this.totalFee * sum) / this.amount + 0.5);
    const gives = Math.max(0, share - this.returned);
    this.returned += gives;
    return gives;
  }

  /** The last entry brings what is missing. */
  complete(): void {
    if (this.standing === 0 && this.pending === 0) this.returned = this.totalFee;
  }

  #took(name: 'refunded' | 'chargedback', part: number): string {
    const stood = this.standing;
    this[name] += part;
    if (stood > 0 && this.standing === 0) this.state = name;
    return 'applied';
  }

  act(act: Act): string {
    const isPaid = this.state === 'paid' || this.state === 'in_protest';
    if (act.kind === 'protest') {
      const [from, to] = act.type === 'PROTEST' ? ['paid', 'in_protest'] : ['in_protest', 'paid'];
      if (this.state !== from) return 'refused';
      this.state = to ?? '';
      return 'applied';
    }
    if (act.kind === 'order') {
      if (this.state !== 'paid') return 'notRefundable';
      const remaining = Math.max(0, this.standing - this.pending);
      const amount = act.amount ?? remaining;
      if (amount < 1 || amount > remaining) return 'refundTooLarge';
      this.refunds.push({ amount, share: this.#share(amount), status: 'pending' });
      return 'applied';
    }
    if (act.kind === 'take') {
      const part = act.amount ?? this.standing;
      if (!isPaid || part < 1 || part > this.standing) return 'refused';
      this.#share(part);
      return this.#took(act.type === 'REFUND' ? 'refunded' : 'chargedback', part);
    }
    const one = this.refunds[act.which];
    const to = act.type === 'REFUND_DONE' ? 'completed' : 'failed';
    if (one === undefined || (one.status !== 'pending' && one.status !== to)) return 'refused';
    if (one.status === to) return 'repeated';
    one.status = to;
    if (to === 'failed') this.returned -= one.share;
    return to === 'completed' ? this.#took('refunded', one.amount) : 'applied';
  }
}

function commandOf(act: Act, orders: { count: number }): Command {
  if (act.kind === 'order') {
    orders.count += 1;
    return refund(A, uuid(100 + orders.count), act.amount);
  }
  if (act.kind === 'end') return message(A, act.type, { refundId: uuid(101 + act.which) });
  return message(A, act.type, act.kind === 'take' && act.amount !== null ? { amount: act.amount } : {});
}

/** Orders that were turned down have no number. */
function renumbered(sums: Sums, orders: { count: number }): void {
  orders.count = sums.refunds.length;
}

const AMOUNT = 100;
const amounts = fc.option(fc.integer({ min: 1, max: AMOUNT + 1 }), { nil: null });
const acts = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('order' as const), amount: amounts }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.integer({ min: 0, max: 3 }),
      type: fc.constantFrom('REFUND_DONE' as const, 'REFUND_FAILED' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      type: fc.constantFrom('REFUND' as const, 'CHARGEBACK' as const),
      amount: amounts,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('protest' as const),
      type: fc.constantFrom('PROTEST' as const, 'DISMISS' as const),
    }),
  },
);

function assertSums(ledger: Ledger, sums: Sums): void {
  const { balances } = ledger;
  assert.is(ledger.status(A), sums.state);
  assert.is(balances.clearing, sums.pending, 'what waits lies in clearing');
  const gone = sums.refunded + sums.chargedback;
  assert.is(balances.bank, gone - sums.amount - OPENING, 'what the bank took');
  assert.is(balances.fees, sums.totalFee - sums.returned, 'the fee that is ours still');
  const left = sums.amount - sums.totalFee - gone - sums.pending + sums.returned;
  assert.is(balances.available, OPENING + left, 'what the merchant has');
  const { reversals } = ledger.record(A).snapshot.context as Charge;
  assert.is(reversals?.refunded ?? 0, sums.refunded);
  assert.is(reversals?.chargedback ?? 0, sums.chargedback);
}

const OPENING = 1_000_000;

s('whatever comes in whatever order, the sums are what the additions say', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.integer({ min: 0, max: AMOUNT }), fc.array(acts, { maxLength: 14 }), (totalFee, list) => {
      const ledger = new Ledger();
      ledger.commit({
        kind: 'adjust',
        id: 'o',
        amount: OPENING,
        reason: '',
        allowNegative: false,
        digest: 'o',
      });
      const fee = { totalFee, netAmount: AMOUNT - totalFee };
      ledger.commit(charge(A, { amount: AMOUNT, fee }));
      ledger.commit(pay(A, 1, {}, AMOUNT));
      const sums = new Sums(AMOUNT, totalFee);
      const orders = { count: 0 };
      for (const act of list) {
        const [decision] = ledger.commit(commandOf(act, orders));
        const expected = sums.act(act);
        if (expected === 'applied') sums.complete();
        assert.is(decision?.answer.kind, expected, JSON.stringify(act));
        seen.add(`${act.kind} ${expected} ${sums.state}`);
        renumbered(sums, orders);
        assertSums(ledger, sums);
      }
      ledger.assertReplays();
    }),
    { numRuns: 2_000 },
  );
  for (const line of ['end applied refunded', 'end applied chargedback', 'order notRefundable in_protest'])
    assert.ok(seen.has(line), `nobody came by ${line}`);
});

s('returns of a cashout never exceed its amount, and each counts once', () => {
  const part = fc.record({ id: fc.integer({ min: 1, max: 4 }), amount: fc.integer({ min: 1, max: 12 }) });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 10 }), (parts) => {
      const ledger = new Ledger();
      ledger.commit({ kind: 'adjust', id: 'o', amount: 100, reason: '', allowNegative: false, digest: 'o' });
      ledger.commit(transfer(A, { amount: 20, fee: { totalFee: 5, netAmount: 15 } }));
      ledger.commit(message(A, 'SETTLE'));
      const known = new Map<number, number>();
      let sum = 0;
      for (const { id, amount } of parts) {
        const [decision] = ledger.commit(message(A, 'RETURN', { returnId: `D${id}`, amount }));
        const before = known.get(id);
        const fits = before === undefined && sum + amount <= 20;
        const again = before === amount ? 'repeated' : 'refused';
        assert.is(decision?.answer.kind, fits ? 'applied' : again);
        if (!fits) continue;
        known.set(id, amount);
        sum += amount;
      }
      assert.equal([ledger.balances.available, ledger.balances.bank], [75 + sum, -80 - sum]);
      assert.is(ledger.status(A), 'completed');
      ledger.assertReplays();
    }),
  );
});

s.run();
