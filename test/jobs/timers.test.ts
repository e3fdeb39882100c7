/** How long an expired charge waits for payments that are on their way. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Settlement } from '../../src/engine/store.ts';
import { Timers } from '../../src/jobs/timers.ts';

const test = suite('timers');

const EXPIRED = Date.UTC(2026, 0, 5, 12);
const GRACE_MS = 60_000;

/** Fires the timer of a charge that has expired, as dated by a clock that was so far ahead; when it is due again. */
async function fired(afterMs: number, ahead: number): Promise<number | null> {
  const at = new Date(EXPIRED + ahead).toISOString();
  const snapshot = { value: 'waiting_payment', context: { expiresAt: at } };
  const record = { id: 't', type: 'pix-in', final: false, timers: [{ name: 'EXPIRE', at }], snapshot };
  const settled: Settlement[] = [];
  const parts = {
    journal: { transaction: async () => record },
    due: { settle: async (some: Settlement[]) => settled.push(...some) },
    bank: { canBeAsked: false, pace: { expiryGraceMs: GRACE_MS } },
    engine: { send: async () => ({ kind: 'applied' }) },
    ...{
      payments: {},
      now: () => EXPIRED + afterMs,
      onTrouble: (error: unknown) => assert.unreachable(String(error)),
    },
  };
  const timers = new Timers(parts as unknown as ConstructorParameters<typeof Timers>[0]);
  const parties = { account: 'acc_a', transaction: 't', name: 'EXPIRE', tries: 0 };
  const due = { kind: 'timer' as const, ...parties, at: EXPIRED, ...(ahead > 0 && { ahead }) };
  await timers.fireAll([{ token: '1', due }]);
  assert.is(settled.length, 1);
  return settled[0]?.next?.at ?? null;
}

test('it waits its grace, and no longer', async () => {
  assert.is(await fired(1_000, 0), EXPIRED + GRACE_MS);
  assert.is(await fired(GRACE_MS, 0), null);
});

test('nor does one that a clock dated which was a year ahead', async () => {
  const year = 365 * 24 * 3_600_000;
  assert.is(await fired(1_000, year), EXPIRED + GRACE_MS);
  assert.is(await fired(GRACE_MS, year), null);
});

test.run();
