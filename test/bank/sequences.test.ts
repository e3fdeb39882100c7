/**
 * Sequences of what merchants, payers, the bank and bad luck do, against the bank for tests over TLS: calls that are
 * cut before or after they are done, 5xx, HTML, what the bank knows only later, on several processes that share a
 * store, die and go on as ghosts. At the end all faults are gone and the bank comes to an end with everything: then
 * money has moved once, both sides agree, and what couldn't go back is on the list for ops. The seeds are fixed.
 *
 * Orders that move money meet faults far more often than chance would have it: a mistake in what becomes of one is
 * found by most seeds, not by a few.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import { ApiPixBank } from '../../src/bank/api-pix/bank.ts';
import { BankConnection } from '../../src/bank/api-pix/connection.ts';
import { readBankConfig } from '../../src/config.ts';
import type { Account } from '../../src/domain/account.ts';
import { refundsOf } from '../../src/domain/reversals/sums.ts';
import { BankRefused } from '../../src/engine/bank.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { question } from '../../src/engine/store/due.ts';
import { openAccount, openProcess, type Process } from '../faults/in-process.ts';
import { randomOf } from '../faults/scene.ts';
import { FakeBank, type Fault, OUR_KEY } from '../support/bank/bank.ts';
import { MemoryState } from '../support/memory-store/state.ts';

const test = suite('a real bank: sequences');

const SEEDS = 40;
const STEPS = 50;
const BALANCE = 1_000_000;
const MINUTE_MS = 60_000;
/** What the bank did is known to its questions only so much later, by the clock of the sequence. */
const HIDDEN_MS = 30_000;
const CALLS = [
  'PUT cob',
  'GET cob',
  'PATCH cob',
  'PUT envio',
  'GET envio',
  'PUT devolucao',
  'GET devolucao',
  'token',
];
const FAULTS: Fault[] = [
  { kind: 'cut-before' },
  { kind: 'cut-after' },
  { kind: 'answer', status: 503, body: '<html>' },
  { kind: 'answer', status: 500, body: '{"title":"x"}', isDone: true },
  { kind: 'answer', status: 200, body: '<html>ok', isDone: true },
  { kind: 'hidden', ms: HIDDEN_MS },
];

const PROCESSES = 2;

function cents(valor: string): number {
  return Number(valor.replace('.', ''));
}

function reais(amount: number): string {
  return (amount / 100).toFixed(2);
}

class World {
  readonly bank: FakeBank;
  readonly account: Account;
  readonly #clock: { ms: number };
  readonly #state: MemoryState;
  readonly #random: () => number;
  readonly #connections: BankConnection[] = [];
  readonly #alive: Process[];

  private constructor(bank: FakeBank, seed: number, parts: { clock: { ms: number }; state: MemoryState }) {
    this.bank = bank;
    this.#clock = parts.clock;
    this.#state = parts.state;
    this.#random = randomOf(seed);
    this.#alive = Array.from({ length: PROCESSES }, () => this.#open());
    this.account = null as never;
  }

  static async make(seed: number): Promise<World> {
    const clock = { ms: Date.now() };
    const bank = await FakeBank.start({ profile: 'efi', now: () => clock.ms });
    const world = new World(bank, seed, { clock, state: new MemoryState() });
    Object.assign(world, { account: await openAccount(world.process, world.#clock, BALANCE) });
    return world;
  }

  /** One of those that are alive: whoever gets the request. */
  get process(): Process {
    const [first] = this.#alive;
    const found = this.#one(this.#alive) ?? first;
    if (found === undefined) throw new Error('nobody is alive');
    return found;
  }

  /** A new process on what is stored; the one before, if any, goes on with what it has in hand. */
  #open(): Process {
    const settings = readBankConfig(this.bank.env);
    if (settings === null) throw new Error('no settings');
    const now = (): number => this.#clock.ms;
    // Tokens live, and the breaker waits, by the same clock.
    const connection = new BankConnection(settings, { now, elapsed: now });
    this.#connections.push(connection);
    const around = (): Process => process;
    const bank = new ApiPixBank({
      ...{ connection, settings },
      account: (id) => around().store.accounts.get(id),
      transaction: (id) => around().store.journal.transaction(id),
      due: { settle: (settlements) => around().store.due.settle(settlements) },
      now,
      notes: {
        ...{ unread: async () => {}, unknownThere: async () => {}, heard: async () => {} },
        ...{ keyTaken: () => {}, keyRefused: () => {}, difference: async () => {}, agreed: async () => {} },
      },
    });
    const process = openProcess({ state: this.#state, clock: this.#clock, bank, fresh: true, elapsed: now });
    return process;
  }

  /** A process dies, and another begins: the old one's calls may come to their ends. */
  #die(): void {
    this.#alive[Math.floor(this.#random() * PROCESSES)] = this.#open();
  }

  /** The next order of a name meets a fault, more often than not. */
  #spoil(call: string): void {
    const fault = this.#one(FAULTS);
    if (fault !== undefined && this.#random() < 0.8) this.bank.fault(call, fault);
  }

  #one<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  records(): Promise<TransactionRecord[]> {
    return this.process.store.journal.records('', 10_000);
  }

  async #createCharge(): Promise<void> {
    const { payments } = this.process;
    const nothing = {
      externalRef: null,
      description: null,
      additionalInfo: null,
      customer: null,
      metadata: {},
    };
    const amount = 1_000 + Math.floor(this.#random() * 5_000);
    const expiresIn = this.#random() < 0.3 ? 60 : null;
    await payments.createCharge(this.account, { amount, expiresIn, ...nothing }, {});
  }

  async #createTransfer(): Promise<void> {
    const to = {
      pixKeyType: 'EMAIL',
      pixKey: this.#random() < 0.1 ? 'ninguem@example.com' : 'a@b.co',
    } as const;
    const nothing = { idempotencyKey: null, externalRef: null, description: null, metadata: {} };
    const amount = 100 + Math.floor(this.#random() * 3_000);
    this.#spoil('PUT envio');
    await this.process.payments.createTransfer(this.account, { amount, ...nothing, ...to }, {});
  }

  /** Somebody pays a charge at the bank: again, or another amount, at times. */
  async #pay(): Promise<void> {
    // A charge whose request died before our answer lies at the bank alone: nobody has seen its code.
    const seen = this.#one((await this.records()).filter(({ type }) => type === 'pix-in'));
    const charge = this.bank.state.charges.get(seen?.id.replaceAll('-', '') ?? '');
    if (charge === undefined || charge.status.startsWith('REMOVIDA')) return;
    const { valor } = charge.body as { valor: { original: string } };
    const isWrong = this.#random() < 0.3;
    // What is wrong, or comes twice, goes back.
    if (isWrong || charge.status === 'CONCLUIDA') this.#spoil('PUT devolucao');
    const amount = isWrong ? '0.77' : valor.original;
    this.bank.state.pay({ txid: charge.txid, amount, key: OUR_KEY }, this.#clock.ms);
    // Most callbacks arrive.
    if (this.#random() < 0.7) await this.hint(seen);
  }

  async #refund(): Promise<void> {
    const charge = this.#one((await this.records()).filter(({ snapshot }) => snapshot.value === 'paid'));
    if (charge === undefined) return;
    const amount = 1 + Math.floor(this.#random() * 1_500);
    const order = { transaction: charge.id, amount, reason: null, idempotencyKey: null };
    this.#spoil('PUT devolucao');
    await this.process.payments.refund(this.account, order, {});
  }

  async #cancel(): Promise<void> {
    const charge = this.#one((await this.records()).filter(({ type }) => type === 'pix-in'));
    if (charge === undefined) return;
    await this.process.payments.cancel(this.account, { transaction: charge.id, reason: null }, {});
  }

  async hint(record: TransactionRecord | undefined): Promise<void> {
    if (record === undefined) return;
    const { account, id } = record;
    await this.process.store.due.settle([{ claim: null, next: question(account, id, this.#clock.ms) }]);
  }

  /** The bank comes further with something, or to an end with all. */
  bankGoesOn(all: boolean): void {
    for (const sending of this.bank.state.sendings.values()) {
      if (sending.status !== 'EM_PROCESSAMENTO' || !(all || this.#random() < 0.3)) continue;
      const isDone = this.#random() < 0.8;
      Object.assign(sending, { status: isDone ? 'REALIZADO' : 'NAO_REALIZADO', settledAt: this.#clock.ms });
    }
    for (const { returns } of this.bank.state.payments.values())
      for (const each of returns)
        if (each.status === 'EM_PROCESSAMENTO' && (all || this.#random() < 0.5))
          each.status = this.#random() < 0.6 ? 'DEVOLVIDO' : 'NAO_REALIZADO';
  }

  /**
   * Work at the bank goes on in the background: only so long is waited for it. Says whether it came to its end: on a
   * machine that stood still meanwhile something is in hand that nothing stored tells of.
   */
  async pass(ms: number): Promise<boolean> {
    this.#clock.ms += ms;
    for (const each of this.#alive) await each.beat();
    const swept = Promise.all(this.#alive.map((each) => each.sweep())).then(() => true);
    const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 400));
    return Promise.race([swept, late]);
  }

  async step(): Promise<void> {
    const acts: [number, () => Promise<void> | void][] = [
      [4, () => this.#createCharge()],
      [5, () => this.#createTransfer()],
      [9, () => this.#pay()],
      [5, () => this.#refund()],
      [1, () => this.#cancel()],
      [2, async () => this.hint(this.#one(await this.records()))],
      [2, () => this.bankGoesOn(false)],
      [5, () => this.bank.fault(this.#one(CALLS) ?? '', this.#one(FAULTS) ?? { kind: 'cut-before' })],
      [8, () => this.pass(1_000 + Math.floor(this.#random() * 20_000))],
      [2, () => this.#die()],
    ];
    let left = this.#random() * acts.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of acts) {
      left -= weight;
      if (left > 0) continue;
      try {
        await act();
      } catch (error) {
        if (!(error instanceof BankRefused)) throw error;
      }
      return;
    }
  }

  /** Faults are over: everything that isn't at its end is asked about until it is. */
  async settle(): Promise<void> {
    this.bank.clearFaults();
    for (let round = 0; round < 200; round += 1) {
      this.bankGoesOn(true);
      if (round % 10 === 0) for (const record of await this.records()) await this.hint(record);
      const isIdle = await this.pass(round < 40 ? MINUTE_MS : 60 * MINUTE_MS);
      if (isIdle && (await this.#isSettled())) return;
    }
    const open = (await this.records()).filter((record) => !isOver(record));
    throw new Error(
      `left open: ${JSON.stringify(open.map(({ id, type, snapshot }) => [type, id, snapshot]))}`,
    );
  }

  async #isSettled(): Promise<boolean> {
    const records = await this.records();
    const returns = [...this.bank.state.payments.values()].flatMap((payment) => payment.returns);
    const isQuiet = returns.every(({ status }) => status !== 'EM_PROCESSAMENTO');
    return isQuiet && records.every(isOver) && (await this.#dueNow()) === 0;
  }

  /** Orders that wait for their turn at the bank. */
  async #dueNow(): Promise<number> {
    const claims = await this.process.store.due.claim('bank', this.#clock.ms + 10 * MINUTE_MS, 1_000);
    await this.process.store.due.settle(claims.map((claim) => ({ claim, next: claim.due })));
    return claims.length;
  }

  async end(): Promise<void> {
    for (const connection of this.#connections) await connection.close();
    await this.bank.stop();
  }
}

function isOver(record: TransactionRecord): boolean {
  if (record.type === 'cashout') return record.final;
  const { value, context } = record.snapshot;
  return value !== 'waiting_payment' && refundsOf(context).every(({ refund }) => refund.status !== 'pending');
}

/** Whether ops are told of a payment that couldn't be given back. */
async function isListed({ process }: World, endToEndId: string): Promise<boolean> {
  const items = await process.store.attention.page({ kind: 'return' }, null, 10_000);
  return items.some(({ code, what }) => code === 'RETURN_FAILED' && what.includes(endToEndId));
}

/** Money moved once, and both sides say so. */
async function expectAgreement(world: World): Promise<void> {
  const { bank, process } = world;
  let journal = 0;
  let atBank = 0;
  const credited = new Set<string>();
  for (const record of await world.records()) {
    if (record.type === 'cashout') {
      const sending = bank.state.sendings.get(record.id.replaceAll('-', ''));
      const isPaid = sending?.status === 'REALIZADO';
      assert.is(record.snapshot.value === 'completed', isPaid, `${record.id} is ${record.snapshot.value}`);
      if (isPaid) {
        assert.is(cents(sending.valor), record.snapshot.context.amount);
        journal -= record.snapshot.context.amount;
      }
      continue;
    }
    const { endToEndId, amount } = record.snapshot.context;
    if (endToEndId === null) continue;
    credited.add(endToEndId);
    assert.is(cents(bank.state.payments.get(endToEndId)?.valor ?? ''), amount);
    const refunded = refundsOf(record.snapshot.context)
      .filter(({ refund }) => refund.status === 'completed')
      .reduce((sum, { refund }) => sum + refund.amount, 0);
    journal += amount - refunded;
  }
  for (const sending of bank.state.sendings.values())
    if (sending.status === 'REALIZADO') atBank -= cents(sending.valor);
  for (const { endToEndId, valor, returns } of bank.state.payments.values()) {
    const back = returns
      .filter(({ status }) => status === 'DEVOLVIDO')
      .reduce((sum, each) => sum + cents(each.valor), 0);
    atBank += cents(valor) - back;
    // What can't be given back is on the list for ops instead.
    const isFailed = returns.some(({ status }) => status === 'NAO_REALIZADO');
    if (!credited.has(endToEndId) && isFailed)
      assert.ok(await isListed(world, endToEndId), `nobody is told that ${endToEndId} wasn't given back`);
    if (!credited.has(endToEndId) && !isFailed)
      assert.is(back, cents(valor), `${endToEndId} wasn't given back`);
    if (!credited.has(endToEndId) && isFailed) journal += cents(valor) - back;
  }
  assert.is(reais(journal), reais(atBank));
  const { bank: leg } = (await process.store.journal.head(world.account.id)).balances;
  const kept = [...bank.state.payments.values()].filter(({ endToEndId }) => !credited.has(endToEndId));
  const elsewhere = kept.reduce((sum, { valor, returns }) => {
    const back = returns
      .filter(({ status }) => status === 'DEVOLVIDO')
      .reduce((all, each) => all + cents(each.valor), 0);
    return sum + cents(valor) - back;
  }, 0);
  assert.is(-leg, BALANCE + atBank - elsewhere, 'the journal’s leg is the bank’s own sum');
  const report = await verifyStore(process.store.journal, {
    ...{ heads: false, decide: true, everyDoorSpeaks: false },
  });
  assert.is(report.ok, true, JSON.stringify(report.differences));
  assert.equal(bank.violations, [], 'a request broke the document');
}

for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`seed ${seed}: money moves once, and both sides agree`, async () => {
    const world = await World.make(seed);
    try {
      for (let step = 0; step < STEPS; step += 1) await world.step();
      await world.settle();
      await expectAgreement(world);
    } finally {
      await world.end();
    }
  });
}

test.run();
