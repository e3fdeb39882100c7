/** Short runs of the simulator with the real bank's adapter, and whether the audit of both books finds what is wrong. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KEY } from '../../scripts/simulation/bank/keys.ts';
import { Simulation } from '../../scripts/simulation/simulation.ts';
import type { Summary } from '../../scripts/simulation/summary.ts';
import type { FakePayment, FakeSending } from '../support/bank/state.ts';

const s = suite('simulation with a real bank');

const STEPS = 1_000;
const SEEDS = [2, 4, 5];
const runs = SEEDS.map((seed) => new Simulation(seed, STEPS, { bank: 'api-pix' }));
const summaries: Summary[] = [];

for (const [index, run] of runs.entries()) {
  s(`seed ${SEEDS[index]}: whatever becomes of calls, hints and processes, both books agree`, async () => {
    summaries.push(await run.run());
  });
}

s('in these runs enough happened at the bank, and enough went wrong on the way to it', () => {
  const sum = (of: (summary: Summary) => Record<string, number>, name: RegExp): number =>
    summaries
      .flatMap((summary) => Object.entries(of(summary)))
      .filter(([each]) => name.test(each))
      .reduce((total, [, count]) => total + count, 0);
  const lie = (name: RegExp): number => sum(({ atBank }) => atBank, name);
  const failed = (name: RegExp): number => sum(({ faults }) => faults, name);
  assert.is(summaries.length, SEEDS.length);
  assert.ok(lie(/^payment with a/) > 30);
  assert.ok(lie(/^transfer REALIZADO/) > 15);
  assert.ok(lie(/^transfer NAO_REALIZADO/) > 2);
  assert.ok(lie(/^return ORIGINAL DEVOLVIDO/) > 10);
  assert.ok(lie(/^return ORIGINAL NAO_REALIZADO/) > 0);
  assert.ok(lie(/^return MED/) > 3);
  assert.ok(failed(/^(cutAfter|failedButDone|unreadable|hidden) PUT/) > 5);
});

/** The books of the last run. */
function books() {
  const state = runs.at(-1)?.counterparty?.state;
  if (state === undefined) throw new Error('there is no bank');
  return state;
}

function audit(): void {
  runs.at(-1)?.auditBank();
}

/** One that was credited, and that nothing came back of. */
function creditedPayment(): FakePayment {
  const { charges, payments } = books();
  const isPaid = ({ txid, returns, valor }: FakePayment): boolean => {
    const charge = charges.get(txid ?? '');
    const asked = charge?.body.valor as { original: string } | undefined;
    return charge?.status === 'CONCLUIDA' && returns.length === 0 && asked?.original === valor;
  };
  return one([...payments.values()].filter(isPaid));
}

function settled(): FakeSending {
  return one([...books().sendings.values()].filter(({ status }) => status === 'REALIZADO'));
}

function one<Item>(items: Item[]): Item {
  const [first] = items;
  if (first === undefined) throw new Error('the run left no such thing');
  return first;
}

const WRONG: [string, () => () => void, RegExp][] = [
  [
    'a credit that nobody paid',
    () => {
      const payment = creditedPayment();
      books().payments.delete(payment.endToEndId);
      return () => books().payments.set(payment.endToEndId, payment);
    },
    /no payment .* has come/,
  ],
  [
    'a credit of another amount',
    () => {
      const payment = creditedPayment();
      const { valor } = payment;
      payment.valor = '999999.99';
      return () => {
        payment.valor = valor;
      };
    },
    /have come, not/,
  ],
  [
    'a payment that nobody was told of',
    () => {
      const { endToEndId } = books().pay({ amount: '1.00', key: KEY }, Date.UTC(2026, 0, 5, 12));
      return () => books().payments.delete(endToEndId);
    },
    /nobody was told of the payment/,
  ],
  [
    'a transfer that was settled and never paid',
    () => {
      const sending = settled();
      sending.status = 'NAO_REALIZADO';
      return () => {
        sending.status = 'REALIZADO';
      };
    },
    /SETTLE on cashout .*: NAO_REALIZADO/,
  ],
  [
    'a transfer that nobody ordered',
    () => {
      const id = '0'.repeat(32);
      books().sendings.set(id, { ...settled(), id });
      return () => books().sendings.delete(id);
    },
    /was ordered before the journal said so/,
  ],
  [
    'money that came back and was not booked',
    () => {
      const payment = creditedPayment();
      const made = { id: 'x', rtrId: 'D', valor: '0.01', natureza: 'MED_FRAUDE', at: 0 } as const;
      payment.returns.push({ ...made, status: 'DEVOLVIDO' });
      return () => payment.returns.pop();
    },
    /cents are booked/,
  ],
];

s('the audit agrees with books that are right', audit);

for (const [what, change, message] of WRONG) {
  s(`the audit finds ${what}`, () => {
    const undo = change();
    try {
      assert.throws(audit, message);
    } finally {
      undo();
    }
  });
}

s.run();
