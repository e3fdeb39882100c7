/** The store's own life: ping, close. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Backlog } from '../../../src/engine/store/backlog.ts';
import type { Marks } from '../../../src/engine/store/marks.ts';
import {
  type AccountTable,
  type Attention,
  type DueIndex,
  itemOf,
  type Journal,
  StoreUnavailable,
} from '../../../src/engine/store.ts';
import { appendAfter, cashoutCreated, chargeCreated, settings } from './builders.ts';
import { type ContractContext, contractPart, first, same } from './harness.ts';

/** The accounts' table has a `put`, too. */
type BacklogMethod = Exclude<keyof Backlog, 'put'> | 'put behind';

/** What a store can be asked, in all of its roles. */
type PortMethod =
  | Exclude<keyof Journal, 'log' | 'mendPlaces' | 'storedOtherwise' | 'waitingCharges'>
  | keyof DueIndex
  | keyof Attention
  | BacklogMethod
  | keyof AccountTable
  | keyof Marks
  | 'ping';

/** Fails unless the operation ends in StoreUnavailable, thrown or rejected. */
async function unavailable(what: string, operation: () => Promise<unknown>): Promise<void> {
  let error: unknown = null;
  try {
    await operation();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error instanceof StoreUnavailable, `${what} of a closed store throws StoreUnavailable`);
}

function attention(at: number) {
  return itemOf({ kind: 'dead', id: 'x', what: 'w', next: 'n' }, new Date(at).toISOString());
}

function timer(account: string, at: number) {
  return { kind: 'timer' as const, at, account, transaction: account, name: 'X', tries: 0 };
}

export function lifeContract(context: ContractContext): void {
  contractPart(context, 'life', (test) => {
    test('an open store answers', async ({ open, now }) => {
      const store = await open('a');
      await store.ping();
      await store.due.beat(now());
      await store.due.tidy(now());
    });

    test('close writes what waits', async ({ open, reopen, now }) => {
      const store = await open('a');
      const accounts = Array.from({ length: 50 }, () => randomUUID());
      const empty = await store.journal.head(first(accounts));
      const appends = accounts.map((account) => appendAfter(account, empty, [chargeCreated(now())]));
      const waiting = appends.map((append) => store.journal.append(append));
      await store.close();
      for (const result of await Promise.all(waiting)) assert.is(result.outcome, 'appended');
      const after = await reopen('b');
      for (const { batch } of appends) assert.is((await after.journal.head(batch.account)).hash, batch.hash);
    });

    test('closing again waits for the one close', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const append = appendAfter(account, await store.journal.head(account), [chargeCreated(now())]);
      const appended = store.journal.append(append);
      const ends: string[] = [];
      const once = store.close().then(() => ends.push('close'));
      await store.close().then(() => ends.push('again'));
      await once;
      same(ends, ['close', 'again']);
      assert.is((await appended).outcome, 'appended');
    });

    test('a closed store is unavailable', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const append = appendAfter(account, await store.journal.head(account), [chargeCreated(now())]);
      await store.close();
      const target = { account, url: 'https://a.example' };
      const operations: { [Method in PortMethod]: () => Promise<unknown> } = {
        head: async () => store.journal.head(account),
        read: async () => store.journal.read(account, { transactions: [account], lookups: [] }),
        append: () => store.journal.append(append),
        transaction: () => store.journal.transaction(account),
        batches: () => store.journal.batches(account, [1]),
        entries: () => store.journal.entries(account, account, [1]),
        refusals: () => store.journal.refusals(account, 0, 1),
        batchesFrom: () => store.journal.batchesFrom(account, 1, 1),
        accountIds: () => store.journal.accountIds('', 1),
        records: () => store.journal.records('', 1),
        lookups: () => store.journal.lookups(account, null, 1),
        restore: () =>
          store.journal.restore({
            ...{ account, upTo: 0, transactions: [], lookups: [] },
            gone: { transactions: [], lookups: [] },
          }),
        beat: () => store.due.beat(now()),
        claim: () => store.due.claim('timer', now(), 1),
        holds: () => store.due.holds([{ due: timer(account, now()), token: 'x' }]),
        settle: () => store.due.settle([{ claim: null, next: null, attention: attention(now()) }]),
        park: () => store.due.park([{ due: timer(account, now()), token: 'x' }]),
        unpark: () => store.due.unpark(now()),
        deliveries: () => store.journal.deliveries(account),
        page: () => store.attention.page({}, null, 1_000),
        count: () => store.attention.count({}, null),
        counts: () => store.attention.counts(),
        find: () => store.attention.find('x'),
        discount: () => store.attention.discount({ kind: 'rejected', id: 'x' }, 1),
        withdraw: () => store.attention.withdraw([{ kind: 'stuck', id: 'x' }]),
        failedDeliveries: () => store.journal.failedDeliveries({}, null, 1),
        note: () => store.attention.note([attention(now())]),
        dismiss: () => store.attention.dismiss([{ kind: 'stuck', id: 'x' }]),
        doneBy: () => store.attention.doneBy('x'),
        waiting: () => store.journal.waiting('cashout', null, new Date(now()).toISOString(), 1),
        'put behind': () => store.backlog.put([]),
        claimLooks: () => store.backlog.claimLooks(now(), 1),
        take: () => store.backlog.take(target, now(), 1),
        lookAgain: () => store.backlog.lookAgain(target, now()),
        targets: () => store.backlog.targets('', 1),
        total: () => store.backlog.total(),
        tidy: () => store.due.tidy(now()),
        dismissed: () => store.attention.dismissed(['x']),
        get: () => store.accounts.get(account),
        byClientId: () => store.accounts.byClientId('x'),
        isEmpty: () => store.accounts.isEmpty(),
        after: () => store.accounts.after('', 1),
        put: () => store.accounts.put(settings()),
        mark: () => store.marks.mark('x'),
        keepMark: () => store.marks.keepMark('x', 'y'),
        putMark: () => store.marks.putMark('x', 'y'),
        quoted: () => store.journal.quoted([], '', 1),
        newest: () => store.journal.newest(null, 1),
        placeUntil: () => store.journal.placeUntil(now()),
        swapMark: () => store.marks.swapMark('x', 'y', 'z'),
        oldest: () => store.due.oldest(now()),
        rewind: () => store.due.rewind(now()),
        unwind: () => store.due.unwind({ number: 1, ms: 1_000, since: now(), until: now() }),
        ping: () => store.ping(),
      };
      for (const [name, operation] of Object.entries(operations)) await unavailable(name, operation);
      const { journal } = store;
      if (journal.waitingCharges !== undefined)
        await unavailable('waitingCharges', async () => journal.waitingCharges?.(1));
    });

    test('closing one incarnation leaves the other', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      await a.close();
      const account = randomUUID();
      const append = appendAfter(account, await b.journal.head(account), [cashoutCreated(now())]);
      assert.is((await b.journal.append(append)).outcome, 'appended');
      await b.ping();
    });
  });
}
