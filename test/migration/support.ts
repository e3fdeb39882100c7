/** Stores to move between: filled by a real engine, looked at as a whole, and killed at any write. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sealer } from '../../src/accounts/sealing.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Account } from '../../src/domain/account.ts';
import { Engine } from '../../src/engine/engine.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { Payments } from '../../src/engine/payments.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import type { Claim, Due, DueKind } from '../../src/engine/store/due.ts';
import { itemOf, type Store, StoreUnavailable } from '../../src/engine/store.ts';
import { type MigrateOptions, type MovedAccount, migrate } from '../../src/migration/migrate.ts';
import { openLmdbStore } from '../../src/store/lmdb/store.ts';
import { newDelivery } from '../../src/webhooks/delivery.ts';
import { iso, settings } from '../store/contract/builders.ts';
import { lookupsOf } from '../store/contract/harness.ts';
import type { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

/** When the scene plays, ms since 1970. */
export const START = Date.UTC(2026, 0, 5, 12);
export const NOW = START + 3_600_000;
export const A = 'acc_a';
export const B = 'acc_b';
/** Has settings and no journal. */
export const EMPTY = 'acc_empty';
export const ALL = [A, B, EMPTY];
const URLS = ['https://one.example/hook', 'https://two.example/hook'];

export const oldKey = new Sealer(Buffer.alloc(32, 1));
export const newKey = new Sealer(Buffer.alloc(32, 2));

export function reseal(sealed: string): string {
  return newKey.seal(oldKey.open(sealed));
}

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'pixstate-migration-'));
}

let incarnations = 0;

export function openFolderStore(folder: string): Promise<Store> {
  incarnations += 1;
  return openLmdbStore({
    folder,
    incarnation: `i${incarnations}`,
    now: () => NOW,
    onFatal: (error) => {
      throw error;
    },
  });
}

/** Whoever opened it before has fallen silent. */
export function openMemory(state: MemoryState): Store {
  incarnations += 1;
  const now = NOW + 60_000 * incarnations;
  return new MemoryStore({ state, incarnation: `m${incarnations}`, now: () => now, silentAfterMs: 5_000 });
}

/** An engine with its doors, on a store. */
export class Process {
  readonly engine: Engine;
  readonly payments: Payments;
  readonly store: Store;
  now = START;

  constructor(store: Store, name: string) {
    let batches = 0;
    let ids = 0;
    const now = (): number => this.now;
    const newBatchId = (): string => `${name}.${++batches}`;
    const newId = (): string => `${name}000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
    this.store = store;
    const settingsOf = (id: string): Promise<Account | null> => store.accounts.get(id);
    this.engine = new Engine({
      store,
      everyDoorSpeaks: true,
      now,
      newBatchId,
      stuckAfterMs: 300_000,
      settings: settingsOf,
    });
    const bank = new SandboxBank(500);
    this.payments = new Payments({
      engine: this.engine,
      journal: store.journal,
      bank,
      now,
      newId,
      chargeExpiryS: 86_400,
    });
  }

  async deposit(account: string, amount: number, id = 'opening'): Promise<void> {
    await adjust(this.engine, account, { id, amount, reason: 'a test', allowNegative: false });
  }

  async charge(accountId: string, amount: number, externalRef: string | null = null): Promise<string> {
    const account = await this.#account(accountId);
    const nothing = { description: null, additionalInfo: null, customer: null, expiresIn: null };
    const request = { amount, externalRef, metadata: { of: accountId }, ...nothing };
    const answer = await this.payments.createCharge(account, request, {});
    if (answer.kind !== 'applied') throw new Error(answer.kind);
    return answer.record.id;
  }

  async transfer(accountId: string, amount: number, idempotencyKey: string | null = null): Promise<string> {
    const account = await this.#account(accountId);
    const nothing = { externalRef: null, description: null, metadata: {} };
    const key = { pixKeyType: 'EMAIL' as const, pixKey: 'someone@example.com' };
    const answer = await this.payments.createTransfer(
      account,
      { amount, idempotencyKey, ...nothing, ...key },
      {},
    );
    if (answer.kind !== 'applied') throw new Error(answer.kind);
    return answer.record.id;
  }

  /** A message by ops; what comes of it. */
  async tell(transaction: string, type: string, id: string): Promise<string> {
    const record = await this.store.journal.transaction(transaction);
    if (record === null) throw new Error(`no transaction ${transaction}`);
    return (await this.payments.tell(record, { id, type, data: null }, 'sandbox')).kind;
  }

  async #account(id: string): Promise<Account> {
    const account = await this.store.accounts.get(id);
    if (account === null) throw new Error(`no account ${id}`);
    return account;
  }
}

function accountOf(id: string, parts: Partial<Account> = {}): Account {
  const webhooks = URLS.map((url) => ({
    url,
    events: null,
    secrets: [
      { sealed: oldKey.seal(`whsec_new of ${id} for ${url}`), until: null },
      { sealed: oldKey.seal(`whsec_old of ${id} for ${url}`), until: iso(START + 1_000) },
    ],
  }));
  return settings({ id, clientId: `cli_${id}`, allowedIps: ['127.0.0.1', '10.0.0.1'], webhooks, ...parts });
}

/** Attempts at deliveries: the first ones delivered, dead, and to be tried again; the others weren't begun. */
async function attempt(store: Store, account: string): Promise<void> {
  const claims = await store.due.claim('delivery', START, 1_000);
  let nth = 0;
  // What is due together comes in the order in which it was read or made, which changes where that took long.
  for (const claim of claims.sort(byDelivery)) {
    const { due } = claim;
    if (due.kind !== 'delivery') throw new Error(due.kind);
    if (due.account === account) nth += 1;
    if (due.account !== account || nth > 6) {
      await store.due.settle([{ claim, next: due }]);
      continue;
    }
    const status = (['delivered', 'dead', 'retrying'] as const)[nth % 3] ?? 'dead';
    const nextAttemptAt = status === 'retrying' ? iso(START + 60_000 * nth) : null;
    const record: DeliveryRecord = {
      ...newDelivery(due.delivery, account, due.transaction),
      status,
      failures: status === 'delivered' ? 0 : 1,
      attempts: [{ at: iso(START), statusCode: 503, error: null, durationMs: 5 }],
      nextAttemptAt,
      deliveredAt: status === 'delivered' ? iso(START) : null,
    };
    const next = nextAttemptAt === null ? null : { ...due, at: Date.parse(nextAttemptAt), tries: 1 };
    const command = `npx pixstate deliveries retry ${due.delivery}`;
    const note = { kind: 'dead', id: due.delivery, what: 'a delivery is dead', next: command } as const;
    const attention = itemOf(note, iso(START), { account: due.account, delivery: due.delivery });
    await store.due.settle([{ claim, next, record, ...(status === 'dead' ? { attention } : {}) }]);
  }
}

/** Which of two was due first, and of those that were due together which was created first. */
function byDue({ due: a }: Claim, { due: b }: Claim): number {
  return a.at - b.at || a.transaction.localeCompare(b.transaction);
}

/** In the order of their ids, which is that of their events and URLs. */
function byDelivery({ due: a }: Claim, { due: b }: Claim): number {
  return 'delivery' in a && 'delivery' in b ? a.delivery.localeCompare(b.delivery) : 0;
}

/** The first timer and the first order of an account can't be carried out: they are parked. */
async function parkSome(store: Store, account: string): Promise<void> {
  for (const kind of ['timer', 'bank'] as const) {
    const claims = await store.due.claim(kind, START + 10 * 86_400_000, 1_000);
    const [parked] = claims.filter(({ due }) => due.account === account).sort(byDue);
    const rest = claims.filter((claim) => claim !== parked);
    await store.due.settle(rest.map((claim) => ({ claim, next: claim.due })));
    if (parked !== undefined) await store.due.park([parked]);
  }
}

/** Everything that an account may have: each kind of transaction, message, delivery, due thing and item. */
async function fill(running: Process, account: string): Promise<void> {
  const { store } = running;
  const paid = async (id: string): Promise<unknown> => running.tell(id, 'PAY', `pay ${id}`);
  await running.deposit(account, 500_000);
  const charges: string[] = [];
  for (let nth = 0; nth < 4; nth++) charges.push(await running.charge(account, 10_000 + 100 * nth, 'order'));
  const [first = '', second = '', third = ''] = charges;
  await Promise.all([paid(first), paid(second)]);
  await running.tell(first, 'PROTEST', 'protest');
  await running.tell(second, 'REFUND', 'refund');
  // Not taken: a second payment is given back, and an odd message is kept.
  const record = await store.journal.transaction(first);
  if (record === null) throw new Error('no record');
  const late = { endToEndId: 'E12345678202601051200abcdefghijk', amount: 10_000, paidAt: iso(START) };
  const incoming = { id: 'second payment', type: 'PAY', data: late };
  await running.payments.tell(record, incoming, 'bank');
  await running.payments.tell(record, { id: 'odd', type: 'APPROVE', data: {} }, 'bank');
  const settled = await running.transfer(account, 1_000, 'a key');
  await running.tell(settled, 'START', 'start');
  await running.tell(settled, 'SETTLE', 'settle');
  await running.transfer(account, 1_100);
  const stuck = await running.transfer(account, 1_200);
  await running.deposit(account, -5_000, 'a correction');
  await running.charge(account, 10_001, 'with a scenario');
  await attempt(store, account);
  await parkSome(store, account);
  await store.attention.note([
    itemOf({ kind: 'quarantined', id: third, what: 'can not be read', next: 'deploy' }, iso(START)),
  ]);
  const openCashout = await store.journal.transaction(stuck);
  // Ops were done with one of the stuck cashouts.
  const mark = `${stuck}@${openCashout?.updatedAt}`;
  await store.attention.note([itemOf({ kind: 'stuck', id: mark, what: 'stuck', next: 'ask' }, iso(START))]);
  await store.attention.dismiss([{ kind: 'stuck', id: mark }]);
}

/** Fills a store with the accounts of the scene; a note belongs to none of them. */
export async function fillScene(store: Store): Promise<void> {
  for (const id of ALL) await store.accounts.put(accountOf(id));
  await store.accounts.put(accountOf(B, { version: 2, userStatus: 'inactive', maxAmount: 900_000 }));
  await fill(new Process(store, 'aa'), A);
  await fill(new Process(store, 'bb'), B);
  await store.attention.note([
    itemOf({ kind: 'unknown', id: 'msg_of_nobody', what: 'PAY', next: 'ask' }, iso(START)),
  ]);
}

/** A folder with the scene, made once; `copy` gives a copy of one's own. */
export class Scene {
  readonly #folders: string[] = [];
  #filled: string | null = null;

  async empty(): Promise<string> {
    const folder = await temporaryFolder();
    this.#folders.push(folder);
    return folder;
  }

  async copy(): Promise<string> {
    if (this.#filled === null) {
      this.#filled = await temporaryFolder();
      const store = await openFolderStore(this.#filled);
      await fillScene(store);
      await store.close();
    }
    const folder = await this.empty();
    await cp(this.#filled, folder, { recursive: true });
    return folder;
  }

  async remove(): Promise<void> {
    for (const folder of [...this.#folders, this.#filled ?? ''])
      if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
}

/** What lies in a store of some accounts, but what is due. */
export async function contentOfAccounts(
  store: Store,
  accounts: readonly string[],
  key: Sealer,
): Promise<object> {
  const records = (await store.journal.records('', 10_000)).filter(({ account }) =>
    accounts.includes(account),
  );
  const deliveries = await Promise.all(records.map(({ id }) => store.journal.deliveries(id)));
  const found: Record<string, unknown> = {};
  for (const account of accounts) {
    const own = await store.accounts.get(account);
    const opened = own?.webhooks.map(({ secrets, ...webhook }) => ({
      ...webhook,
      secrets: secrets.map(({ sealed, until }) => ({ secret: key.open(sealed), until })),
    }));
    const { version: _, ...settings } = own ?? { version: 0 };
    const lookups = await lookupsOf(store, account);
    found[account] = {
      head: await store.journal.head(account),
      journal: await store.journal.batchesFrom(account, 1, 10_000),
      lookups: lookups.map((row) => JSON.stringify(row)).sort(),
      settings: own === null ? null : { ...settings, webhooks: opened },
    };
  }
  return {
    accounts: found,
    records,
    deliveries: deliveries.flat().sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

const KINDS: readonly DueKind[] = ['timer', 'bank', 'delivery'];

/** What names a due thing, whoever has claimed it and since when. */
function nameOf(due: Due): string {
  const { at: _, ahead: __, tries: ___, ...thing } = due;
  return JSON.stringify(thing);
}

/**
 * Claims all that is due at the end of time. A lease has run out by then as well: what was claimed a moment ago is
 * found again, as long as the process counts as steady, so the last claim of each thing is what counts, and a look
 * that finds nothing new is the last one.
 */
async function drain(store: Store): Promise<Claim[]> {
  const all = new Map<string, Claim>();
  for (const kind of KINDS) {
    for (;;) {
      const before = all.size;
      const claims = await store.due.claim(kind, 8.64e15, 1_000);
      for (const claim of claims) all.set(nameOf(claim.due), claim);
      if (all.size === before) break;
    }
  }
  return [...all.values()];
}

/**
 * What claims are about, of some accounts, without deliveries that have ended: a row of a folder that is read again
 * brings those, too, where it was written before they did.
 */
async function owed(store: Store, claims: readonly Claim[], accounts: readonly string[]): Promise<Due[]> {
  const own = claims.map(({ due }) => due).filter(({ account }) => accounts.includes(account));
  const transactions = new Set(own.map(({ transaction }) => transaction));
  const records = await Promise.all([...transactions].map((id) => store.journal.deliveries(id)));
  const ended = new Set(
    records.flat().flatMap(({ id, status }) => (['delivered', 'dead'].includes(status) ? [id] : [])),
  );
  return own.filter((due) => due.kind !== 'delivery' || !ended.has(due.delivery));
}

/** What is due of some accounts, but what is parked; it stays due. */
export async function dueNow(store: Store, accounts: readonly string[]): Promise<Due[]> {
  const claims = await drain(store);
  await store.due.settle(claims.map((claim) => ({ claim, next: claim.due })));
  return owed(store, claims, accounts);
}

/** What is due, and what was parked, of some accounts; all of it is in hand then. Parked things have no time. */
export async function drainDue(
  store: Store,
  accounts: readonly string[],
): Promise<{ due: string[]; parked: string[] }> {
  const due = await owed(store, await drain(store), accounts);
  await store.due.unpark(NOW);
  const parked = await owed(store, await drain(store), accounts);
  return {
    due: due.map((each) => JSON.stringify(each)).sort(),
    parked: parked.map((each) => JSON.stringify({ ...each, at: 0 })).sort(),
  };
}

/** Moves on two open stores. */
export function run(
  parts: Partial<MigrateOptions> & { source: Store; target: Store },
): Promise<MovedAccount[]> {
  return migrate({ reseal, accounts: null, now: () => NOW, report: () => {}, ...parts });
}

const WRITES = new Set<string | symbol>([
  ...['append', 'settle', 'park', 'unpark', 'claim', 'note', 'dismiss', 'put'],
]);

/** How many writes are left until the process dies, and whether the last one takes effect. */
export interface Life {
  writesLeft: number;
  lastTakesEffect: boolean;
  isOver: boolean;
}

/** A store of a process that dies: from then on nothing is done, as after kill -9. */
export function mortal(store: Store, life: Life): Store {
  const { journal, due, backlog, attention, accounts, marks } = store;
  return {
    marks,
    journal: mortalRole(journal, life),
    due: mortalRole(due, life),
    backlog: mortalRole(backlog, life),
    attention: mortalRole(attention, life),
    accounts: mortalRole(accounts, life),
    ping: () => store.ping(),
    close: () => store.close(),
  };
}

function mortalRole<Role extends object>(role: Role, life: Life): Role {
  return new Proxy(role, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        if (life.isOver) throw new StoreUnavailable('dead');
        const call = (): unknown => Reflect.apply(method, target, args);
        if (!WRITES.has(name)) return call();
        life.writesLeft -= 1;
        if (life.writesLeft >= 0) return call();
        life.isOver = true;
        if (life.lastTakesEffect) await call();
        throw new StoreUnavailable('killed');
      };
    },
  });
}
