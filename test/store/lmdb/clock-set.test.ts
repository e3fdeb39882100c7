/** What a clock that was wrong made due, and was brought back, stays so whatever is left of the projections. */
import { randomUUID } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BankOrder } from '../../../src/engine/journal.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { sleep } from '../../support/wait.ts';
import { chargeCreated, grow, iso } from '../contract/builders.ts';
import { storeOptions, WRITTEN_MS, withStore } from './opened.ts';

const test = suite('a clock that is set');

const AT = Date.UTC(2026, 0, 5, 12);
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** Has a charge of an hour made by a clock that is a year ahead, and brought back; `then` before the store is closed. */
async function broughtBack(folder: string, then: () => Promise<void> = async () => {}): Promise<void> {
  let now = AT + YEAR_MS;
  const store = await openLmdbStore(storeOptions(folder, () => now));
  try {
    const timers = [{ name: 'EXPIRE', at: iso(now + HOUR_MS) }];
    await grow(store, randomUUID(), [chargeCreated(now, { timers })]);
    await sleep(WRITTEN_MS);
    now = AT;
    assert.is(await store.due.rewind(now), 1);
    await then();
  } finally {
    await store.close();
  }
}

/** When the only timer is due by a clock that is right, as far as hours tell. */
function hoursUntilDue(folder: string): Promise<number> {
  const options = storeOptions(folder, () => AT);
  return withStore(options, async (store) => {
    for (let hours = 0; hours <= 24; hours += 1)
      if ((await store.due.claim('timer', AT + hours * HOUR_MS, 10)).length > 0) return hours;
    return Number.POSITIVE_INFINITY;
  });
}

test('where they are made anew', async () => {
  await withFolder(async (folder) => {
    await broughtBack(folder);
    await rm(`${folder}/pixstate.projections`);
    assert.is(await hoursUntilDue(folder), 1);
  });
});

test('where a kill comes right after it was brought back', async () => {
  await withFolder(async (folder) => {
    const remains = `${folder}-remains`;
    try {
      await broughtBack(folder, () => cp(folder, remains, { recursive: true }));
      assert.is(await hoursUntilDue(remains), 1);
    } finally {
      await rm(remains, { recursive: true, force: true });
    }
  });
});

test('what the bank does in hours stays so, where the log is taken up and where a clock is set back', async () => {
  await withFolder(async (folder) => {
    let now = AT;
    const store = await openLmdbStore(storeOptions(folder, () => now));
    const step = AT + 24 * HOUR_MS;
    try {
      const orders: BankOrder[] = [{ kind: 'wake', step: 0, at: iso(step) }];
      await grow(store, randomUUID(), [chargeCreated(now, { orders })]);
    } finally {
      await store.close();
    }
    await rm(`${folder}/pixstate.projections`);
    const dueAt = (at: number) =>
      withStore(
        storeOptions(folder, () => now),
        async (again) => {
          await again.due.rewind(now);
          return [await again.due.claim('bank', at - 1, 10), await again.due.claim('bank', at, 10)].map(
            ({ length }) => length,
          );
        },
      );
    assert.equal(await dueAt(step), [0, 1], 'its order is as far ahead as it was made');
    now = AT - 2 * HOUR_MS;
    assert.equal(await dueAt(step - 2 * HOUR_MS), [0, 1], 'and follows the clock');
  });
});

test.run();
