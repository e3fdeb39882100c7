/**
 * Runs one simulation: workload, faults, crashes, clocks that step and URLs that hang, and the auditors that must agree
 * with all of it.
 */
import type { Batch } from '../../src/engine/journal.ts';
import { ACCOUNT, MAY_HANG, NEIGHBOUR } from './accounts.ts';
import { type AccountSurroundings, Auditor, timelineOf } from './auditor.ts';
import { BankAuditor } from './bank/auditor.ts';
import { Counterparty } from './bank/counterparty.ts';
import { Happenings } from './bank/happenings.ts';
import { KEY, OTHER_KEY } from './bank/keys.ts';
import { OUTAGE_OVER_MS, Weather } from './faults.ts';
import { MemoryStores } from './memory-stores.ts';
import type { Timeline } from './model.ts';
import { Process, SILENT_AFTER_MS, type Surroundings } from './process.ts';
import { Random } from './random.ts';
import { Receivers } from './receivers.ts';
import { SettingsHistory } from './settings.ts';
import type { SimulationOptions, Summary } from './summary.ts';
import { WallClock } from './wall-clock.ts';
import { Workload } from './workload.ts';
import { World } from './world.ts';

const START = Date.UTC(2026, 0, 5, 12);
const MOST_PROCESSES = 2;
const AUDIT_EVERY = 250;
/** Expiry and the last retry come after 10 and 6 minutes: whatever waits for longer waits for a time that is wrong. */
const REST_MS = 11 * 60_000;
const TICK_MS = 5_000;
/** After a fault each write is tried again within this time. */
const WRITTEN_MS = 2_000;

/** Questions to the bank come every ten minutes at the latest, and what is answered may want more of them. */
const ASKED_MS = 30 * 60_000;
const BANK_REST_MS = 3 * 60 * 60_000;
/** Once a day the last days of the bank's list are read again. */
const DAY_MS = 24 * 60 * 60_000;

/** What must not be was found; `seed` and `step` lead there again. */
export class SimulationFailure extends Error {}

/** What happens to one of the accounts, and who holds that against its journal. */
interface Scene {
  workload: Workload;
  auditor: Auditor;
}

export class Simulation {
  readonly #seed: number;
  readonly #steps: number;
  readonly #log: (line: string) => void;
  readonly #world: World;
  readonly #around: Surroundings;
  readonly #scene: Scene;
  readonly #neighbour: Scene;
  readonly #count: number;
  readonly #bank: { happenings: Happenings; auditor: BankAuditor } | null;
  readonly #options: SimulationOptions;
  #processes: Process[] = [];
  #started = 0;
  #crashes = 0;

  constructor(seed: number, steps: number, options: SimulationOptions = {}) {
    this.#seed = seed;
    this.#steps = steps;
    const { log = () => {}, storesOf = (parts) => new MemoryStores(parts) } = options;
    this.#log = log;
    this.#options = options;
    const world = new World(new Random(seed), START);
    const history = new SettingsHistory(world);
    const clock = new WallClock(world);
    const weather = new Weather(world);
    const parts = { world, clock, weather, history, silentAfterMs: SILENT_AFTER_MS, log };
    const stores = storesOf(parts);
    this.#world = world;
    const receivers = new Receivers(world, MAY_HANG);
    // The seed decides even where it is overruled: the rest of its stream stays.
    const chosen = world.random.pick(['sandbox', 'api-pix'] as const);
    const counterparty = (options.bank ?? chosen) === 'api-pix' ? new Counterparty(world) : null;
    const decidedAt = new Map<string, number>();
    this.#around = {
      world,
      clock,
      stores,
      stored: stores.stored,
      history,
      weather,
      receivers,
      counterparty,
      decidedAt,
      log,
    };
    this.#bank = this.#openBank();
    this.#scene = this.#open({ ...this.#around, account: ACCOUNT });
    this.#neighbour = this.#open({ ...this.#around, account: NEIGHBOUR });
    this.#count = 1 + world.random.int(MOST_PROCESSES);
    if (world.random.perMille(500)) clock.step();
  }

  #openBank(): { happenings: Happenings; auditor: BankAuditor } | null {
    const { world, stored, counterparty: bank } = this.#around;
    if (bank === null) return null;
    const callBack = async (body: string): Promise<void> => {
      if (this.#processes.length === 0) throw new Error('nobody listens');
      await world.random.pick(this.#processes).hear(body);
    };
    const happenings = new Happenings({ world, bank, stored, callBack });
    return { happenings, auditor: new BankAuditor(this.#around, bank, [ACCOUNT, NEIGHBOUR]) };
  }

  #open(around: AccountSurroundings): Scene {
    const workload = new Workload(around);
    return { workload, auditor: new Auditor(around, workload.operations) };
  }

  get #scenes(): Scene[] {
    return [this.#scene, this.#neighbour];
  }

  /** @throws SimulationFailure */
  async run(): Promise<Summary> {
    const giveBack = this.#world.install();
    let step = 0;
    try {
      for (const account of [ACCOUNT, NEIGHBOUR]) await this.#around.stores.putAccount(account);
      while (this.#processes.length < this.#count) await this.#start();
      for (; step < this.#steps; step += 1) {
        await this.#step();
        this.#throwFailure();
        if (step % AUDIT_EVERY === AUDIT_EVERY - 1) await this.#audit();
      }
      await this.#comeToRest();
      this.#throwFailure();
      await this.#auditEnd();
      return this.#summary();
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new SimulationFailure(
        `seed ${this.#seed}, step ${step}: ${what}\nagain: npm run ${this.#script} -- --seed ${this.#seed} --steps ${this.#steps}${this.#forced} --verbose`,
      );
    } finally {
      giveBack();
      await this.#around.stores.close();
    }
  }

  get #script(): string {
    return this.#options.storesOf === undefined ? 'simulate' : 'simulate:mongodb';
  }

  get #forced(): string {
    const { bank } = this.#options;
    return bank === undefined ? '' : ` --bank ${bank}`;
  }

  async #audit(): Promise<void> {
    await this.#around.stores.refresh();
    for (const { auditor } of this.#scenes) auditor.audit();
    this.#bank?.auditor.audit();
    const [wrong] = this.#around.history.wrongs;
    if (wrong !== undefined) throw new Error(wrong);
  }

  /** The journal that the run left of the account that most happens to. */
  journal(): Batch[] {
    return this.#around.stored.journal(ACCOUNT.id, 1, Number.POSITIVE_INFINITY);
  }

  /** The real bank with its books; null with the sandbox. */
  get counterparty(): Counterparty | null {
    return this.#around.counterparty;
  }

  /** Holds both sides' books against each other once more, after the run. */
  auditBank(): void {
    this.#bank?.auditor.auditEnd();
  }

  /** When its batches were decided. */
  get timeline(): Timeline {
    return timelineOf(this.#around);
  }

  #throwFailure(): void {
    for (const { workload } of this.#scenes) if (workload.failure !== null) throw workload.failure;
  }

  async #start(): Promise<void> {
    this.#started += 1;
    this.#processes.push(await Process.start(`process-${this.#started}`, this.#around));
  }

  async #step(): Promise<void> {
    const { random } = this.#world;
    const { receivers, weather } = this.#around;
    const process = random.pick(this.#processes);
    const bank = this.#bank === null ? 0 : 120;
    const chances = { ask: 480, turn: 400, tick: 80, wait: 35, crash: 3, clock: 5, hang: 8, outage: 2, bank };
    const what = random.weighted(chances);
    if (what === 'ask' || what === 'bank') await this.#around.stores.refresh();
    this.#log(`${this.#world.now - START} ms ${what} ${process.name}`);
    switch (what) {
      case 'ask':
        if (process.isReady) (random.perMille(850) ? this.#scene : this.#neighbour).workload.ask(process);
        else process.tick();
        break;
      case 'turn':
        for (let turns = random.int(12); turns > 0; turns -= 1) await this.#world.turn();
        break;
      case 'tick':
        process.tick();
        break;
      case 'wait':
        await this.#wait(random.pick([1, 10, 500, 1_000, 30_000, 61_000]));
        break;
      case 'crash':
        await this.#crash(process);
        break;
      case 'clock':
        await this.#setClock();
        break;
      case 'hang':
        receivers.turn();
        break;
      case 'outage':
        weather.beginOutage();
        break;
      case 'bank':
        this.#bank?.happenings.happen();
        break;
    }
  }

  /** Time passes, or it stood still for all processes, and nothing that was due meanwhile has happened. */
  async #wait(ms: number): Promise<void> {
    if (this.#world.random.perMille(500)) this.#world.advance(ms);
    else await this.#world.pass(ms);
  }

  /**
   * The clock steps at a moment at which nothing that was reckoned by it is on its way into the store: that would be
   * dated by the time after the step, and nobody can tell by which one it was reckoned.
   */
  async #setClock(): Promise<void> {
    const { clock, weather, world } = this.#around;
    if (weather.isRough) return;
    await weather.pause(async () => {
      for (let passed = 0; passed < WRITTEN_MS; passed += 500) {
        await world.quiet();
        world.advance(500);
      }
      await world.quiet();
      clock.step();
      // Within a second each process looks at the clock.
      for (const process of this.#processes) process.tick();
      await world.quiet();
    });
  }

  async #crash(process: Process): Promise<void> {
    process.die();
    this.#crashes += 1;
    for (const { workload } of this.#scenes) workload.orphan(process.name);
    this.#processes = this.#processes.filter((each) => each !== process);
    // Where the one that comes after it starts by another time, nobody has seen the clock step.
    if (this.#world.random.perMille(300)) await this.#setClock();
    await this.#start();
  }

  /**
   * Clocks are right and no fault happens any more. A URL goes on hanging at first: all others get what is theirs. Then
   * it answers, and nothing may wait.
   */
  async #comeToRest(): Promise<void> {
    const { clock, receivers, weather, world, counterparty } = this.#around;
    weather.clear();
    counterparty?.weather.clear();
    // What an outage has held up is written before the clock is put right.
    await this.#rest(OUTAGE_OVER_MS);
    clock.putRight();
    receivers.isKind = true;
    receivers.hang(MAY_HANG[0]);
    // What the others had in hand comes free where they died; where they live, they end it.
    for (const other of world.random.perMille(500) ? this.#processes.splice(1) : []) {
      other.die();
      for (const { workload } of this.#scenes) workload.orphan(other.name);
    }
    await this.#rest(REST_MS);
    await this.#around.stores.refresh();
    for (const { auditor } of this.#scenes) auditor.auditPunctuality();
    receivers.letGo();
    await this.#rest(REST_MS);
    await this.#around.stores.refresh();
    for (const { auditor } of this.#scenes) await auditor.auditDead();
    if (this.#bank === null) return;
    await this.#giveKeys(OTHER_KEY);
    await this.#rest(ASKED_MS);
    await this.#giveKeys(KEY);
    await this.#rest(BANK_REST_MS);
    // What nobody has hinted at, and the list of the last hour doesn't show, a day's does.
    world.advance(DAY_MS);
    await this.#rest(2 * REST_MS);
  }

  /** What was ordered by a key, and never came to the bank, waits until its account has that key again. */
  async #giveKeys(pixKey: string): Promise<void> {
    const { stored } = this.#around;
    for (const { id } of [ACCOUNT, NEIGHBOUR]) {
      const account = stored.account(id);
      if (account !== null)
        await this.#around.stores.putAccount({ ...account, pixKey, version: account.version + 1 });
    }
  }

  async #rest(ms: number): Promise<void> {
    for (const until = this.#world.now + ms; this.#world.now < until; ) {
      this.#bank?.happenings.endAll();
      for (const process of this.#processes) process.tick();
      await this.#world.pass(TICK_MS);
    }
  }

  async #auditEnd(): Promise<void> {
    const { stored } = this.#around;
    await this.#audit();
    for (const { auditor } of this.#scenes) auditor.auditEnd();
    this.#bank?.auditor.auditEnd();
    if (stored.left > 0) throw new Error(`${stored.left} things are left behind`);
  }

  #summary(): Summary {
    const { stored, clock, receivers, weather, counterparty } = this.#around;
    const faults = [...weather.counts, ...(counterparty?.weather.counts ?? [])];
    const head = stored.head(ACCOUNT.id);
    const sum = (count: (scene: Scene) => number): number =>
      this.#scenes.reduce((all, scene) => all + count(scene), 0);
    return {
      seed: this.#seed,
      steps: this.#steps,
      bank: counterparty === null ? 'sandbox' : 'api-pix',
      operations: sum(({ workload }) => workload.operations.length),
      batches: sum(({ auditor }) => auditor.model.seq),
      transactions: sum(({ auditor }) => auditor.model.transactions.size),
      deliveries: sum(({ auditor }) => auditor.model.deliveries.size),
      crashes: this.#crashes,
      clockSteps: clock.steps,
      timeouts: receivers.timeouts,
      faults: Object.fromEntries(faults.sort()),
      atBank: counterparty?.tally ?? {},
      elapsedMs: this.#world.now - START,
      head: head.hash,
    };
  }
}
