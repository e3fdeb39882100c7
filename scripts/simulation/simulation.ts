/** Runs one simulation: workload, faults, crashes, and the auditor that must agree with all of it. */
import type { Account } from '../../src/domain/account.ts';
import { DEMO_FEES } from '../../src/domain/fees.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { MemoryState } from '../../test/support/memory-store/state.ts';
import { Auditor } from './auditor.ts';
import { CALM, Process, ROUGH, SILENT_AFTER_MS, type Surroundings } from './process.ts';
import { Random } from './random.ts';
import { Workload } from './workload.ts';
import { World } from './world.ts';

const START = Date.UTC(2026, 0, 5, 12);
const PROCESSES = 2;
const AUDIT_EVERY = 250;
const HOUR_MS = 3_600_000;
const MOST_ROUNDS = 2_000;

/** What a run came to; the same for the same seed and steps. */
export interface Summary {
  seed: number;
  steps: number;
  operations: number;
  batches: number;
  transactions: number;
  deliveries: number;
  crashes: number;
  /** Milliseconds of the simulation's own time. */
  elapsedMs: number;
  /** Of the last batch: two runs with one hash did the same, to the byte. */
  head: string;
}

/** What must not be was found; `seed` and `step` lead there again. */
export class SimulationFailure extends Error {}

/** The account that all of it happens to. */
export const ACCOUNT: Account = {
  id: '11111111-1111-4111-8111-111111111111',
  version: 1,
  name: 'Simulated',
  clientId: 'client_simulated',
  secretHash: '',
  status: 'active',
  userStatus: 'active',
  allowedIps: ['*'],
  webhooks: [
    { url: 'https://all.example', events: null, secrets: [] },
    { url: 'https://some.example', events: ['pix-in.paid', 'cashout.*'], secrets: [] },
  ],
  fees: DEMO_FEES,
  expiresIn: null,
  maxAmount: null,
  pixKey: 'loja@example.com',
  merchantName: 'LOJA',
  merchantCity: 'SAO PAULO',
  createdAt: new Date(START).toISOString(),
};

export class Simulation {
  readonly #seed: number;
  readonly #steps: number;
  readonly #log: (line: string) => void;
  readonly #world: World;
  readonly #around: Surroundings;
  readonly #workload: Workload;
  readonly #auditor: Auditor;
  #processes: Process[] = [];
  #started = 0;
  #crashes = 0;

  constructor(seed: number, steps: number, log: (line: string) => void = () => {}) {
    this.#seed = seed;
    this.#steps = steps;
    this.#log = log;
    this.#world = new World(new Random(seed), START);
    this.#around = { world: this.#world, state: new MemoryState(), account: ACCOUNT, rates: { now: ROUGH } };
    this.#workload = new Workload(this.#around);
    this.#auditor = new Auditor(this.#around, this.#workload.operations);
  }

  /** @throws SimulationFailure */
  async run(): Promise<Summary> {
    const giveBack = this.#world.install();
    let step = 0;
    try {
      while (this.#processes.length < PROCESSES) this.#start();
      for (; step < this.#steps; step += 1) {
        await this.#step();
        if (this.#workload.failure !== null) throw this.#workload.failure;
        if (step % AUDIT_EVERY === AUDIT_EVERY - 1) this.#auditor.audit();
      }
      await this.#comeToRest();
      if (this.#workload.failure !== null) throw this.#workload.failure;
      this.#auditor.auditEnd(this.#world.now);
      return this.#summary();
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new SimulationFailure(
        `seed ${this.#seed}, step ${step}: ${what}\nagain: npm run simulate -- --seed ${this.#seed} --steps ${this.#steps} --verbose`,
      );
    } finally {
      giveBack();
    }
  }

  /** The journal that the run left. */
  journal(): Batch[] {
    return this.#around.state.journal(ACCOUNT.id, 1, Number.POSITIVE_INFINITY);
  }

  #start(): void {
    this.#started += 1;
    this.#processes.push(new Process(`process-${this.#started}`, this.#around));
  }

  async #step(): Promise<void> {
    const { random } = this.#world;
    const process = random.pick(this.#processes);
    const what = random.weighted({ ask: 500, turn: 400, sweep: 60, wait: 35, crash: 3 });
    this.#log(`${this.#world.now - START} ms ${what} ${process.name}`);
    switch (what) {
      case 'ask':
        this.#workload.ask(process);
        break;
      case 'turn':
        for (let turns = random.int(12); turns > 0; turns -= 1) await this.#world.turn();
        break;
      case 'sweep':
        this.#sweep(process);
        break;
      case 'wait':
        this.#world.advance(random.pick([1, 10, 500, 1_000, 30_000, 61_000]));
        break;
      case 'crash':
        this.#crash(process);
        break;
    }
  }

  /** Goes on by itself, between everything else. */
  #sweep(process: Process): void {
    process
      .sweep()
      .catch((error: unknown) => this.#log(`a sweep of ${process.name} failed: ${String(error)}`));
  }

  #crash(process: Process): void {
    process.die();
    this.#crashes += 1;
    this.#workload.orphan(process.name);
    this.#processes = this.#processes.filter((each) => each !== process);
    this.#start();
  }

  /** No more faults; all is drained, and time passes until nothing is due any more. */
  async #comeToRest(): Promise<void> {
    this.#around.rates.now = CALM;
    await this.#world.calm();
    const [survivor, ...others] = this.#processes;
    if (survivor === undefined) throw new Error('nobody is left');
    // Those who are silent lose their claims to the one that goes on.
    for (const process of others) process.die();
    this.#world.advance(SILENT_AFTER_MS + 1_000);
    for (let quiet = 0, rounds = 0; quiet < 3; rounds += 1) {
      if (rounds > MOST_ROUNDS) throw new Error('what is due never comes to an end');
      const done = await this.#world.until(survivor.sweep());
      quiet = done > 0 ? 0 : quiet + 1;
      if (done > 0) continue;
      this.#world.advance(HOUR_MS);
    }
  }

  #summary(): Summary {
    const head = this.#around.state.head(ACCOUNT.id);
    return {
      seed: this.#seed,
      steps: this.#steps,
      operations: this.#workload.operations.length,
      batches: head.seq,
      transactions: this.#auditor.model.transactions.size,
      deliveries: this.#auditor.model.deliveries.size,
      crashes: this.#crashes,
      elapsedMs: this.#world.now - START,
      head: head.hash,
    };
  }
}
