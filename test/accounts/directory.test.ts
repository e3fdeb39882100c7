/** Settings as requests see them: not older than half a second, and secrets that sign as long as they may. */
import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Directory } from '../../src/accounts/directory.ts';
import { Accounts, PLAIN_ACCOUNT, ROTATION_MS } from '../../src/accounts/manage.ts';
import { Sealer } from '../../src/accounts/sealing.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const s = suite('directory');

const URL = 'https://shop.example/hook';
const NEW = { ...PLAIN_ACCOUNT, name: 'Merchant', webhooks: [{ url: URL, events: null }] };

async function opened() {
  const clock = { ms: 1_800_000_000_000 };
  const now = (): number => clock.ms;
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000 });
  const sealer = new Sealer(randomBytes(32));
  const accounts = new Accounts(store.accounts, sealer, now);
  const issued = await accounts.create(NEW);
  const directory = new Directory(store.accounts, sealer, now);
  return { clock, store, sealer, accounts, issued, directory };
}

s('two secrets sign for 24 h after a rotation, then the new one alone', async () => {
  const { accounts, clock, directory, issued } = await opened();
  const old = issued.webhooks[0]?.secret;
  assert.equal(await directory.secrets(issued.accountId, URL), [old]);
  const rotated = await accounts.rotateWebhookSecret(issued.accountId, URL);
  if (!rotated) throw new Error('the URL is there');
  clock.ms += 1_000;
  assert.equal(await directory.secrets(issued.accountId, URL), [rotated.secret, old]);
  clock.ms += ROTATION_MS - 1_001;
  assert.equal(await directory.secrets(issued.accountId, URL), [rotated.secret, old]);
  clock.ms += 1;
  assert.equal(await directory.secrets(issued.accountId, URL), [rotated.secret]);
});

s('a URL that is taken off has no secret, and one that stays keeps its own', async () => {
  const { accounts, clock, directory, issued } = await opened();
  const kept = await directory.secrets(issued.accountId, URL);
  const other = 'https://shop.example/other';
  await accounts.set(issued.accountId, {
    webhooks: [
      { url: URL, events: ['pix-in.*'] },
      { url: other, events: null },
    ],
  });
  clock.ms += 1_000;
  assert.equal(await directory.secrets(issued.accountId, URL), kept);
  assert.is((await directory.secrets(issued.accountId, other)).length, 1);
  await accounts.set(issued.accountId, { webhooks: [{ url: other, events: null }] });
  clock.ms += 1_000;
  assert.equal(await directory.secrets(issued.accountId, URL), []);
});

s('a change is seen within a second, and the old client id is nobody then', async () => {
  const { accounts, clock, directory, issued } = await opened();
  assert.is((await directory.client(issued.clientId))?.status, 'active');
  await accounts.set(issued.accountId, { status: 'inactive' });
  const pair = await accounts.rotateSecret(issued.accountId);
  clock.ms += 999;
  assert.is(await directory.client(issued.clientId), null);
  const account = await directory.client(pair?.clientId ?? '');
  assert.equal([account?.id, account?.status], [issued.accountId, 'inactive']);
});

s('an account that was asked for before it was made is there as soon as it is', async () => {
  const { accounts, directory } = await opened();
  const { account } = accounts.prepare(NEW);
  assert.is(await directory.account(account.id), null);
  await accounts.insert(account);
  assert.is((await directory.account(account.id))?.id, account.id);
});

s(
  'what is read for who keeps it elsewhere is known here, too, and no later read is lost to an earlier',
  async () => {
    const { accounts, clock, store, issued } = await opened();
    let reads = 0;
    const held: (() => void)[] = [];
    let holds = false;
    const directory = new Directory(
      {
        byClientId: (id) => store.accounts.byClientId(id),
        get: async (id) => {
          reads += 1;
          const account = await store.accounts.get(id);
          if (holds) await new Promise<void>((resolve) => held.push(resolve));
          return account;
        },
      },
      new Sealer(randomBytes(32)),
      () => clock.ms,
    );
    const statusNow = async (): Promise<string | undefined> =>
      (await directory.account(issued.accountId))?.status;
    assert.is((await directory.stored.get(issued.accountId))?.status, 'active');
    assert.is(await statusNow(), 'active');
    assert.is(reads, 1);
    await directory.stored.get(issued.accountId);
    assert.is(reads, 2, 'it is read each time that it is asked for');

    clock.ms += 300;
    holds = true;
    const early = directory.stored.get(issued.accountId);
    while (held.length === 0) await new Promise(setImmediate);
    holds = false;
    await accounts.set(issued.accountId, { status: 'inactive' });
    clock.ms += 50;
    assert.is((await directory.stored.get(issued.accountId))?.status, 'inactive');
    held[0]?.();
    assert.is((await early)?.status, 'active');
    assert.is(await statusNow(), 'inactive');
    assert.is(reads, 4);
    clock.ms -= 3_600_000;
    await directory.stored.get(issued.accountId);
    assert.is(await statusNow(), 'inactive');
    assert.is(reads, 5, 'a clock that is set back makes nothing newer than it is');
  },
);

s('who asks after it was made has no share in an answer from before', async () => {
  const { accounts, clock, store } = await opened();
  const { account } = accounts.prepare(NEW);
  let reads = 0;
  let goOn = (): void => {};
  const slowly = {
    byClientId: (clientId: string) => store.accounts.byClientId(clientId),
    get: async (id: string) => {
      const found = await store.accounts.get(id);
      reads += 1;
      if (reads === 1)
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
      return found;
    },
  };
  const directory = new Directory(slowly, new Sealer(null), () => clock.ms);
  const before = directory.account(account.id);
  await Promise.resolve();
  await accounts.insert(account);
  const after = [directory.account(account.id), directory.account(account.id)];
  goOn();
  assert.is(await before, null);
  for (const found of await Promise.all(after)) assert.is(found?.id, account.id);
  assert.is(reads, 2, 'the later ones share an answer');
});

s('each secret tells since when it is, and keeps that when it is to end', async () => {
  const { accounts, clock, store, issued } = await opened();
  const made = new Date(clock.ms).toISOString();
  clock.ms += 5_000;
  await accounts.rotateWebhookSecret(issued.accountId, URL);
  clock.ms += 5_000;
  await accounts.rotateSecret(issued.accountId);
  const account = await store.accounts.get(issued.accountId);
  const later = (ms: number): string => new Date(Date.parse(made) + ms).toISOString();
  assert.equal(
    account?.webhooks[0]?.secrets.map(({ since, until }) => ({ since, until })),
    [
      { since: later(5_000), until: null },
      { since: made, until: later(5_000 + ROTATION_MS) },
    ],
  );
  assert.is(account?.secretSince, later(10_000));
});

s('secrets lie sealed in the store', async () => {
  const { store, issued } = await opened();
  const text = JSON.stringify(await store.accounts.after('', 100));
  assert.not.ok(text.includes(issued.webhooks[0]?.secret.slice('whsec_'.length) ?? ''));
  assert.not.ok(text.includes(issued.clientSecret));
});

s('secrets of settings that are read anew come from reads that began later, one for many', async () => {
  const { accounts, clock, store, sealer, issued } = await opened();
  const { accountId } = issued;
  let reads = 0;
  const held: (() => void)[] = [];
  const slowly = {
    byClientId: (clientId: string) => store.accounts.byClientId(clientId),
    get: async (id: string) => {
      reads += 1;
      const account = await store.accounts.get(id);
      if (reads > 1) await new Promise<void>((resolve) => held.push(resolve));
      return account;
    },
  };
  const read = async (): Promise<void> => {
    while (held.length === 0) await new Promise(setImmediate);
    held.shift()?.();
  };
  const directory = new Directory(slowly, sealer, () => clock.ms);
  await accounts.set(accountId, { webhooks: [] });
  assert.equal(await directory.secrets(accountId, URL), []);
  const without = Array.from({ length: 10 }, () => directory.secretsAnew(accountId, URL));
  await new Promise(setImmediate);
  const set = await accounts.set(accountId, { webhooks: NEW.webhooks });
  const secret = set?.issued[URL];
  assert.equal(await directory.secrets(accountId, URL), [], 'what is remembered still holds');
  const withUrl = Array.from({ length: 10 }, () => directory.secretsAnew(accountId, URL));
  await read();
  await read();
  for (const secrets of await Promise.all(withUrl)) assert.equal(secrets, [secret]);
  assert.equal(await without[0], []);
  assert.is(reads, 3);
  assert.equal(await directory.secrets(accountId, URL), [secret], 'and is remembered');
});

s.run();
