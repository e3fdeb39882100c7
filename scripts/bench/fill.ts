/** Fills a store without a server: charges of some accounts, some of them paid, transfers. What is due of it stays due. */
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import type { Account } from '../../src/domain/account.ts';

export interface Filling {
  accounts: number;
  charges: number;
  /** Of each account each charge of which so many are paid is: 1 all, 2 each second one. */
  paidEach: number;
  /** Each is paid when 4,000 more are there at most; without it, after all of them: what verifies has them all open once. */
  paidSoon?: boolean;
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

/** Charges in groups, and the ones that are to be paid: after their group, or after all. */
async function chargesOf(core: Core, all: readonly Account[], filling: Filling): Promise<void> {
  const { charges, paidEach, paidSoon = false } = filling;
  let unpaid: string[] = [];
  const payAll = async (): Promise<void> => {
    await inGroups(unpaid, (id) => pay(core, id));
    unpaid = [];
  };
  for (let from = 0; from < charges; from += AT_ONCE) {
    const group = Array.from({ length: Math.min(AT_ONCE, charges - from) }, (_, index) => from + index);
    const ids = await Promise.all(group.map((n) => createCharge(core, all[n % all.length] as Account, n)));
    unpaid.push(...ids.filter((_, index) => Math.floor((from + index) / all.length) % paidEach === 0));
    if (paidSoon) await payAll();
  }
  await payAll();
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
  await chargesOf(core, all, filling);
  if (filling.withTransfers === true) await inGroups(all, (owner, n) => transfer(core, owner, n));
  await core.engine.drain(DRAIN_MS);
  await core.close();
}
