/** What ops change at the same time: nothing of it is lost, and somebody who is never first is told. */
import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DoneBefore } from '../../src/accounts/last-changes.ts';
import { AccountBusy, Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { Sealer } from '../../src/accounts/sealing.ts';
import { failureOf } from '../../src/cli/failure.ts';
import type { AccountTable } from '../../src/engine/store.ts';
import { but } from '../support/but.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const s = suite('manage');

const NEW = { ...PLAIN_ACCOUNT, name: 'Merchant' };

const now = (): number => 1_800_000_000_000;

function opened(table: (store: MemoryStore) => AccountTable = ({ accounts }) => accounts) {
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000 });
  const sealer = new Sealer(randomBytes(32));
  const calm = new Accounts(store.accounts, sealer, now);
  return { store, calm, accounts: new Accounts(table(store), sealer, now) };
}

s('forty changes at once all hold', async () => {
  const { accounts, store } = opened();
  const { accountId } = await accounts.create(NEW);
  await Promise.all([
    ...Array.from({ length: 37 }, () => accounts.rotateSecret(accountId)),
    accounts.set(accountId, { status: 'inactive' }),
    accounts.set(accountId, { maxAmount: 500 }),
    accounts.set(accountId, { webhooks: [{ url: 'https://shop.example/hook', events: null }] }),
  ]);
  const account = await store.accounts.get(accountId);
  assert.is(account?.version, 41);
  assert.is(account?.status, 'inactive');
  assert.is(account?.maxAmount, 500);
  assert.is(account?.webhooks.length, 1);
});

/** A table in which somebody else changes the account before each write. */
function contested({ accounts }: MemoryStore): AccountTable {
  return {
    get: (id) => accounts.get(id),
    byClientId: (clientId) => accounts.byClientId(clientId),
    after: (...page) => accounts.after(...page),
    isEmpty: () => accounts.isEmpty(),
    put: async (account) => {
      const stored = await accounts.get(account.id);
      if (stored !== null) await accounts.put({ ...stored, version: stored.version + 1 });
      return accounts.put(account);
    },
  };
}

s('a change that is never first is tried for 5 s, changes nothing and ends in ACCOUNT_BUSY', async () => {
  const { accounts, calm, store } = opened(contested);
  const { accountId } = await calm.create(NEW);
  const startedAt = performance.now();
  let thrown: unknown = null;
  await accounts.set(accountId, { status: 'inactive' }).catch((error: unknown) => {
    thrown = error;
  });
  assert.ok(performance.now() - startedAt >= 5_000);
  assert.instance(thrown, AccountBusy);
  const { document, exitCode } = failureOf(thrown);
  assert.is(exitCode, 1);
  assert.equal(document, {
    error: 'ACCOUNT_BUSY',
    message: `account ${accountId} is being changed by others all the time: nothing was changed`,
  });
  const account = await store.accounts.get(accountId);
  assert.is(account?.status, 'active');
  assert.ok((account?.version ?? 0) > 20, 'it was tried many times');
});

s('of two processes that make a change under one id, the second finds it made', async () => {
  const { accounts, calm, store } = opened((store) =>
    but(store.accounts, {
      put: async (account) => {
        if (account.lastChanges === undefined || account.version > 2) return store.accounts.put(account);
        await calm.rotateSecret(account.id, { id: 'turn', after: null });
        return store.accounts.put(account);
      },
    }),
  );
  const { accountId } = await calm.create(NEW);
  let thrown: unknown = null;
  await accounts.rotateSecret(accountId, { id: 'turn', after: null }).catch((error: unknown) => {
    thrown = error;
  });
  assert.instance(thrown, DoneBefore);
  assert.is((await store.accounts.get(accountId))?.version, 2);
});

s('a change of which nobody knows whether it was made ends in ACCOUNT_CHANGED', async () => {
  const { calm, store } = opened();
  const { accountId } = await calm.create(NEW);
  for (let nth = 0; nth < 20; nth++) await calm.set(accountId, {}, { id: `change ${nth}`, after: null });
  await calm.set(accountId, {}, { id: 'known', after: 'change 0' });
  const before = await store.accounts.get(accountId);
  assert.is(before?.version, 22);
  let thrown: unknown = null;
  await calm.set(accountId, {}, { id: 'unknown', after: 'change 0' }).catch((error: unknown) => {
    thrown = error;
  });
  assert.is(failureOf(thrown).code, 'ACCOUNT_CHANGED');
  assert.equal(await store.accounts.get(accountId), before);
});

s.run();
