/** A bank that refuses, fails, stays silent or is told too late. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Account } from '../../src/domain/account.ts';
import { type BankMessage, BankOutcomeUnknown, BankRefused, type ReturnTurn } from '../../src/engine/bank.ts';
import type { Door, TransactionRecord } from '../../src/engine/journal.ts';
import type { MessageAnswer } from '../../src/engine/payments.ts';
import { newEndToEndId } from '../support/flows.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { until } from '../support/wait.ts';
import {
  applied,
  createCharge,
  createTransfer,
  openAccount,
  openProcess,
  type Process,
  type SetClock,
  stored,
  TestBank,
} from './in-process.ts';

const test = suite('bank');

const BALANCE = 100_000;
const TRANSFER_COST = 1_050;
const MINUTE_MS = 60_000;

interface Scene {
  process: Process;
  bank: TestBank;
  clock: SetClock;
  state: MemoryState;
  account: Account;
}

async function open(fresh = false): Promise<Scene> {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const state = new MemoryState();
  const bank = new TestBank();
  const process = openProcess({ state, clock, bank, fresh });
  return { process, bank, clock, state, account: await openAccount(process, clock, BALANCE) };
}

async function balanceOf({ process, account }: Scene): Promise<number> {
  return (await process.store.journal.head(account.id)).balances.available;
}

function message(type: string, data: Record<string, unknown> = {}): BankMessage {
  return { id: randomUUID(), type, data };
}

function paid(amount = 10_000): BankMessage {
  return message('PAY', {
    endToEndId: newEndToEndId(),
    amount,
    paidAt: '2026-02-01T12:00:01.000Z',
  });
}

function started(): BankMessage {
  return message('START', { endToEndId: newEndToEndId() });
}

function settled(start: BankMessage): BankMessage {
  return message('SETTLE', { ...start.data, paidAt: '2026-02-01T12:00:02.000Z' });
}

function tell(
  { process }: Scene,
  record: TransactionRecord,
  said: BankMessage,
  door: Door,
): Promise<MessageAnswer> {
  return process.payments.tell(record, said, door);
}

async function refusal(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

async function statusOf({ process }: Scene, id: string): Promise<string> {
  return (await stored(process, id)).snapshot.value;
}

/** Sweeps, with so much time between two. */
async function sweeps(scene: Scene, times: number, everyMs: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    scene.clock.ms += everyMs;
    await scene.process.beat();
    await scene.process.sweep();
  }
}

test('a charge that the bank does not register is not created', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const before = await process.store.journal.head(account.id);
  bank.whenRegistered = async () => {
    throw new BankRefused('the bank is away');
  };
  assert.instance(await refusal(createCharge(process, account)), BankRefused);
  assert.equal(await process.store.journal.head(account.id), before);
  assert.equal(await process.store.journal.records('', 10), []);
  bank.whenRegistered = async () => {};
  assert.is(applied(await createCharge(process, account)).snapshot.value, 'waiting_payment');
});

test('a transfer that the bank does not take is not created, and its key stays free', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  bank.whenChecked = async () => {
    throw new BankRefused('the key is unknown');
  };
  assert.instance(await refusal(createTransfer(process, account, 'a key')), BankRefused);
  assert.is(await balanceOf(scene), BALANCE);
  assert.equal(
    await process.store.journal
      .lookups(account.id, null, 1_000)
      .then(({ rows }) => rows.filter((row) => row.key === 'a key')),
    [],
  );
  bank.whenChecked = async () => {};
  applied(await createTransfer(process, account, 'a key'));
  assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST);
  // A key that is taken comes before a bank that refuses.
  bank.whenChecked = async () => {
    throw new BankRefused('the bank is away');
  };
  assert.is((await createTransfer(process, account, 'a key')).kind, 'duplicateKey');
});

test('a payout whose outcome is unknown is queried until the bank tells, and submitted once', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  bank.whenSubmitted = async () => {
    throw new BankOutcomeUnknown('the connection broke');
  };
  const { id } = applied(await createTransfer(process, account));
  await process.sweep();
  assert.equal(bank.submitted, [id]);
  assert.ok((await stored(process, id)).submitted, 'the journal does not say that it was submitted');
  await sweeps(scene, 1, 100);
  assert.equal(bank.queried, [], 'asked without a pause');
  await sweeps(scene, 1, 1_000);
  assert.equal(bank.queried, [id]);
  bank.whenQueried = async () => {
    throw new Error('the bank is away');
  };
  await sweeps(scene, 3, MINUTE_MS);
  assert.ok(bank.queried.length >= 2, 'it gave up');
  assert.is(await statusOf(scene, id), 'pending');
  assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST, 'refunded before the bank said so');
  const start = started();
  const told = [start, settled(start)];
  bank.whenQueried = async () => told;
  await sweeps(scene, 2, MINUTE_MS);
  assert.is(await statusOf(scene, id), 'completed');
  const asked = bank.queried.length;
  await sweeps(scene, 3, MINUTE_MS);
  assert.is(bank.queried.length, asked, 'asked about what is final');
  assert.equal(bank.submitted, [id], 'submitted again');
  assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST);
});

test('a payout that fails for no reason that the port knows is not submitted again blind either', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  bank.whenSubmitted = async () => {
    throw new Error('socket hang up');
  };
  const { id } = applied(await createTransfer(process, account));
  await sweeps(scene, 4, MINUTE_MS);
  assert.equal(bank.submitted, [id]);
  assert.ok(bank.queried.includes(id), 'nobody asked the bank');
  assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST);
});

test('a payout that the bank refuses is rejected, with its refund', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  bank.whenSubmitted = async () => {
    throw new BankRefused('the account is closed');
  };
  const { id } = applied(await createTransfer(process, account, 'a key'));
  await sweeps(scene, 3, MINUTE_MS);
  assert.is(await statusOf(scene, id), 'rejected');
  assert.is(await balanceOf(scene), BALANCE);
  assert.equal(bank.submitted, [id]);
  assert.is((await createTransfer(process, account, 'a key')).kind, 'duplicateKey', 'the key is free again');
});

test('taken up right after its commit, a payout is submitted once, however long the bank takes', async () => {
  const scene = await open(true);
  const { process, bank, account } = scene;
  let answer = (): void => {};
  bank.whenSubmitted = () =>
    new Promise<void>((resolve) => {
      answer = resolve;
    });
  const { id } = applied(await createTransfer(process, account));
  await until(() => bank.submitted.length > 0, 2_000, 'a submit');
  await sweeps(scene, 5, MINUTE_MS);
  assert.equal(bank.submitted, [id]);
  answer();
  await sweeps(scene, 3, MINUTE_MS);
  assert.equal(bank.submitted, [id]);
  assert.is(await statusOf(scene, id), 'pending', 'the bank has said nothing yet');
});

test('a payment that can not be credited is given back once, however often the bank is away', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const record = applied(await createCharge(process, account));
  applied(await tell(scene, record, paid(), 'bank'));
  const second = paid();
  let failures = 3;
  bank.whenGivenBack = async () => {
    failures -= 1;
    if (failures >= 0) throw new Error('the bank is away');
  };
  assert.is((await tell(scene, record, second, 'bank')).kind, 'refused');
  await process.sweep();
  assert.is(bank.givenBack.length, 1);
  await sweeps(scene, 1, 500);
  assert.is(bank.givenBack.length, 1, 'tried again without a pause');
  await sweeps(scene, 1, 600);
  assert.is(bank.givenBack.length, 2);
  await sweeps(scene, 1, 1_100);
  assert.is(bank.givenBack.length, 2, 'the pause does not grow');
  await sweeps(scene, 5, MINUTE_MS);
  assert.equal(
    bank.givenBack,
    Array.from({ length: 4 }, () => second.data.endToEndId),
  );
  // Told again, under its own id or another, it is neither credited nor given back again.
  for (const again of [second, { ...second, id: randomUUID() }]) {
    assert.is((await tell(scene, record, again, 'bank')).kind, 'refused');
  }
  await sweeps(scene, 3, MINUTE_MS);
  assert.is(bank.givenBack.length, 4);
  const items = (await process.store.attention.page({}, null, 1_000)).filter(({ kind }) => kind === 'return');
  assert.is(items.length, 1);
  assert.ok(items[0]?.what.includes(String(second.data.endToEndId)), items[0]?.what);
  assert.is(await balanceOf(scene), BALANCE + 9_900);
});

test('ops take a payout back before it is submitted, and the bank never hears of it', async () => {
  for (const type of ['CANCEL', 'REJECT']) {
    const scene = await open();
    const { process, bank, account } = scene;
    const record = applied(await createTransfer(process, account));
    applied(await tell(scene, record, message(type, { reason: 'asked for' }), 'ops'));
    await sweeps(scene, 3, MINUTE_MS);
    assert.equal(bank.submitted, [], type);
    assert.is(await balanceOf(scene), BALANCE, type);
  }
});

test('once it is submitted, CANCEL and REJECT are the bank’s alone', async () => {
  for (const type of ['CANCEL', 'REJECT']) {
    const scene = await open();
    const { process, bank, account } = scene;
    const { id } = applied(await createTransfer(process, account));
    await process.sweep();
    assert.equal(bank.submitted, [id]);
    const record = await stored(process, id);
    for (const door of ['ops', 'sandbox'] as const) {
      assert.is((await tell(scene, record, message(type), door)).kind, 'refused', `${type} by ${door}`);
    }
    assert.is(await statusOf(scene, id), 'pending');
    assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST);
    applied(await tell(scene, record, message(type, { reason: 'no such key' }), 'bank'));
    assert.is(await balanceOf(scene), BALANCE);
  }
});

test('ops and the desk at the same moment: taken back and not submitted, or submitted and not taken back', async () => {
  for (let round = 0; round < 20; round += 1) {
    const scene = await open();
    const { process, bank, account } = scene;
    const record = applied(await createTransfer(process, account));
    const said = tell(scene, record, message('CANCEL'), 'ops');
    const swept = process.sweep();
    const [answer] = await Promise.all([said, swept]);
    const isBack = answer.kind === 'applied';
    assert.is(bank.submitted.length, isBack ? 0 : 1, `answered ${answer.kind}`);
    assert.is(await balanceOf(scene), isBack ? BALANCE : BALANCE - TRANSFER_COST);
  }
});

test('a process that dies between the journal’s word and the submit: another one asks, and never submits', async () => {
  const scene = await open();
  const { process: dying, bank, clock, state, account } = scene;
  const silent = new TestBank();
  silent.whenSubmitted = () => new Promise<never>(() => {});
  const doomed = openProcess({ state, clock, bank: silent });
  const { id } = applied(await createTransfer(dying, account));
  // It never comes back from its sweep.
  void doomed.sweep();
  await until(() => silent.submitted.length > 0, 2_000, 'the first submit');
  assert.ok((await stored(dying, id)).submitted);

  await sweeps(scene, 2, 500);
  assert.equal(bank.submitted, [], 'taken over from a process that lives');
  await sweeps(scene, 8, 1_000);
  assert.equal(bank.submitted, [], 'submitted blind');
  assert.ok(bank.queried.includes(id), 'nobody asked the bank');
  assert.is(await balanceOf(scene), BALANCE - TRANSFER_COST);
  bank.whenQueried = async () => [message('REJECT', { reason: 'never heard of it' })];
  await sweeps(scene, 2, MINUTE_MS);
  assert.is(await statusOf(scene, id), 'rejected');
  assert.is(await balanceOf(scene), BALANCE);
});

test('a bank that knows of a payment is heard before a charge expires', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const { id } = applied(await createCharge(process, account, 60));
  const payment = paid();
  bank.whenQueried = async () => [payment];
  await sweeps(scene, 1, MINUTE_MS - 1_000);
  assert.is(await statusOf(scene, id), 'waiting_payment', 'before its time');
  await sweeps(scene, 2, 1_500);
  assert.is(await statusOf(scene, id), 'paid');
  assert.is(await balanceOf(scene), BALANCE + 9_900);
  // Its own message comes late.
  assert.is((await tell(scene, await stored(process, id), payment, 'bank')).kind, 'repeated');
  assert.is(await balanceOf(scene), BALANCE + 9_900);
});

test('a charge that was paid before its time costs no question when that comes', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const record = applied(await createCharge(process, account, 60));
  applied(await tell(scene, record, paid(), 'bank'));
  await sweeps(scene, 3, MINUTE_MS);
  assert.equal(bank.queried, []);
  assert.is(await statusOf(scene, record.id), 'paid');
});

test('a bank that can not be asked keeps a charge from expiring, until it can', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const [asked, other] = await Promise.all([
    createCharge(process, account, 60),
    createCharge(process, account, 60),
  ]).then((answers) => answers.map(applied));
  bank.whenQueried = async (id) => {
    if (id === asked?.id) throw new Error('the bank is away');
    return [];
  };
  await sweeps(scene, 1, MINUTE_MS + 10);
  assert.is(await statusOf(scene, asked?.id ?? ''), 'waiting_payment');
  assert.is(await statusOf(scene, other?.id ?? ''), 'expired', 'held up by another one');
  bank.whenQueried = async () => [];
  await sweeps(scene, 2, MINUTE_MS);
  assert.is(await statusOf(scene, asked?.id ?? ''), 'expired');
});

function never(): Promise<never> {
  return new Promise(() => {});
}

/** The sandbox, but it never answers when money is to be given back. */
class StingyBank extends SandboxBank {
  asked = 0;

  override giveBack(): Promise<ReturnTurn> {
    this.asked += 1;
    return never();
  }
}

test('a bank that never answers about one order holds up no other, and no expiry', async () => {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const bank = new StingyBank(50);
  const process = openProcess({ state: new MemoryState(), clock, bank });
  const account = await openAccount(process, clock, BALANCE);
  const twice = applied(await createCharge(process, account));
  applied(await process.payments.tell(twice, paid(), 'bank'));
  assert.is((await process.payments.tell(twice, paid(), 'bank')).kind, 'refused');
  void process.tick();
  await until(() => bank.asked === 1, 10_000, 'the order to give back');
  const expiring = applied(await createCharge(process, account, 1));
  const paying = applied(await createCharge(process, account, null, 10_001));
  clock.ms += 1_100;
  void process.tick();
  const statuses = () =>
    Promise.all([expiring, paying].map(async ({ id }) => (await stored(process, id)).snapshot.value));
  await until(async () => (await statuses()).join() === 'expired,paid', 10_000, 'expiry and payment');
});

test('an account’s orders are carried out beside each other, up to its share of the bound', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const record = applied(await createCharge(process, account));
  applied(await tell(scene, record, paid(), 'bank'));
  for (let n = 0; n < 300; n += 1) await tell(scene, record, paid(), 'bank');
  const answers: (() => void)[] = [];
  bank.whenGivenBack = () => new Promise((resolve) => answers.push(resolve));
  await process.tick();
  await until(() => bank.givenBack.length === 192, 10_000, 'the first orders');
  await process.tick();
  assert.is(bank.givenBack.length, 192, 'more calls at once than its share of 256');
  answers.pop()?.();
  await until(() => bank.givenBack.length === 193, 10_000, 'the next one');
  for (const answer of answers) answer();
  await until(() => bank.givenBack.length === 300, 10_000, 'all orders');
});

test('a bank that does not answer in time: nothing is created, and what was submitted is asked about', async () => {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const bank = new TestBank();
  const process = openProcess({ state: new MemoryState(), clock, bank, callMs: 20 });
  const account = await openAccount(process, clock, BALANCE);
  bank.whenRegistered = never;
  bank.whenChecked = never;
  assert.instance(await refusal(createCharge(process, account)), BankRefused);
  assert.instance(await refusal(createTransfer(process, account)), BankRefused);
  assert.equal(await process.store.journal.records('', 10), []);
  bank.whenChecked = async () => {};
  bank.whenSubmitted = never;
  const { id } = applied(await createTransfer(process, account));
  await process.sweep();
  await process.beat();
  clock.ms += 2_000;
  await process.sweep();
  assert.equal([bank.submitted, bank.queried], [[id], [id]]);
});

test('while the bank is silent about one charge, others expire', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  const [asked, other] = [
    applied(await createCharge(process, account, 60)),
    applied(await createCharge(process, account, 60)),
  ];
  bank.whenQueried = (id) => (id === asked.id ? never() : Promise.resolve([]));
  scene.clock.ms += MINUTE_MS + 10;
  void process.tick();
  await until(async () => (await statusOf(scene, other.id)) === 'expired', 10_000, 'the other’s expiry');
  assert.is(await statusOf(scene, asked.id), 'waiting_payment');
});

test('a process that was frozen between the journal’s word and the submit asks, and never submits', async () => {
  // Frozen for longer than others wait for it; on a machine that slept, only the claim tells.
  for (const sleepMs of [6_000, 0]) {
    const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
    const state = new MemoryState();
    const bank = new TestBank();
    const other = openProcess({ state, clock, bank });
    const account = await openAccount(other, clock, BALANCE);
    const { id } = applied(await createTransfer(other, account));
    let elapsed = 0;
    let isAwake = true;
    const freeze = async (method: string): Promise<void> => {
      if (method !== 'append' || !isAwake) return;
      isAwake = false;
      elapsed += sleepMs;
      clock.ms += 6_000;
      await other.beat();
      await other.sweep();
      applied(
        await other.payments.tell(
          await stored(other, id),
          message('START', { endToEndId: newEndToEndId() }),
          'ops',
        ),
      );
      applied(await other.payments.tell(await stored(other, id), message('FAIL'), 'ops'));
    };
    const frozen = openProcess({ state, clock, bank, faults: { after: freeze }, elapsed: () => elapsed });
    await frozen.beat();
    await frozen.sweep();
    assert.not.ok(isAwake, 'it never came to its submit');
    assert.equal(bank.submitted, [], `paid after the money was given back (${sleepMs})`);
    assert.equal(new Set(bank.queried), new Set([id]));
    assert.is((await other.store.journal.head(account.id)).balances.available, BALANCE);
  }
});

test('a settlement after a refund changes nothing, and a person is told', async () => {
  const scene = await open();
  const { process, bank, account } = scene;
  bank.whenSubmitted = async () => {
    throw new BankRefused('the account is closed');
  };
  const { id } = applied(await createTransfer(process, account));
  await process.sweep();
  assert.is(await statusOf(scene, id), 'rejected');
  const answer = await tell(scene, await stored(process, id), settled(started()), 'bank');
  assert.is(answer.kind, 'refused');
  assert.is(await statusOf(scene, id), 'rejected');
  assert.is(await balanceOf(scene), BALANCE);
  assert.ok((await process.store.attention.page({}, null, 1_000)).length > 0, 'nobody is told');
});

test('a return that another one saw the end of is no item for ops, however late the first one hears', async () => {
  const scene = await open();
  const { process, bank, clock, state, account } = scene;
  const record = applied(await createCharge(process, account));
  applied(await tell(scene, record, paid(), 'bank'));
  await tell(scene, record, paid(), 'bank');
  let cut: (error: Error) => void = () => {};
  const slow = new TestBank();
  slow.whenGivenBack = () =>
    new Promise((_, reject) => {
      cut = reject;
    });
  const frozen = openProcess({ state, clock, bank: slow });
  await frozen.beat();
  await frozen.tick();
  await until(() => slow.givenBack.length === 1, 10_000, 'the first order');
  await sweeps(scene, 2, 6 * MINUTE_MS);
  assert.is(bank.givenBack.length, 1);
  cut(new Error('the connection failed'));
  await until(() => frozen.troubles.length === 1, 10_000, 'the late word');
  await frozen.sweep();
  assert.equal(await process.store.attention.page({ kind: 'stuck' }, null, 10), []);
});

test('the refusal of an order that another process has repeated meanwhile ends no transfer', async () => {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const state = new MemoryState();
  const [slow, bank] = [new TestBank(), new TestBank()];
  let refuse: (error: Error) => void = () => {};
  slow.whenSubmitted = () =>
    new Promise((_, reject) => {
      refuse = reject;
    });
  bank.whenQueried = async () => null;
  bank.canRepeatUnknown = true;
  const [frozen, other] = [openProcess({ state, clock, bank: slow }), openProcess({ state, clock, bank })];
  const account = await openAccount(other, clock, BALANCE);
  const { id } = applied(await createTransfer(other, account));
  await frozen.beat();
  void frozen.sweep();
  await until(() => slow.submitted.length === 1, 10_000, 'the first order');
  clock.ms += 6_000;
  await other.beat();
  await other.sweep();
  assert.equal(bank.submitted, [id], 'the other one has not ordered it');
  refuse(new BankRefused('there is such an order already'));
  await frozen.sweep();
  assert.is((await stored(other, id)).snapshot.value, 'pending');
  assert.ok((await other.store.journal.head(account.id)).balances.available < BALANCE);
});

test.run();
