/** Two processes on one store whose clocks are 10 seconds apart. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Batch } from '../../src/engine/journal.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import {
  applied,
  createCharge,
  createTransfer,
  openAccount,
  openProcess,
  type Process,
  type SetClock,
  stored,
  TestBank,
} from './in-process.ts';

const test = suite('clock');

const APART_MS = 10_000;

interface Pair {
  ahead: Process;
  behind: Process;
  clocks: { ahead: SetClock; behind: SetClock };
}

function open(): Pair {
  const state = new MemoryState();
  const noon = Date.parse('2026-02-01T12:00:00.000Z');
  const clocks = { ahead: { ms: noon + APART_MS }, behind: { ms: noon } };
  return {
    ahead: openProcess({ state, clock: clocks.ahead, bank: new TestBank() }),
    behind: openProcess({ state, clock: clocks.behind, bank: new TestBank() }),
    clocks,
  };
}

function expectOrder(batches: readonly Batch[]): void {
  const times = batches.flatMap(({ at, entries }) => [...entries.map((entry) => entry.at), at]);
  assert.equal(times, [...times].sort(), 'a time goes back');
  assert.equal(
    batches.map(({ seq }) => seq),
    batches.map((_, index) => index + 1),
    'a gap in the journal',
  );
  for (const [index, { previous }] of batches.entries()) {
    if (index > 0) assert.is(previous, batches[index - 1]?.hash, 'the chain is broken');
  }
}

test('in turns and at the same moment, times of an account’s entries never go back', async () => {
  const { ahead, behind, clocks } = open();
  const account = await openAccount(ahead, clocks.ahead, 1_000_000);
  for (let round = 0; round < 20; round += 1) {
    clocks.ahead.ms += 7;
    clocks.behind.ms += 7;
    applied(await createCharge(round % 2 === 0 ? ahead : behind, account));
    const together = [ahead, behind, behind, ahead].map((process, n) =>
      createTransfer(process, account, `transfer ${round} ${n}`),
    );
    for (const answer of await Promise.all(together)) applied(answer);
  }
  const batches = await ahead.store.journal.batchesFrom(account.id, 1, 10_000);
  assert.is(
    batches.reduce((count, { entries }) => count + entries.length, 0),
    1 + 20 * 5,
  );
  expectOrder(batches);
  assert.is((await behind.store.journal.head(account.id)).balances.available, 1_000_000 - 80 * 1_050);
});

test('a charge expires neither before its time nor with a time before its creation', async () => {
  const { ahead, behind, clocks } = open();
  const account = await openAccount(ahead, clocks.ahead, 0);
  const created = applied(await createCharge(ahead, account, 60));
  const { createdAt, expiresAt } = created.snapshot.context as { createdAt: string; expiresAt: string };
  assert.is(Date.parse(expiresAt) - Date.parse(createdAt), 60_000);
  clocks.ahead.ms += 59_000;
  clocks.behind.ms += 59_000;
  for (const process of [ahead, behind]) await process.sweep();
  assert.is((await stored(behind, created.id)).snapshot.value, 'waiting_payment');
  clocks.behind.ms += APART_MS + 2_000;
  await behind.sweep();
  const after = await stored(behind, created.id);
  assert.is(after.snapshot.value, 'expired');
  assert.ok(Date.parse(after.updatedAt) >= Date.parse(expiresAt), `${after.updatedAt} before ${expiresAt}`);
  expectOrder(await behind.store.journal.batchesFrom(account.id, 1, 100));
});

test('a clock that jumps back: entries go on with the last time, and timers fire once it has caught up', async () => {
  const { ahead, clocks } = open();
  const account = await openAccount(ahead, clocks.ahead, 0);
  const created = applied(await createCharge(ahead, account, 60));
  clocks.ahead.ms -= 3_600_000;
  const later = applied(await createCharge(ahead, account, 60));
  await ahead.sweep();
  assert.is((await stored(ahead, created.id)).snapshot.value, 'waiting_payment');
  clocks.ahead.ms += 3_600_000 + 61_000;
  await ahead.sweep();
  for (const { id } of [created, later]) assert.is((await stored(ahead, id)).snapshot.value, 'expired');
  expectOrder(await ahead.store.journal.batchesFrom(account.id, 1, 100));
});

test.run();
