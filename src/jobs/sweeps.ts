/**
 * The recurring jobs: each drains what is due in the store, in bounded batches, and sends it on. No transaction has
 * a job of its own. A job is a hint: the code that it hands a claim to reads again the state that it acts on.
 */
import { backoffMs, type Desk } from '../bank/desk.ts';
import type { Bank } from '../engine/bank.ts';
import type { Engine } from '../engine/engine.ts';
import type { Payments } from '../engine/payments.ts';
import { settleSurely } from '../engine/settle.ts';
import type { Claim, ClaimOf, Due, DueIndex, DueKind, JournalReads, Settlement } from '../engine/store.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import type { RecurringJob } from './recurring-job.ts';

export interface SweepOptions {
  engine: Engine;
  payments: Payments;
  journal: JournalReads;
  due: DueIndex;
  bank: Bank;
  desk: Desk;
  dispatcher: Dispatcher;
  now(): number;
  onTrouble(error: unknown, due: Due): void;
  /** How often the store is asked for what is due: 100 by default; a step comes at most 250 ms late on an idle machine. */
  tickMs?: number;
}

/** The recurring jobs of a process. */
export interface Sweeps {
  /** Where several processes share a store, it is enough if one of them does these at a time. */
  shared: RecurringJob[];
  /** Each process does these for itself. */
  local: RecurringJob[];
}

const DEFAULT_TICK_MS = 100;
const BATCH = 500;
/** Deliveries of a batch: fewer, since each is read from the journal. */
const DELIVERIES = 100;
/** Batches of one drain: a backlog yields to the other jobs now and then. */
const ROUNDS = 40;
const UNPARK_MS = 60_000;

/** Claims and hands on until nothing is due; false where there is more. */
async function drain<Kind extends DueKind>(
  claim: () => Promise<ClaimOf<Kind>[]>,
  handOn: (claims: ClaimOf<Kind>[]) => Promise<void>,
): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round++) {
    const claims = await claim();
    if (claims.length === 0) return true;
    await handOn(claims);
  }
  return false;
}

class TimerSweep {
  readonly #options: SweepOptions;

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  async fireAll(claims: readonly ClaimOf<'timer'>[]): Promise<void> {
    const settlements: Settlement[] = [];
    const parked: Claim[] = [];
    await Promise.all(
      claims.map(async (claim) => {
        const outcome = await this.#fire(claim.due);
        if (outcome === 'park') parked.push(claim);
        else settlements.push({ claim, next: outcome });
      }),
    );
    await settleSurely(this.#options.due, settlements, parked);
  }

  /** Null: done with; a due: later; `park`: the transaction is quarantined. */
  async #fire(due: ClaimOf<'timer'>['due']): Promise<Due | null | 'park'> {
    const { engine, now, onTrouble } = this.#options;
    try {
      await this.#askBank(due.transaction);
      const { transaction, name, at, ahead = 0 } = due;
      const command = { kind: 'timer', transaction, name, at, ahead } as const;
      const answer = await engine.send(due.account, command);
      if (answer.kind === 'notYet') return { ...due, at: answer.at };
      return answer.kind === 'quarantined' ? 'park' : null;
    } catch (error) {
      onTrouble(error, due);
      return { ...due, at: now() + backoffMs(due.tries), tries: due.tries + 1 };
    }
  }

  /** A bank that can be asked may know of a payment that has not reached us: it is heard before a charge expires. */
  async #askBank(id: string): Promise<void> {
    const { bank, journal, payments } = this.#options;
    if (!bank.canBeAsked) return;
    const record = await journal.transaction(id);
    if (record === null || record.final) return;
    for (const message of (await bank.query(record)) ?? []) await payments.tell(record, message, 'bank');
  }
}

/** The jobs that drain what is due in the store, of all processes. */
function dueJobs(options: SweepOptions): RecurringJob[] {
  const { due, desk, dispatcher, now, tickMs = DEFAULT_TICK_MS } = options;
  const timers = new TimerSweep(options);
  return [
    {
      name: 'bank-and-timers',
      everyMs: tickMs,
      run: async () => {
        const orders = (claims: ClaimOf<'bank'>[]): Promise<void> =>
          desk.carryOut(claims.map((claim) => ({ claim, record: null })));
        // The bank's due steps come before due expiries: after a pause, what was paid in time is paid.
        if (!(await drain(() => due.claim('bank', now(), BATCH), orders))) return;
        await drain(
          () => due.claim('timer', now(), BATCH),
          (claims) => timers.fireAll(claims),
        );
      },
    },
    {
      name: 'deliveries',
      everyMs: tickMs,
      run: async () => {
        const limit = (): number => Math.min(DELIVERIES, dispatcher.room);
        const claim = async (): Promise<ClaimOf<'delivery'>[]> =>
          limit() === 0 ? [] : due.claim('delivery', now(), limit());
        await drain(claim, (claims) => dispatcher.dispatchClaimed(claims));
      },
    },
  ];
}

/** The jobs that keep this process and its view of the store in order. */
function ownJobs({ engine, due, now }: SweepOptions): RecurringJob[] {
  let unparkedAt = 0;
  return [
    // One that does not beat loses its claims to the others.
    { name: 'heartbeat', everyMs: 1_000, run: () => due.beat(now()) },
    {
      name: 'housekeeping',
      everyMs: 10_000,
      run: async () => {
        engine.passivate();
        await due.tidy(now());
        if (now() - unparkedAt < UNPARK_MS) return;
        unparkedAt = now();
        await due.unpark(now());
      },
    },
  ];
}

/** All recurring jobs. */
export function sweeps(options: SweepOptions): Sweeps {
  return { shared: dueJobs(options), local: ownJobs(options) };
}
