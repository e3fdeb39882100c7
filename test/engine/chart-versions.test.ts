/** Snapshots of older versions, and those that can't be read. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Migration, Snapshot } from '../../machines/index.ts';
import { take, UnreadableSnapshot, upToDate, versionOf } from '../../src/engine/chart.ts';
import { frozen, START, withMigration } from './support.ts';

const s = suite('chart: versions');

const AT = new Date(START).toISOString();
const CHARGE = { amount: 10_000, fee: { totalFee: 100, netAmount: 9_900 }, createdAt: AT, expiresAt: AT };
const TRANSFER = { amount: 1_000, fee: { totalFee: 50, netAmount: 950 }, createdAt: AT, reference: null };

function stored(machine: 'pix-in' | 'cashout', value: string, context: object): Snapshot {
  return frozen({ machine, version: versionOf(machine), value, context });
}

const isUnreadable = (error: unknown): boolean => error instanceof UnreadableSnapshot;

s('an older snapshot comes up through every version between', () => {
  withMigration(
    'pix-in@-1',
    (old) => ({ ...old, version: '0', context: { ...old.context, amount: 1 } }),
    () => {
      withMigration(
        'pix-in@0',
        (old) => ({ ...old, version: versionOf('pix-in'), value: 'waiting_payment' }),
        () => {
          const old = frozen({ machine: 'pix-in', version: '-1', value: 'open', context: CHARGE });
          const now = upToDate(old);
          assert.equal(now, {
            machine: 'pix-in',
            version: versionOf('pix-in'),
            value: 'waiting_payment',
            context: { ...CHARGE, amount: 1 },
          });
          assert.is(take(old, { type: 'EXPIRE' })?.value, 'expired');
          assert.is(old.value, 'open');
        },
      );
    },
  );
});

s('a present snapshot is given back as it is', () => {
  const snapshot = stored('cashout', 'pending', TRANSFER);
  assert.is(upToDate(snapshot), snapshot);
});

const UNREADABLE: [string, Partial<Snapshot>][] = [
  ['a machine that nobody knows', { machine: 'pix-out' }],
  ['a machine called constructor', { machine: 'constructor' }],
  ['a machine called __proto__', { machine: '__proto__' }],
  ['a machine called toString', { machine: 'toString' }],
  ['an older version without a migration', { version: '0' }],
  ['a newer version', { version: '3' }],
  ['no version', { version: '' }],
  ['a state that nobody knows', { value: 'lost' }],
  ['a state called constructor', { value: 'constructor' }],
  ['a state called __proto__', { value: '__proto__' }],
  ['a state that is no text', { value: { paid: 'x' } as unknown as string }],
  ['no state', { value: undefined as unknown as string }],
];

for (const [what, parts] of UNREADABLE) {
  s(`${what} is unreadable`, () => {
    const snapshot: Snapshot = { ...stored('pix-in', 'paid', CHARGE), ...parts };
    assert.throws(() => upToDate(snapshot), isUnreadable);
    assert.throws(() => take(snapshot, { type: 'PROTEST' }), isUnreadable);
  });
}

const BROKEN: [string, Migration][] = [
  [
    'throws',
    () => {
      throw new TypeError('no');
    },
  ],
  ['gives a state that nobody knows', (old) => ({ ...old, version: versionOf('pix-in'), value: 'lost' })],
  ['gives a version that nobody knows', (old) => ({ ...old, version: 'x' })],
  ['gives another machine', (old) => ({ ...old, version: versionOf('pix-in'), machine: 'gone' })],
  ['gives nothing', () => undefined as unknown as Snapshot],
];

for (const [what, migration] of BROKEN) {
  s(`a migration that ${what} is unreadable`, () => {
    withMigration('pix-in@0', migration, () => {
      const snapshot = { ...stored('pix-in', 'paid', CHARGE), version: '0' };
      assert.throws(() => upToDate(snapshot), isUnreadable);
    });
  });
}

s('a context that the statechart fails on is unreadable', () => {
  const snapshot = { ...stored('pix-in', 'paid', CHARGE), context: { amount: 1 } };
  assert.throws(() => take(snapshot, { type: 'REFUND' }), isUnreadable);
});

s.run();
