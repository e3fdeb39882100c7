/** What is decided about snapshots that are of an older version, or that nobody can read. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Migration, Snapshot } from '../../machines/index.ts';
import { versionOf } from '../../src/engine/chart.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import {
  adjustment,
  charge,
  due,
  EXPIRY,
  endToEndId,
  type Ledger,
  message,
  pay,
  payment,
  START,
  transfer,
  uuid,
  withMigration,
} from './support.ts';
import { given } from './support-scenario.ts';

const s = suite('decide: versions');

const [A, B] = [uuid(1), uuid(2)];

const opened = () => given(adjustment(10_000), transfer(A));

/** The record with parts of its snapshot changed: to what no chart of today has written. */
function altered(record: TransactionRecord, parts: Partial<Snapshot>): TransactionRecord {
  return { ...record, snapshot: { ...record.snapshot, ...parts } } as TransactionRecord;
}

function alter(parts: Partial<Snapshot>): (ledger: Ledger) => void {
  return (ledger) => ledger.plant(altered(ledger.record(A), parts));
}

s('an unreadable snapshot quarantines its own messages and timers, and nobody else', () => {
  for (const parts of [{ version: '0' }, { value: 'lost' }, { machine: 'pix-out' }]) {
    const { decisions } = given(charge(A), charge(B))
      .but(alter(parts))
      .at(START + 3_600_000)
      .but((ledger) => {
        const answers = ledger
          .commit(pay(A, 1), due(A, EXPIRY, START), pay(B, 2))
          .map(({ answer }) => answer.kind);
        assert.equal(answers, ['quarantined', 'quarantined', 'applied']);
        ledger.plant(
          altered(ledger.record(A), {
            machine: 'pix-in',
            version: versionOf('pix-in'),
            value: 'waiting_payment',
          }),
        );
      })
      .when(pay(A, 1))
      .gives({ answers: ['applied'], available: 19_800 });
    assert.is(decisions.length, 1);
  }
});

/** A version before the present one, whose first states had other names. */
const RENAMED: Record<string, string> = { open: 'waiting_payment', started: 'pending' };

function inOlderVersion(machine: 'pix-in' | 'cashout', body: () => void): void {
  withMigration(
    `${machine}@0`,
    (old) => ({ ...old, version: versionOf(machine), value: RENAMED[old.value] ?? old.value }),
    body,
  );
}

s('a payment of a charge that is stored in an older version is judged by its present state', () => {
  inOlderVersion('pix-in', () => {
    given(charge(A))
      .but(alter({ version: '0', value: 'open' }))
      .but((ledger) => {
        const [decision] = ledger.commit(pay(A, 1));
        assert.is(decision?.answer.kind, 'applied');
        assert.equal([ledger.status(A), ledger.balances.available], ['paid', 9_900]);
      });
  });
});

s('a submit of a cashout that is stored in an older version is judged by its present state', () => {
  inOlderVersion('cashout', () => {
    opened()
      .but(alter({ version: '0', value: 'started' }))
      .but((ledger) => {
        assert.is(ledger.commit({ kind: 'submit', transaction: A })[0]?.answer.kind, 'applied');
      });
  });
});

s('a refusal in an older version tells what the present state takes', () => {
  inOlderVersion('cashout', () => {
    opened()
      .but(alter({ version: '0', value: 'started' }))
      .but((ledger) => {
        const answer = ledger.commit(message(A, 'PAY', payment(1)))[0]?.answer;
        const allowed = answer?.kind === 'refused' ? [...answer.allowed].sort() : [];
        assert.equal(allowed, ['CANCEL', 'FAIL', 'REJECT', 'SETTLE', 'START']);
      });
  });
});

s('a timer of an older version stands for the timers that its migration derives anew', () => {
  inOlderVersion('pix-in', () => {
    const old = 'xstate.after.patience.pix-in.open';
    given(charge(A))
      .but((ledger) => {
        const record = ledger.record(A);
        const timers = record.timers.map(({ at }) => ({ name: old, at }));
        ledger.plant({ ...altered(record, { version: '0', value: 'open' }), timers });
      })
      .at(START + 3_599_999)
      .but((ledger) => {
        const answer = ledger.commit(due(A, old, START))[0]?.answer;
        assert.equal(answer, { kind: 'notYet', at: START + 3_600_000 });
        assert.is(ledger.commit(due(A, EXPIRY, START))[0]?.answer.kind, 'repeated');
      })
      .at(START + 3_600_000)
      .when(due(A, old, START))
      .gives({ answers: ['applied'], states: { [A]: 'expired' }, events: ['pix-in.expired'] });
  });
});

s('a late start keeps what a migration added', () => {
  const migration: Migration = (snapshot) => ({
    ...snapshot,
    version: versionOf('cashout'),
    context: { ...snapshot.context, added: 'by the migration' },
  });
  withMigration('cashout@0', migration, () => {
    opened()
      .and(message(A, 'FAIL'))
      .but(alter({ version: '0' }))
      .but((ledger) => {
        const [decision] = ledger.commit(message(A, 'START', { endToEndId: endToEndId(1) }));
        assert.is(decision?.answer.kind, 'repeated');
        const { version, context } = ledger.record(A).snapshot;
        assert.is(version, versionOf('cashout'));
        const { added, reference } = context as { added?: string; reference?: string };
        assert.equal([added, reference], ['by the migration', endToEndId(1)]);
      });
  });
});

s.run();
