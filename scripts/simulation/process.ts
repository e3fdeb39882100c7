/**
 * A simulated process: engine, payments and the bank's desk over its own incarnation of the store, with faults
 * between. It can die at any moment: what it had not written then is never written.
 */

import { Desk } from '../../src/bank/desk.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Account } from '../../src/domain/account.ts';
import { Engine } from '../../src/engine/engine.ts';
import { Payments } from '../../src/engine/payments.ts';
import type { Claim, Due } from '../../src/engine/store/due.ts';
import { type Settlement, StoreUnavailable } from '../../src/engine/store.ts';
import { attempted, newDelivery, wantsAttempt } from '../../src/webhooks/delivery.ts';
import type { Faults, FaultVerdict, StoreMethod } from '../../test/support/memory-store/faults.ts';
import type { MemoryState } from '../../test/support/memory-store/state.ts';
import { MemoryStore } from '../../test/support/memory-store/store.ts';
import type { World } from './world.ts';

export const SILENT_AFTER_MS = 5_000;
const SANDBOX_DELAY_MS = 500;
const CHARGE_EXPIRY_S = 600;
const BATCH = 20;

/** How often, of a thousand calls, the store misbehaves. */
export interface FaultRates {
  /** Fails and changes nothing. */
  before: number;
  /** Takes effect, but its answer is lost. */
  after: number;
  /** An append is told that another was first. */
  stale: number;
  /** An append takes longer than it may. */
  slow: number;
}

export const CALM: FaultRates = { before: 0, after: 0, stale: 0, slow: 0 };
export const ROUGH: FaultRates = { before: 15, after: 15, stale: 40, slow: 4 };

/** Shared by the processes of a simulation. */
export interface Surroundings {
  world: World;
  state: MemoryState;
  account: Account;
  rates: { now: FaultRates };
}

// Whoever reports a result and loses it keeps the claim until it dies: that is not what is simulated here.
const SPARED: ReadonlySet<StoreMethod> = new Set(['settle', 'park', 'beat', 'claim']);

/** A moment of chance before and after each call, which the world lets happen in any order. */
function faultsOf(name: string, isAlive: () => boolean, { world, rates }: Surroundings): Faults {
  const { random } = world;
  const gate = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      if (!isAlive()) return;
      if (delayMs > 0) world.after(delayMs, resolve, name);
      else world.soon(name, resolve);
    });
  return {
    before: async (method): Promise<FaultVerdict> => {
      const slow = method === 'append' && random.perMille(rates.now.slow);
      await gate(slow ? 1_000 + random.int(9_000) : 0);
      if (!SPARED.has(method) && random.perMille(rates.now.before)) throw new StoreUnavailable('before');
      return method === 'append' && random.perMille(rates.now.stale) ? 'stale' : undefined;
    },
    after: async (method) => {
      await gate(0);
      if (!SPARED.has(method) && random.perMille(rates.now.after)) throw new StoreUnavailable('after');
    },
  };
}

export class Process {
  readonly name: string;
  readonly store: MemoryStore;
  readonly engine: Engine;
  readonly payments: Payments;
  readonly #desk: Desk;
  readonly #world: World;
  readonly #now: () => number;
  #alive = true;

  constructor(name: string, around: Surroundings) {
    const { world, state, account } = around;
    // Clocks of two machines never agree.
    const skewMs = world.random.int(400) - 200;
    const now = (): number => world.now + skewMs;
    this.name = name;
    this.#world = world;
    this.#now = now;
    const faults = faultsOf(name, () => this.#alive, around);
    this.store = new MemoryStore({
      state,
      incarnation: name,
      now: () => world.now,
      silentAfterMs: SILENT_AFTER_MS,
      faults,
    });
    const bank = new SandboxBank(SANDBOX_DELAY_MS);
    this.engine = new Engine({
      store: this.store,
      everyDoorSpeaks: true,
      now,
      stuckAfterMs: 300_000,
      newBatchId: () => world.random.uuid(),
      settings: async () => account,
    });
    this.payments = new Payments({
      engine: this.engine,
      journal: this.store.journal,
      bank,
      now,
      newId: () => world.random.uuid(),
      chargeExpiryS: CHARGE_EXPIRY_S,
    });
    this.#desk = new Desk({
      engine: this.engine,
      payments: this.payments,
      journal: this.store.journal,
      due: this.store.due,
      bank,
      now: () => world.now,
      onTrouble: () => {},
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** From now on it does nothing. */
  die(): void {
    this.#alive = false;
    this.#world.drop(this.name);
  }

  /** Claims and carries out what is due; how much it was. The bank comes before the clock. */
  async sweep(): Promise<number> {
    const { due } = this.store;
    await due.beat(this.#world.now);
    // What is due goes by the clock that the engine decides by: by another one, a timer might come too early.
    const orders = await due.claim('bank', this.#now(), BATCH);
    if (orders.length > 0) await this.#desk.carryOut(orders.map((claim) => ({ claim, record: null })));
    const timers = await due.claim('timer', this.#now(), BATCH);
    const deliveries = await due.claim('delivery', this.#now(), BATCH);
    const fired = await Promise.all(timers.map((claim) => this.#fire(claim)));
    const sent = await Promise.all(deliveries.map((claim) => this.#deliver(claim)));
    const settlements = [...fired, ...sent];
    if (settlements.length > 0) await due.settle(settlements);
    return orders.length + settlements.length;
  }

  async #fire(claim: Claim): Promise<Settlement> {
    const due = claim.due as Due & { kind: 'timer' };
    try {
      await this.engine.send(due.account, { ...due });
      return { claim, next: null };
    } catch {
      return { claim, next: { ...due, at: this.#world.now + 1_000, tries: due.tries + 1 } };
    }
  }

  async #deliver(claim: Claim): Promise<Settlement> {
    const due = claim.due as Due & { kind: 'delivery' };
    const { random } = this.#world;
    const now = this.#now();
    try {
      const known = (await this.store.journal.deliveries(due.transaction)).find(
        ({ id }) => id === due.delivery,
      );
      const record = known ?? newDelivery(due.delivery, due.account, due.transaction);
      if (!wantsAttempt(record, now)) return { claim, next: null };
      const statusCode = random.pick([200, 200, 204, 500, 404, 429, null]);
      const attempt = { at: new Date(now).toISOString(), statusCode, error: null, durationMs: 1 };
      const after = attempted(record, attempt, null, 1, now);
      const next = after.nextAttemptAt === null ? null : { ...due, at: Date.parse(after.nextAttemptAt) };
      return { claim, next, record: after };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return { claim, next: { ...due, at: now + 1_000, tries: due.tries + 1 } };
    }
  }
}
