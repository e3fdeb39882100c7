/** A URL that hangs: what waits for it costs nothing, is told to ops, and comes in order once it answers. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Directory } from '../../src/accounts/directory.ts';
import { Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { Desk } from '../../src/bank/desk.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Account } from '../../src/domain/account.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { Payments } from '../../src/engine/payments.ts';
import type { DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import type { Store } from '../../src/engine/store.ts';
import { freshWork } from '../../src/jobs/fresh-work.ts';
import { LocalClock } from '../../src/jobs/local-clock.ts';
import { sweeps } from '../../src/jobs/sweeps.ts';
import { Timers } from '../../src/jobs/timers.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { openLmdbStore } from '../../src/store/lmdb/store.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { Send } from '../../src/webhooks/sender/port.ts';
import { applied, seal } from '../faults/in-process.ts';
import { newEndToEndId } from '../support/flows.ts';
import { temporaryFolder } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { eachOf, sleep, until } from '../support/wait.ts';
import { localSender } from './sender/receivers.ts';

const test = suite('a URL that hangs');

const TIMEOUT_MS = 1_000;
const WAIT_MS = 60_000;

interface Process {
  store: Store;
  payments: Payments;
  /** Calls that write, since they were counted last. */
  writes(): number;
  /** Each delivery after each of its attempts. */
  attempted: DeliveryRecord[];
  /** What its sender was handed. */
  sent: Send[];
  close(): Promise<void>;
}

/** A role of the store that tells of each call of these methods. */
function watched<Role extends object>(role: Role, names: readonly string[], onCall: () => void): Role {
  return new Proxy(role, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        if (names.includes(String(name))) onCall();
        return Reflect.apply(method, target, args);
      };
    },
  });
}

/** The store, and a count of what is written through it about deliveries. */
function counted(opened: Store): { store: Store; writes(): number } {
  let writes = 0;
  const onCall = (): void => {
    writes += 1;
  };
  const due = watched(opened.due, ['settle'], onCall);
  const backlog = watched(opened.backlog, ['put', 'take', 'lookAgain'], onCall);
  const { journal, attention, accounts, marks } = opened;
  const [ping, close] = [() => opened.ping(), () => opened.close()];
  const since = (): number => {
    const seen = writes;
    writes = 0;
    return seen;
  };
  return { store: { journal, due, backlog, attention, accounts, marks, ping, close }, writes: since };
}

async function openProcess(folder: string): Promise<Process> {
  const now = Date.now;
  const incarnation = randomUUID();
  const onFatal = (error: Error): void => {
    throw error;
  };
  const opened = await openLmdbStore({ folder, incarnation, now, onFatal });
  const { store, writes } = counted(opened);
  const { journal, due, backlog } = store;
  const directory = new Directory(store.accounts, seal(), now);
  const settings = (id: string): Account | null | Promise<Account | null> => directory.account(id);
  const engine = new Engine({
    store,
    everyDoorSpeaks: true,
    now,
    newBatchId: randomUUID,
    settings,
    stuckAfterMs: 300_000,
  });
  const bank = new SandboxBank(60_000);
  const payments = new Payments({ engine, journal, bank, now, newId: randomUUID, chargeExpiryS: 86_400 });
  const sender = localSender({ now, timeoutMs: TIMEOUT_MS, closeMs: 50 });
  const [attempted, sent]: [DeliveryRecord[], Send[]] = [[], []];
  const send = sender.send.bind(sender);
  sender.send = (items) => {
    sent.push(...items);
    send(items);
  };
  const onTrouble = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
  const spareTime = new SpareTime();
  const dispatcher = new Dispatcher({
    ...{ journal, due, backlog, directory, sender, attention: engine, now, retryScale: 0.001, onTrouble },
    spareTime,
    onAttempt: (record) => attempted.push(record),
  });
  const common = { engine, payments, journal, due, bank, now, onTrouble, stuckAfterMs: 300_000 };
  const [desk, timers] = [new Desk(common), new Timers({ ...common, spareTime })];
  engine.handFreshWorkTo(freshWork(due, desk, dispatcher, onTrouble));
  const rightClock = { followed: async () => now() };
  const { shared, local } = sweeps({ engine, due, desk, timers, dispatcher, now, clock: rightClock });
  const clock = new LocalClock({ jobs: [...shared, ...local], onError: onTrouble, stopTimeoutMs: 1_000 });
  await clock.start();
  const close = async (): Promise<void> => {
    await clock.stop();
    await dispatcher.close();
    await store.close();
  };
  return { store, payments, writes, attempted, sent, close };
}

async function merchant({ store }: Process, url: string): Promise<Account> {
  const accounts = new Accounts(store.accounts, seal(), Date.now);
  const webhooks = [{ url, events: null }];
  const { accountId } = await accounts.create({ ...PLAIN_ACCOUNT, name: 'Merchant', webhooks });
  const account = await store.accounts.get(accountId);
  if (account === null) throw new Error('the account is not there');
  return account;
}

async function charges({ payments }: Process, account: Account, count: number): Promise<TransactionRecord[]> {
  const nothing = { externalRef: null, description: null, additionalInfo: null, customer: null };
  const request = { amount: 10_000, metadata: {}, expiresIn: null, ...nothing };
  const each = Array.from({ length: count }, () => payments.createCharge(account, request, {}));
  return (await Promise.all(each)).map(applied);
}

async function pay({ payments }: Process, record: TransactionRecord): Promise<void> {
  const data = { endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() };
  await payments.tell(record, { id: randomUUID(), type: 'PAY', data }, 'bank');
}

async function hangingOf({ store }: Process): Promise<string[]> {
  const items = await store.attention.page({ kind: 'hanging' }, null, 10);
  return items.map(({ about }) => `${about.account} ${about.url}`);
}

/** A process, and a receiver that hangs at /hang until it is told otherwise. */
async function withScene(
  body: (scene: {
    folder: string;
    receiver: Receiver;
    answer(): void;
    open(): Promise<Process>;
  }) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder();
  const receiver = await startReceiver();
  let hangs = true;
  receiver.answer('/hang', () => ({ hang: hangs }));
  const processes: Process[] = [];
  try {
    await body({
      folder,
      receiver,
      answer: () => {
        hangs = false;
      },
      open: async () => {
        const process = await openProcess(folder);
        processes.push(process);
        return process;
      },
    });
  } finally {
    for (const process of processes) await process.close().catch(() => {});
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  }
}

test('what waits for it costs no writes, others are served meanwhile, and it comes in order at last', async () => {
  await withScene(async ({ receiver, answer, open }) => {
    const process = await open();
    const { store, attempted } = process;
    const slow = await merchant(process, receiver.url('/hang'));
    const records = await charges(process, slow, 1_100);
    await eachOf(records.slice(0, 100), 50, (record) => pay(process, record));
    await until(async () => (await store.backlog.total()) > 1_050, WAIT_MS, 'the backlog');
    await until(async () => (await hangingOf(process)).length === 1, WAIT_MS, 'the item for ops');
    assert.equal(await hangingOf(process), [`${slow.id} ${receiver.url('/hang')}`]);

    const seen = new Set<unknown>();
    receiver.answer('/fair', (_nth, { headers }) => {
      const isFirst = !seen.has(headers['idempotency-key']);
      seen.add(headers['idempotency-key']);
      return { status: isFirst ? 500 : 200 };
    });
    const fair = await merchant(process, receiver.url('/fair'));
    await charges(process, fair, 20);
    await until(() => receiver.at('/fair').filter(({ status }) => status === 200).length === 20, WAIT_MS);
    assert.ok((await store.backlog.total()) > 1_050, 'it was not served beside a backlog');

    await sleep(500);
    process.writes();
    await sleep(2_000);
    const writes = process.writes();
    assert.ok(writes <= 20, `${writes} writes in two seconds`);
    const before = attempted.filter(({ account }) => account === slow.id).length;
    assert.ok(before < 60, `${before} attempts at a URL that hangs`);

    answer();
    const delivered = (): number =>
      attempted.filter((each) => each.account === slow.id && each.status === 'delivered').length;
    await until(() => delivered() >= 1_200 - before, WAIT_MS, 'what had waited');
    await until(async () => (await store.backlog.total()) === 0, WAIT_MS, 'the end of the backlog');
    await until(async () => (await hangingOf(process)).length === 0, WAIT_MS, 'the item to be withdrawn');
    const attempts = attempted.filter(({ account }) => account === slow.id).length;
    assert.ok(attempts <= receiver.at('/hang').length, 'waiting counted as an attempt');
    const firstAt = (id: string, event: string): number =>
      receiver
        .at('/hang')
        .findIndex(({ headers }) => headers['x-transaction-id'] === id && headers['x-event'] === event);
    for (const { id } of records.slice(0, 100)) {
      const [created, paid] = [firstAt(id, 'pix-in.waiting_payment'), firstAt(id, 'pix-in.paid')];
      assert.ok(created >= 0 && created < paid, `${id}: ${created}, ${paid}`);
    }
  });
});

test('what waits for a URL that is taken off its account is dead, without an attempt', async () => {
  await withScene(async ({ receiver, open }) => {
    const process = await open();
    const { store } = process;
    const account = await merchant(process, receiver.url('/hang'));
    await charges(process, account, 200);
    await until(async () => (await store.backlog.total()) > 150, WAIT_MS, 'the backlog');
    const asked = receiver.at('/hang').length;
    await store.accounts.put({ ...account, webhooks: [], version: account.version + 1 });
    await until(async () => (await store.backlog.total()) === 0, WAIT_MS, 'the end of the backlog');
    const dead = (): Promise<number> => store.attention.count({ kind: 'dead' }, null);
    await until(async () => (await dead()) === 200, WAIT_MS, 'dead letters');
    assert.ok(receiver.at('/hang').length <= asked + 3, 'they were attempted');
  });
});

test('a process that stops leaves what waits to the next one', async () => {
  await withScene(async ({ receiver, answer, open }) => {
    const process = await open();
    const account = await merchant(process, receiver.url('/hang'));
    const ids = (await charges(process, account, 200)).map(({ id }) => id);
    await until(async () => (await process.store.backlog.total()) > 150, WAIT_MS, 'the backlog');
    await process.close();
    answer();
    const from = receiver.requests.length;
    assert.is(process.sent[0]?.isLook, false);
    const next = await open();
    const told = (): Set<unknown> =>
      new Set(receiver.requests.slice(from).map(({ headers }) => headers['x-transaction-id']));
    await until(() => ids.every((id) => told().has(id)), WAIT_MS, 'all that had waited');
    assert.ok(
      next.sent.some(({ isLook }) => isLook),
      'the sender is told that more waits behind the URL',
    );
    await until(async () => (await next.store.backlog.total()) === 0, WAIT_MS, 'the end of the backlog');
  });
});

test('many at once for a URL that answers are nobody’s case, however long they take to be sent', async () => {
  await withScene(async ({ receiver, open }) => {
    const process = await open();
    const { store, attempted } = process;
    receiver.answer('/fair', () => ({ delayMs: 50 }));
    const account = await merchant(process, receiver.url('/fair'));
    await charges(process, account, 2_600);
    let most = 0;
    const items = new Set<string>();
    const isOver = async (): Promise<boolean> => {
      most = Math.max(most, await store.backlog.total());
      for (const item of await hangingOf(process)) items.add(item);
      return attempted.length >= 2_600 && (await store.backlog.total()) === 0;
    };
    await until(isOver, WAIT_MS, 'all of them');
    assert.ok(most > 1_000, `${most} waited`);
    assert.equal([...items], []);
  });
});

test.run();
