/** Fills a store without a server: charges of some accounts, some of them paid, transfers. What is due of it stays due. */
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import type { Account } from '../../src/domain/account.ts';

export interface Filling {
  accounts: number;
  charges: number;
  /** Of each account each charge of which so many are paid is: 1 all, 2 each second one. */
  paidEach: number;
  /** Each account that was paid sends some of it on, under a key. */
  withTransfers?: true;
  /** What the accounts' events go to. */
  url?: string;
}

const AT_ONCE = 4_000;
const DRAIN_MS = 60_000;

const SETTINGS = {
  allowedIps: ['*'],
  fees: null,
  expiresIn: null,
  maxAmount: null,
  pixKey: null,
  merchantName: null,
  merchantCity: null,
};

async function createCharge({ payments }: Core, owner: Account, n: number): Promise<string> {
  const request = {
    amount: 10_000,
    externalRef: `order ${n}`,
    description: 'A cup of coffee',
    additionalInfo: null,
    customer: { name: 'Ana', document: null, email: null, phone: null },
    metadata: { table: n % 50 },
    expiresIn: null,
  };
  const answer = await payments.createCharge(owner, request, {});
  if (answer.kind !== 'applied') throw new Error(`a charge was answered ${answer.kind}`);
  return answer.record.id;
}

async function pay({ payments, store }: Core, id: string): Promise<void> {
  const record = await store.journal.transaction(id);
  if (record === null) throw new Error(`${id} is gone`);
  await payments.tell(record, { id: `pay ${id}`, type: 'PAY', data: {} }, 'ops');
}

async function transfer({ payments }: Core, owner: Account, n: number): Promise<void> {
  const request = {
    amount: 1_000,
    idempotencyKey: `transfer ${n}`,
    externalRef: null,
    description: null,
    metadata: {},
    ...({ pixKeyType: 'EMAIL', pixKey: 'someone@example.com' } as const),
  };
  const answer = await payments.createTransfer(owner, request, {});
  if (answer.kind !== 'applied') throw new Error(`a transfer was answered ${answer.kind}`);
}

async function inGroups<Item>(items: readonly Item[], work: (item: Item, index: number) => Promise<void>) {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    await Promise.all(items.slice(from, from + AT_ONCE).map((item, index) => work(item, from + index)));
  }
}

async function owners(core: Core, { accounts, url }: Filling): Promise<Account[]> {
  const all: Account[] = [];
  const webhooks = url === undefined ? [] : [{ url, events: null }];
  for (let n = 0; n < accounts; n++) {
    const { accountId } = await core.accounts.create({ ...SETTINGS, webhooks, name: `Shop ${n}` });
    const owner = await core.store.accounts.get(accountId);
    if (owner !== null) all.push(owner);
  }
  return all;
}

/** Fills the store that the environment names. */
export async function fill(env: Record<string, string>, filling: Filling): Promise<void> {
  const onFatal = (error: Error): void => {
    throw error;
  };
  const core = await openCore(readConfig(env), { onFatal });
  await core.ready;
  const all = await owners(core, filling);
  const ids: string[] = new Array(filling.charges).fill('');
  await inGroups(ids, async (_, n) => {
    const owner = all[n % all.length];
    if (owner !== undefined) ids[n] = await createCharge(core, owner, n);
  });
  const paid = ids.filter((_, n) => Math.floor(n / all.length) % filling.paidEach === 0);
  await inGroups(paid, (id) => pay(core, id));
  if (filling.withTransfers === true) await inGroups(all, (owner, n) => transfer(core, owner, n));
  await core.engine.drain(DRAIN_MS);
  await core.close();
}
