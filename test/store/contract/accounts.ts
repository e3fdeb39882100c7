/** Accounts' settings, and the store's own life: ping, close. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { type Store, StoreUnavailable } from '../../../src/engine/store.ts';
import { appendAfter, cashoutCreated, chargeCreated, settings } from './builders.ts';
import { type ContractContext, contractPart, first, same, sameSet } from './harness.ts';

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

export function accountsContract(context: ContractContext): void {
  contractPart(context, 'accounts', (test) => {
    test('an account is put, read and listed', async ({ open, reopen }) => {
      const [a, b] = [await open('a'), await open('b')];
      const [one, two] = [
        settings({ name: 'Café "1" \u2028' }),
        settings({ webhooks: [], maxAmount: 5, expiresIn: 60 }),
      ];
      same(await a.accounts(), []);
      assert.is(await a.account(one.id), null);
      assert.is(await a.accountByClientId(one.clientId), null);
      assert.is(await a.putAccount(one), true);
      assert.is(await b.putAccount(two), true);
      same(await b.account(one.id), one);
      same(await a.accountByClientId(two.clientId), two);
      sameSet(await a.accounts(), [one, two]);
      assert.is(await a.accountByClientId(one.id), null, 'an id is no client id');
      sameSet(await (await reopen('c')).accounts(), [one, two]);
    });

    test('a write replaces the version before it, and no other', async ({ open }) => {
      const store = await open('a');
      const one = settings();
      assert.is(await store.putAccount({ ...one, version: 2 }), false, 'nothing to replace');
      assert.is(await store.account(one.id), null);
      assert.is(await store.putAccount(one), true);
      assert.is(await store.putAccount({ ...one, name: 'twice' }), false);
      assert.is(await store.putAccount({ ...one, name: 'skips', version: 3 }), false);
      same(await store.account(one.id), one);
      const two = { ...one, name: 'new', version: 2 };
      assert.is(await store.putAccount(two), true);
      assert.is(await store.putAccount({ ...one, name: 'old' }), false);
      same(await store.account(one.id), two);
      same(await store.accounts(), [two]);
    });

    test('of racers on one version exactly one wins', async ({ open }) => {
      const stores = [await open('a'), await open('b')];
      const id = randomUUID();
      for (let version = 1; version <= context.rounds; version++) {
        const racers = Array.from({ length: 16 }, (_, index) =>
          settings({ id, version, name: `racer ${index}` }),
        );
        const won = await Promise.all(
          racers.map((account, index) => (stores[index % 2] ?? first(stores)).putAccount(account)),
        );
        const winners = racers.filter((_, index) => won[index]);
        assert.is(winners.length, 1, `version ${version}`);
        for (const store of stores) same(await store.account(id), first(winners));
        for (const racer of racers) {
          const found = await first(stores).accountByClientId(racer.clientId);
          same(found, racer === first(winners) ? racer : null);
        }
      }
    });

    test('after a rotation the old client id finds nothing', async ({ open, reopen }) => {
      const store = await open('a');
      const one = settings();
      await store.putAccount(one);
      const two = { ...one, version: 2, clientId: 'client_new' };
      assert.is(await store.putAccount(two), true);
      assert.is(await store.accountByClientId(one.clientId), null);
      same(await store.accountByClientId('client_new'), two);
      const after = await reopen('b');
      assert.is(await after.accountByClientId(one.clientId), null);
      same(await after.accountByClientId('client_new'), two);
    });
  });

  contractPart(context, 'life', (test) => {
    test('an open store answers', async ({ open, now }) => {
      const store = await open('a');
      await store.ping();
      await store.beat(now());
      await store.tidy(now());
    });

    test('close writes what waits', async ({ open, reopen, now }) => {
      const store = await open('a');
      const accounts = Array.from({ length: 50 }, () => randomUUID());
      const empty = await store.head(first(accounts));
      const appends = accounts.map((account) => appendAfter(account, empty, [chargeCreated(now())]));
      const waiting = appends.map((append) => store.append(append));
      await store.close();
      for (const result of await Promise.all(waiting)) assert.is(result.outcome, 'appended');
      const after = await reopen('b');
      for (const { batch } of appends) assert.is((await after.head(batch.account)).hash, batch.hash);
    });

    test('a closed store is unavailable', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const append = appendAfter(account, await store.head(account), [chargeCreated(now())]);
      await store.close();
      const operations: { [Method in Exclude<keyof Store, 'close'>]: () => Promise<unknown> } = {
        head: () => store.head(account),
        read: () => store.read(account, { transactions: [account], lookups: [] }),
        append: () => store.append(append),
        transaction: () => store.transaction(account),
        batches: () => store.batches(account, [1]),
        journal: () => store.journal(account, 1, 1),
        accountIds: () => store.accountIds(),
        records: () => store.records('', 1),
        lookups: () => store.lookups(account),
        beat: () => store.beat(now()),
        claim: () => store.claim('timer', now(), 1),
        settle: () => store.settle([{ claim: null, next: null, attention: attention(now()) }]),
        park: () => store.park([{ due: timer(account, now()), token: 'x' }]),
        unpark: () => store.unpark(now()),
        deliveries: () => store.deliveries(account),
        attention: () => store.attention(),
        note: () => store.note([attention(now())]),
        dismiss: () => store.dismiss('x'),
        openCashouts: () => store.openCashouts(new Date(now()).toISOString(), 1),
        tidy: () => store.tidy(now()),
        dismissed: () => store.dismissed(['x']),
        account: () => store.account(account),
        accountByClientId: () => store.accountByClientId('x'),
        accounts: () => store.accounts(),
        putAccount: () => store.putAccount(settings()),
        ping: () => store.ping(),
      };
      for (const [name, operation] of Object.entries(operations)) await unavailable(name, operation);
    });

    test('closing one incarnation leaves the other', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      await a.close();
      const account = randomUUID();
      const append = appendAfter(account, await b.head(account), [cashoutCreated(now())]);
      assert.is((await b.append(append)).outcome, 'appended');
      await b.ping();
    });
  });
}

function attention(at: number) {
  return { kind: 'dead' as const, id: 'x', what: 'w', next: 'n', since: new Date(at).toISOString() };
}

function timer(account: string, at: number) {
  return { kind: 'timer' as const, at, account, transaction: account, name: 'X', tries: 0 };
}
