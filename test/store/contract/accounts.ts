/** The settings of accounts: read by id and client id, written version by version. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Account } from '../../../src/domain/account.ts';
import { pagesOfAccounts } from '../../../src/engine/store/walks.ts';
import { settings } from './builders.ts';
import { type ContractContext, contractPart, first, same, sameSet } from './harness.ts';

export function accountsContract(context: ContractContext): void {
  contractPart(context, 'accounts', (test) => {
    test('an account is put, read and listed', async ({ open, reopen }) => {
      const [a, b] = [await open('a'), await open('b')];
      const [one, two] = [
        settings({ name: 'Café "1" \u2028' }),
        settings({ webhooks: [], maxAmount: 5, expiresIn: 60 }),
      ];
      same(await a.accounts.after('', 10), []);
      assert.is(await b.accounts.isEmpty(), true);
      assert.is(await a.accounts.get(one.id), null);
      assert.is(await a.accounts.byClientId(one.clientId), null);
      assert.is(await a.accounts.put(one), true);
      assert.is(await b.accounts.isEmpty(), false);
      assert.is(await b.accounts.put(two), true);
      same(await b.accounts.get(one.id), one);
      same(await a.accounts.byClientId(two.clientId), two);
      sameSet(await a.accounts.after('', 10), [one, two]);
      assert.is(await a.accounts.byClientId(one.id), null, 'an id is no client id');
      sameSet(await (await reopen('c')).accounts.after('', 10), [one, two]);
    });

    test('all accounts are gone through in pages, in the order of their ids', async ({ open, reopen }) => {
      const store = await open('a');
      const made = Array.from({ length: 7 }, () => settings());
      await Promise.all(made.map((account) => store.accounts.put(account)));
      const inOrder = made.sort((one, other) => (one.id < other.id ? -1 : 1));
      const [, second, third] = inOrder.map(({ id }) => id);
      for (const next of [async () => store, () => reopen('b')]) {
        const { accounts } = await next();
        same(await accounts.after(second ?? '', 2), inOrder.slice(2, 4));
        same(await accounts.after(`${third}!`, 1), inOrder.slice(3, 4), 'an id that is none');
        same(await accounts.after(inOrder.at(-1)?.id ?? '', 2), []);
        for (const limit of [1, 3, 7, 8]) {
          const pages: Account[][] = [];
          for await (const page of pagesOfAccounts(accounts, limit)) pages.push(page);
          same(pages.flat(), inOrder);
          assert.is(pages.length, Math.ceil(7 / limit), `pages of ${limit}`);
        }
      }
    });

    test('a write replaces the version before it, and no other', async ({ open }) => {
      const store = await open('a');
      const one = settings();
      assert.is(await store.accounts.put({ ...one, version: 2 }), false, 'nothing to replace');
      assert.is(await store.accounts.get(one.id), null);
      assert.is(await store.accounts.put(one), true);
      assert.is(await store.accounts.put({ ...one, name: 'twice' }), false);
      assert.is(await store.accounts.put({ ...one, name: 'skips', version: 3 }), false);
      same(await store.accounts.get(one.id), one);
      const two = { ...one, name: 'new', version: 2 };
      assert.is(await store.accounts.put(two), true);
      assert.is(await store.accounts.put({ ...one, name: 'old' }), false);
      same(await store.accounts.get(one.id), two);
      same(await store.accounts.after('', 10), [two]);
    });

    test('of racers on one version exactly one wins', async ({ open }) => {
      const stores = [await open('a'), await open('b')];
      const id = randomUUID();
      for (let version = 1; version <= context.rounds; version++) {
        const racers = Array.from({ length: 16 }, (_, index) =>
          settings({ id, version, name: `racer ${index}` }),
        );
        const won = await Promise.all(
          racers.map((account, index) => (stores[index % 2] ?? first(stores)).accounts.put(account)),
        );
        const winners = racers.filter((_, index) => won[index]);
        assert.is(winners.length, 1, `version ${version}`);
        for (const store of stores) same(await store.accounts.get(id), first(winners));
        for (const racer of racers) {
          const found = await first(stores).accounts.byClientId(racer.clientId);
          same(found, racer === first(winners) ? racer : null);
        }
      }
    });

    test('after a rotation the old client id finds nothing', async ({ open, reopen }) => {
      const store = await open('a');
      const one = settings();
      await store.accounts.put(one);
      const two = { ...one, version: 2, clientId: 'client_new' };
      assert.is(await store.accounts.put(two), true);
      assert.is(await store.accounts.byClientId(one.clientId), null);
      same(await store.accounts.byClientId('client_new'), two);
      const after = await reopen('b');
      assert.is(await after.accounts.byClientId(one.clientId), null);
      same(await after.accounts.byClientId('client_new'), two);
    });
  });
}
