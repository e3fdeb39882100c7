/**
 * A simulated process: all that a server runs but its doors and its job clock, over its own incarnation of the store,
 * with faults between. It can die at any moment: what it had not written then is never written.
 */
import { Directory } from '../../src/accounts/directory.ts';
import { Sealer } from '../../src/accounts/sealing.ts';
import { Desk } from '../../src/bank/desk.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Bank } from '../../src/engine/bank.ts';
import type { ReturnAgain } from '../../src/engine/commands.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';
import { Payments } from '../../src/engine/payments.ts';
import { type Store, StoreUnavailable } from '../../src/engine/store.ts';
import { ClockWatch } from '../../src/jobs/clock-watch.ts';
import { freshWork } from '../../src/jobs/fresh-work.ts';
import type { RecurringJob } from '../../src/jobs/recurring-job.ts';
import { sweeps } from '../../src/jobs/sweeps.ts';
import { Timers } from '../../src/jobs/timers.ts';
import { Watch } from '../../src/jobs/watch.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { Counterparty } from './bank/counterparty.ts';
import { type OpenedBank, openApiPix } from './bank/opened.ts';
import type { Weather } from './faults.ts';
import type { Receivers } from './receivers.ts';
import { SimulatedSender } from './sender.ts';
import type { SettingsHistory } from './settings.ts';
import type { Stored, Stores } from './stored.ts';
import type { WallClock } from './wall-clock.ts';
import type { World } from './world.ts';

export const STUCK_AFTER_MS = 300_000;
export const SILENT_AFTER_MS = 5_000;
const SANDBOX_DELAY_MS = 500;
const CHARGE_EXPIRY_S = 600;
/** So few that commands which wait together often need more batches than one. */
const BATCH_BYTES = 4_000;
/** The last retry comes after 6 minutes, so that an hour stands out. */
const RETRY_SCALE = 0.1;

/** Opens what the accounts' webhooks are signed with. */
export const SEALER = new Sealer(Buffer.alloc(32, 1));

/** Shared by the processes of a simulation. */
export interface Surroundings {
  world: World;
  clock: WallClock;
  stores: Stores;
  /** What the stores hold. */
  stored: Stored;
  history: SettingsHistory;
  /** When each batch was decided, by its id: ms since 1970, by the world's time. */
  decidedAt: Map<string, number>;
  weather: Weather;
  receivers: Receivers;
  /** The real bank; null: each process has a sandbox. */
  counterparty: Counterparty | null;
  log(line: string): void;
}

interface ProcessParts {
  name: string;
  store: Store;
  /** Until it dies. */
  life: { isOn: boolean };
}

/** A recurring job, and its last run by the world's time. */
interface Scheduled extends RecurringJob {
  ranAt: number;
  isUnderWay: boolean;
}

export class Process {
  readonly name: string;
  readonly store: Store;
  readonly engine: Engine;
  readonly payments: Payments;
  readonly #around: Surroundings;
  /** Its accounts' settings as requests see them. */
  readonly directory: Directory;
  /** Rejects once it has died. */
  readonly death: Promise<never>;
  /** The wall clock as this process reads it, ms. */
  readonly now: () => number;
  readonly #jobs: Scheduled[];
  #isReady = false;
  readonly #opened: OpenedBank;
  readonly #life: ProcessParts['life'];
  #endAll: (error: Error) => void = () => {};

  /** Starts one, with a store that may be used. */
  static async start(name: string, around: Surroundings): Promise<Process> {
    const life = { isOn: true };
    const store = await around.stores.open(name, () => life.isOn);
    return new Process({ name, store, life }, around);
  }

  private constructor({ name, store, life }: ProcessParts, around: Surroundings) {
    const { world, clock } = around;
    this.name = name;
    this.store = store;
    this.#life = life;
    this.#around = around;
    // Each process measures the store's clock for itself: two of them never quite agree.
    const skewMs = world.random.int(400) - 200;
    const now = (): number => clock.now + skewMs;
    this.now = now;
    this.death = new Promise((_, reject) => {
      this.#endAll = reject;
    });
    this.death.catch(() => {});
    const directory = new Directory(this.store.accounts, SEALER, now);
    this.directory = directory;
    this.#opened = this.#openBank(directory, now);
    const { bank, jobs } = this.#opened;
    this.engine = new Engine({
      store: this.store,
      everyDoorSpeaks: bank.everyDoorSpeaks,
      now,
      stuckAfterMs: STUCK_AFTER_MS,
      batchBytes: BATCH_BYTES,
      newBatchId: () => {
        const id = world.random.uuid();
        around.decidedAt.set(id, world.now);
        return id;
      },
      settings: (id) => directory.account(id),
    });
    this.payments = new Payments({
      engine: this.engine,
      journal: this.store.journal,
      bank,
      now,
      newId: () => world.random.uuid(),
      chargeExpiryS: CHARGE_EXPIRY_S,
    });
    this.#jobs = [...this.#openWorkers({ bank, directory, now }), ...jobs].map((job) => {
      return { ...job, ranAt: Number.NEGATIVE_INFINITY, isUnderWay: false };
    });
  }

  #openBank(directory: Directory, now: () => number): OpenedBank {
    const { counterparty, world } = this.#around;
    if (counterparty === null)
      return {
        bank: new SandboxBank(SANDBOX_DELAY_MS),
        jobs: [],
        hear: async () => {},
        nextReturn: async () => null,
      };
    return openApiPix(counterparty, {
      ...{ name: this.name, store: this.store, now },
      isAlive: () => this.#life.isOn,
      account: (id) => directory.account(id),
      note: (items) => this.engine.note(items),
      withdraw: (keys) => this.engine.withdraw(keys),
      newId: () => world.random.uuid(),
    });
  }

  /** A callback of the bank's has come in; resolves once its hints are durable. */
  hear(body: string): Promise<void> {
    return this.#opened.hear(body);
  }

  /** What one more return of a payment would be; null: there is none. */
  nextReturn(record: TransactionRecord, endToEndId: string): Promise<ReturnAgain | null> {
    return this.#opened.nextReturn(record, endToEndId);
  }

  #openWorkers({ bank, directory, now }: { bank: Bank; directory: Directory; now(): number }) {
    const { world, receivers, history, log } = this.#around;
    const { store, engine, payments, name } = this;
    const { journal, due, backlog } = store;
    const onTrouble = (error: unknown): void => log(`trouble of ${name}: ${String(error)}`);
    const sender = new SimulatedSender({ world, receivers, history, owner: name, now });
    const spareTime = new SpareTime();
    const parts = { journal, due, backlog, directory, sender, attention: engine, spareTime };
    const dispatcher = new Dispatcher({ ...parts, now, retryScale: RETRY_SCALE, onTrouble });
    const common = { engine, payments, journal, due, bank, now, onTrouble, stuckAfterMs: STUCK_AFTER_MS };
    const desk = new Desk({ ...common, elapsed: () => world.now });
    const timers = new Timers({ ...common, spareTime });
    engine.handFreshWorkTo(freshWork(due, desk, dispatcher, onTrouble));
    const clock = new ClockWatch({ store, engine, now, onNotice: (text) => log(`${name}: ${text}`) });
    const { shared, local } = sweeps({ engine, due, desk, timers, dispatcher, now, clock });
    const watch = new Watch({
      engine,
      store,
      now,
      stuckAfterMs: STUCK_AFTER_MS,
      says: (id) => bank.says(id),
    });
    const cleaning = { name: 'sender', everyMs: 1_000, run: async () => sender.sweep() };
    return [...shared, ...local, ...watch.jobs, ...clock.jobs, cleaning];
  }

  /** Whether it has followed the clock: nobody is sent to a server before. */
  get isReady(): boolean {
    return this.#isReady;
  }

  get alive(): boolean {
    return this.#life.isOn;
  }

  /** From now on it does nothing. */
  die(): void {
    this.#life.isOn = false;
    this.#around.world.drop(this.name);
    this.#endAll(new StoreUnavailable(`${this.name} has died`));
  }

  /** Begins the jobs whose time has come; each goes on by itself, between everything else. */
  tick(): void {
    for (const job of this.#jobs) {
      if (job.isUnderWay || this.#around.world.now - job.ranAt < job.everyMs) continue;
      job.isUnderWay = true;
      job.ranAt = this.#around.world.now;
      void this.#run(job);
    }
  }

  async #run(job: Scheduled): Promise<void> {
    try {
      await job.run();
      if (job.name === 'clock') this.#isReady = true;
    } catch (error) {
      this.#around.log(`the job ${job.name} of ${this.name} failed: ${String(error)}`);
    }
    job.isUnderWay = false;
  }
}
