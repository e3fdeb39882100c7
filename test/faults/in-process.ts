/**
 * The engine in this process, on a clock that the test sets, with a bank that can be asked and can fail. It is
 * no sandbox: what is submitted is submitted once, and what became of it is the bank's to say.
 */
import { randomUUID } from 'node:crypto';
import { Directory } from '../../src/accounts/directory.ts';
import { Accounts, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { Sealer } from '../../src/accounts/sealing.ts';
import { Desk } from '../../src/bank/desk.ts';
import { PunctualBank } from '../../src/bank/punctual.ts';
import type { Account } from '../../src/domain/account.ts';
import {
  type Awakening,
  BANK_PACE,
  type Bank,
  type BankMessage,
  type ChargeToRegister,
  type PayoutContract,
  type ReturnTurn,
} from '../../src/engine/bank.ts';
import type { Answer } from '../../src/engine/commands.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { ChargeRecord, TransactionRecord } from '../../src/engine/journal.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { Payments } from '../../src/engine/payments.ts';
import type { Store } from '../../src/engine/store.ts';
import { freshWork } from '../../src/jobs/fresh-work.ts';
import { sweeps } from '../../src/jobs/sweeps.ts';
import { Timers } from '../../src/jobs/timers.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { WebhookSender } from '../../src/webhooks/sender/port.ts';
import type { Faults } from '../support/memory-store/faults.ts';
import type { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

/** A clock that stands still until it is moved; ms since 1970. */
export interface SetClock {
  ms: number;
}

type Doing<Given, Result> = (given: Given) => Promise<Result>;

/** A bank whose every side can be told what to do; it keeps what it was asked. */
export class TestBank implements Bank {
  readonly name = 'test';
  readonly everyDoorSpeaks = false;
  readonly canRepeatSubmit = false;
  canRepeatUnknown = false;
  readonly pace = BANK_PACE;
  readonly looseIds = false;
  readonly canBeAsked = true;
  readonly firstWakeInMs = null;
  readonly fillIn = null;
  readonly submitted: string[] = [];
  readonly queried: string[] = [];
  readonly givenBack: string[] = [];
  readonly refunded: string[] = [];
  readonly canceled: string[] = [];
  isReachable = true;
  whenRegistered: Doing<ChargeToRegister, void> = async () => {};
  whenChecked: () => Promise<void> = async () => {};
  whenSubmitted: Doing<string, void> = async () => {};
  whenQueried: Doing<string, BankMessage[] | null> = async () => [];
  whenGivenBack: Doing<string, void> = async () => {};
  whenRefunded: Doing<string, BankMessage[]> = async () => [];
  whenCanceled: Doing<string, BankMessage[]> = async () => [];

  async register(charge: ChargeToRegister): Promise<{ qrcode: string; wakeInMs: null }> {
    await this.whenRegistered(charge);
    return { qrcode: `00020126${charge.id}`, wakeInMs: null };
  }

  check(): Promise<void> {
    return this.whenChecked();
  }

  async submit({ id }: TransactionRecord): Promise<{ wakeInMs: null }> {
    this.submitted.push(id);
    await this.whenSubmitted(id);
    return { wakeInMs: null };
  }

  async contract(): Promise<PayoutContract> {
    return {};
  }

  async giveBack({ endToEndId }: { endToEndId: string }): Promise<ReturnTurn> {
    this.givenBack.push(endToEndId);
    await this.whenGivenBack(endToEndId);
    return { wakeInMs: null };
  }

  query({ id }: TransactionRecord): Promise<BankMessage[] | null> {
    this.queried.push(id);
    return this.whenQueried(id);
  }

  canAskAbout(): boolean {
    return true;
  }

  says(): null {
    return null;
  }

  reachable(): boolean {
    return this.isReachable;
  }

  async refund(_: ChargeRecord, refundId: string): Promise<Awakening> {
    this.refunded.push(refundId);
    return { messages: await this.whenRefunded(refundId), wakeInMs: null };
  }

  async cancel({ id }: Pick<ChargeRecord, 'id'>): Promise<BankMessage[]> {
    this.canceled.push(id);
    return this.whenCanceled(id);
  }

  async wake(): Promise<Awakening> {
    return { messages: [], wakeInMs: null };
  }
}

const SILENT_AFTER_MS = 5_000;
const NO_SENDER: WebhookSender = {
  send: () => {},
  onResults: () => {},
  inFlight: 0,
  close: async () => {},
};

/** One process, as `main.ts` wires it, without doors and without a clock of its own. */
export interface Process {
  store: Store;
  engine: Engine;
  payments: Payments;
  /** What went wrong and will be tried again. */
  troubles: unknown[];
  /** One turn of the sweeps over bank orders and timers. */
  tick(): Promise<void>;
  /** As `tick`, and until all that was taken up is settled. */
  sweep(): Promise<void>;
  /** A sign of life, as the clock gives one every second. */
  beat(): Promise<void>;
}

export interface ProcessOptions {
  state: MemoryState;
  clock: SetClock;
  bank: Bank;
  /** Takes up orders right after their commit, as a server does; else only sweeps do. */
  fresh?: boolean;
  /** The deadline of a call to the bank; a server's where none is given. */
  callMs?: number;
  faults?: Faults;
  /** The clock of the desk that never steps, ms. */
  elapsed?(): number;
}

/** What seals webhook secrets in these tests. */
export function seal(): Sealer {
  return new Sealer(Buffer.alloc(32, 7));
}

/** Opens a process on a state that it may share with others. */
export function openProcess(options: ProcessOptions): Process {
  const { state, clock, fresh = false, callMs, elapsed } = options;
  const bank = new PunctualBank(options.bank, callMs);
  const now = (): number => clock.ms;
  const store = new MemoryStore({
    state,
    incarnation: randomUUID(),
    now,
    silentAfterMs: SILENT_AFTER_MS,
    ...(options.faults === undefined ? {} : { faults: options.faults }),
  });
  const settings = (id: string): Promise<Account | null> => store.accounts.get(id);
  const newBatchId = (): string => randomUUID();
  const engine = new Engine({
    store,
    everyDoorSpeaks: bank.everyDoorSpeaks,
    firstWakeInMs: bank.firstWakeInMs,
    now,
    newBatchId,
    stuckAfterMs: 300_000,
    settings,
  });
  const { journal, due } = store;
  const newId = (): string => randomUUID();
  const payments = new Payments({ engine, journal, bank, now, newId, chargeExpiryS: 86_400 });
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown): void => {
    troubles.push(error);
  };
  const directory = new Directory(store.accounts, seal(), now);
  const spareTime = new SpareTime();
  const dispatcher = new Dispatcher({
    journal,
    due,
    backlog: store.backlog,
    directory,
    sender: NO_SENDER,
    spareTime,
    attention: engine,
    now,
    retryScale: 1,
    onTrouble,
  });
  const common = { engine, payments, journal, due, bank, now, onTrouble, stuckAfterMs: 300_000 };
  const desk = new Desk({ ...common, ...(elapsed === undefined ? {} : { elapsed }) });
  const timers = new Timers({ ...common, spareTime });
  if (fresh) engine.handFreshWorkTo(freshWork(due, desk, dispatcher, onTrouble));
  const rightClock = { followed: async () => now() };
  const { shared, local } = sweeps({ engine, due, desk, timers, dispatcher, now, clock: rightClock });
  const jobs = [...shared, ...local];
  const job = async (name: string): Promise<void> => {
    const found = jobs.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no job ${name}`);
    await found.run();
  };
  const tick = async (): Promise<void> => {
    await job('wake-ups');
    await job('bank');
    await job('timers');
  };
  const sweep = async (): Promise<void> => {
    await job('wake-ups');
    await job('bank');
    await desk.idle();
    await job('timers');
    await timers.idle();
  };
  return { store, engine, payments, troubles, tick, sweep, beat: () => job('heartbeat') };
}

/** A state with an account in it that has so much. */
export async function openAccount(process: Process, clock: SetClock, balance: number): Promise<Account> {
  const { accountId } = await new Accounts(process.store.accounts, seal(), () => clock.ms).create({
    ...PLAIN_ACCOUNT,
    name: 'Merchant',
  });
  if (balance > 0) {
    const opening = { id: 'opening', amount: balance, reason: 'opening balance', allowNegative: false };
    await adjust(process.engine, accountId, opening);
  }
  const account = await process.store.accounts.get(accountId);
  if (account === null) throw new Error('the account is not there');
  return account;
}

/** Asks for a charge, of 100.00 where nothing is said. */
export function createCharge(
  { payments }: Process,
  account: Account,
  expiresIn: number | null = null,
  amount = 10_000,
): Promise<Answer> {
  const nothing = { externalRef: null, description: null, additionalInfo: null, customer: null };
  return payments.createCharge(account, { amount, metadata: {}, expiresIn, ...nothing }, {});
}

/** Asks for a transfer of 10.00, which costs 10.50. */
export function createTransfer(
  { payments }: Process,
  account: Account,
  idempotencyKey: string | null = null,
  amount = 1_000,
): Promise<Answer> {
  const nothing = { externalRef: null, description: null, metadata: {} };
  const to = { pixKeyType: 'CPF', pixKey: '12345678909' } as const;
  return payments.createTransfer(account, { amount, idempotencyKey, ...nothing, ...to }, {});
}

/** The record of an answer that applied something. */
export function applied(answer: Answer | { kind: 'malformed' }): TransactionRecord {
  if (answer.kind !== 'applied') throw new Error(`answered ${JSON.stringify(answer)}`);
  return answer.record;
}

/** A transaction as it is stored now. */
export async function stored({ store }: Process, id: string): Promise<TransactionRecord> {
  const record = await store.journal.transaction(id);
  if (record === null) throw new Error(`no transaction ${id}`);
  return record;
}
