/** Transactions that wait for the bank: none that has ended is found to wait, whatever came between, and after a kill. */
import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Entry, TransactionRecord } from '../../../src/engine/journal.ts';
import type { Store } from '../../../src/engine/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { sleep } from '../../support/wait.ts';
import { cashoutCreated, cashoutMoved, grow, iso, refused } from '../contract/builders.ts';
import { storeOptions, WRITTEN_MS, withStore } from './opened.ts';

const test = suite('waits');

const AT = Date.UTC(2026, 0, 5, 12);

async function waitingIn(store: Store): Promise<string[]> {
  const records = await store.journal.waiting('cashout', null, iso(AT + 10_000), 10);
  return records.map(({ id }) => id);
}

/** What is found to wait by whoever opens the folder next. */
function waitingAt(folder: string): Promise<string[]> {
  return withStore(
    storeOptions(folder, () => AT),
    waitingIn,
  );
}

interface Scene {
  folder: string;
  store: Store;
  /** A transfer that waits for the bank, and lies in the projections. */
  id: string;
  add(entry: Entry): Promise<void>;
}

async function withTransfer(body: (scene: Scene) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await withStore(
      storeOptions(folder, () => AT),
      async (store) => {
        const account = randomUUID();
        const created = cashoutCreated(AT);
        const id = created.transaction;
        let known: TransactionRecord[] = (await grow(store, account, [created])).append.records;
        const add = async (entry: Entry): Promise<void> => {
          known = (await grow(store, account, [entry], { known })).append.records;
        };
        await sleep(WRITTEN_MS);
        assert.equal(await waitingIn(store), [id]);
        await body({ folder, store, id, add });
      },
    );
  });
}

function refusedTransfer(id: string): Entry {
  return { ...refused(AT + 1, id, 'pending', 'too early'), type: 'cashout' };
}

function completed(id: string): Entry {
  return cashoutMoved(AT + 2, id, 'pending', 'completed');
}

test('a message was refused to it, and it has ended before that was written', async () => {
  await withTransfer(async ({ folder, store, id, add }) => {
    await add(refusedTransfer(id));
    await add(completed(id));
    assert.equal(await waitingIn(store), []);
    await sleep(WRITTEN_MS);
    assert.equal(await waitingIn(store), []);
    await withFolder(async (remains) => {
      await cp(folder, remains, { recursive: true });
      assert.equal(await waitingAt(remains), []);
    });
  });
});

test('a message was refused to it, and both are taken up from the log at once', async () => {
  await withTransfer(async ({ folder, store, id, add }) => {
    await withFolder(async (remains) => {
      await cp(`${folder}/pixstate.projections`, `${remains}/pixstate.projections`);
      await add(refusedTransfer(id));
      await sleep(WRITTEN_MS);
      await add(completed(id));
      assert.equal(await waitingIn(store), []);
      await cp(`${folder}/pixstate.log`, `${remains}/pixstate.log`);
      assert.equal(await waitingAt(remains), []);
    });
  });
});

test.run();
