/** Ourselves with a real bank on a clock that the test sets: charges, transfers, and reconciliation's own turns. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { ApiPixBank } from '../../../src/bank/api-pix/bank.ts';
import { Notes } from '../../../src/bank/api-pix/notes.ts';
import { bare } from '../../../src/bank/api-pix/profile.ts';
import { Reconciler } from '../../../src/bank/api-pix/reconciling/reconcile.ts';
import type { Account } from '../../../src/domain/account.ts';
import type { Balances } from '../../../src/domain/money.ts';
import { question } from '../../../src/engine/store/due.ts';
import type { AttentionItem } from '../../../src/engine/store.ts';
import {
  applied,
  createCharge,
  createTransfer,
  openAccount,
  openProcess,
  type Process,
  stored,
} from '../../faults/in-process.ts';
import { OUR_KEY, type StartOptions } from '../../support/bank/bank.ts';
import type { FakePayment } from '../../support/bank/state.ts';
import { MemoryState } from '../../support/memory-store/state.ts';
import { Scene } from './scene.ts';

/** Of the reconciler's waits. */
export const SCALE = 0.001;

/** One process of ours on a store, beside a bank whose list it reconciles with. */
export class World {
  readonly clock = { ms: Date.now() };
  readonly scene: Scene;
  readonly process: Process;
  readonly reconciler: Reconciler;
  #account: Account | null = null;

  private constructor(scene: Scene) {
    this.scene = scene;
    const settings = scene.settings({ BANK_RETRY_SCALE: '0.001' });
    const around = (): Process => this.process;
    const now = (): number => this.clock.ms;
    const notes = new Notes({
      note: (items) => around().engine.note(items),
      withdraw: (keys) => around().engine.withdraw(keys),
      attention: {
        page: (...args) => around().store.attention.page(...args),
        find: (...args) => around().store.attention.find(...args),
      },
      ...{ now, retryScale: 1 },
    });
    const bank = new ApiPixBank({
      ...{ connection: scene.us, settings, now, notes },
      account: (id) => around().store.accounts.get(id),
      transaction: (id) => around().store.journal.transaction(id),
      due: { settle: (settlements) => around().store.due.settle(settlements) },
    });
    this.process = openProcess({
      ...{ state: new MemoryState(), clock: this.clock, bank, fresh: true, elapsed: now },
    });
    const { journal, due, marks } = this.process.store;
    this.reconciler = new Reconciler({
      ...{ connection: scene.us, journal, due, marks, notes, now, retryScale: SCALE },
    });
  }

  static async make(options: StartOptions = {}, balance = 0): Promise<World> {
    const world = new World(await Scene.make(options));
    world.#account = await openAccount(world.process, world.clock, balance);
    return world;
  }

  get account(): Account {
    if (this.#account === null) throw new Error('there is no account');
    return this.#account;
  }

  async sweep(laterMs = 1_000): Promise<void> {
    this.clock.ms += laterMs;
    await this.process.beat();
    await this.process.sweep();
  }

  /** A charge of 100.00 that waits for its payment; its id. */
  async charge(): Promise<string> {
    return applied(await createCharge(this.process, this.account)).id;
  }

  /** A transfer that the bank has been ordered; its id. */
  async transfer(): Promise<string> {
    const { id } = applied(await createTransfer(this.process, this.account));
    await this.sweep();
    return id;
  }

  /** Somebody pays a charge. */
  pay(id: string, at = Date.now()): FakePayment {
    return this.scene.bank.state.pay({ txid: bare(id), amount: '100.00', key: OUR_KEY, at });
  }

  /** The bank is asked about a transaction now. */
  async ask(id: string): Promise<void> {
    const next = question(this.account.id, id, this.clock.ms);
    await this.process.store.due.settle([{ claim: null, next }]);
    await this.sweep();
  }

  /** Ops say what a bank would say; whether it was applied. */
  async tell(id: string, type: string, data: Record<string, unknown>): Promise<string> {
    const message = { id: randomUUID(), type, data };
    return (await this.process.payments.tell(await stored(this.process, id), message, 'ops')).kind;
  }

  /** Ops are done with all items on the list. */
  async done(): Promise<void> {
    await this.process.store.attention.dismiss(await this.items());
  }

  /** A charge that was paid, and credited. */
  async paid(at = Date.now()): Promise<{ id: string; payment: FakePayment }> {
    const id = await this.charge();
    const payment = this.pay(id, at);
    await this.ask(id);
    assert.is(await this.status(id), 'paid');
    return { id, payment };
  }

  async status(id: string): Promise<string> {
    return (await stored(this.process, id)).snapshot.value;
  }

  items(): Promise<AttentionItem[]> {
    return this.process.store.attention.page({}, null, 100);
  }

  async balances(): Promise<Balances> {
    return (await this.process.store.journal.head(this.account.id)).balances;
  }

  async codes(): Promise<(string | null)[]> {
    return (await this.items()).map(({ code }) => code);
  }
}
