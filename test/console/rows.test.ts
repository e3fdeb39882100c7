/** Rows of the live stream, and what they are told of their accounts and transactions. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT as SETTINGS } from '../../scripts/simulation/accounts.ts';
import { Known, type Row, rowsOf } from '../../src/console/server/live/rows.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { charge, pay, uuid } from '../engine/support.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('rows');

const now = (): number => 1_800_000_000_000;
const CHARGE = uuid(1);

/** A store with an account and its charge, paid; the batches that made and paid it. */
async function opened() {
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000, faults: new FaultPlan() });
  let batches = 0;
  const engine = new Engine({
    store,
    everyDoorSpeaks: true,
    now,
    newBatchId: () => `a.${++batches}`,
    stuckAfterMs: 300_000,
    settings: async () => SETTINGS,
  });
  await store.accounts.put(SETTINGS);
  await engine.send(SETTINGS.id, charge(CHARGE));
  await engine.send(SETTINGS.id, pay(CHARGE, 1));
  const [made, paid] = await store.journal.batchesFrom(SETTINGS.id, 1, 2);
  if (made === undefined || paid === undefined) throw new Error('the charge is there');
  return { store, made, paid };
}

/** The same batch of other accounts and transactions. */
function others(batch: Batch, count: number, name: string): Batch[] {
  return Array.from({ length: count }, (_, n) => ({
    ...batch,
    account: `${name} ${n}`,
    entries: batch.entries.map((entry) => ({ ...entry, transaction: `${name} ${n}` })),
  }));
}

function told(rows: readonly Row[]): unknown[] {
  return rows.map(({ text }) => {
    const { accountName, amount } = JSON.parse(text ?? '{}');
    return [accountName !== '', amount];
  });
}

test('a row has its name and amount, whatever else is learned with it', async () => {
  const { store, made, paid } = await opened();
  const known = new Known((work) => work(store));
  const MANY = 30_000;
  for (let first = 0; first < MANY; first += 3) {
    const own = rowsOf(paid);
    // So many that memory lets go of what came before, at every place of a row among them in turn.
    const beside = others(paid, 3, `${first}`).flatMap(rowsOf);
    for (const batch of others(made, 1, `new ${first}`)) known.note(batch);
    await known.complete([...own, ...beside]);
    assert.equal(told(own), [[true, 10_000]], `behind ${first}`);
    assert.equal(
      told(beside),
      Array.from({ length: 3 }, () => [false, null]),
    );
  }
});

test.run();
