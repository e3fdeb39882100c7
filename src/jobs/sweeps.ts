/**
 * The recurring jobs: each claims what is due in the store, in bounded pages, and hands it on without waiting for what
 * becomes of it. No transaction has a job of its own. A claim is a hint: whoever gets it reads again the state that it
 * acts on.
 */
import type { Desk } from '../bank/desk.ts';
import type { Room } from '../engine/claims/room.ts';
import type { Engine } from '../engine/engine.ts';
import type { ClaimOf, DueKind } from '../engine/store/due.ts';
import type { DueIndex } from '../engine/store.ts';
import { turn } from '../waiting.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import type { ClockWatch } from './clock-watch.ts';
import type { RecurringJob } from './recurring-job.ts';
import type { Timers } from './timers.ts';

export interface SweepOptions {
  engine: Engine;
  due: DueIndex;
  desk: Desk;
  timers: Timers;
  dispatcher: Dispatcher;
  now(): number;
  /** The clock that claims go by. */
  clock: Pick<ClockWatch, 'followed'>;
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
/** The most that is claimed at a time. */
const PAGE = 500;
/** As `PAGE`, of deliveries: fewer, since each is read from the journal. */
const DELIVERIES = 100;
/** The most that one sweep claims: a backlog yields to callers, and to the other jobs, now and then. */
const MOST = 4_000;
/** As these, of timers: those of a crowd are read from the store as they are claimed, and have no hurry beside callers. */
const TIMERS = { page: 250, most: 1_000 };
const UNPARK_MS = 60_000;

/** What claims go to: as many as it has room for, and it doesn't make the sweep wait for what it does with them. */
interface Taker<Kind extends DueKind> {
  kind: Kind;
  room: Pick<Room, 'reserveUpTo' | 'release'>;
  /** The most that is claimed at a time. */
  page: number;
  /** The most that a sweep claims. */
  most: number;
  take(claims: ClaimOf<Kind>[]): void;
}

/** Claims and hands on until nothing is due or there is no more room; others have their turn between the pages. */
async function sweep<Kind extends DueKind>(
  { due, clock }: SweepOptions,
  { kind, room, page, most, take }: Taker<Kind>,
): Promise<void> {
  for (let claimed = 0; claimed < most; claimed += page) {
    // A store may have a page there at once.
    if (claimed > 0) await turn();
    const reserved = room.reserveUpTo(page);
    if (reserved === 0) return;
    let claims: ClaimOf<Kind>[] = [];
    try {
      claims = await due.claim(kind, await clock.followed(), reserved);
    } finally {
      room.release(reserved);
      take(claims);
    }
    if (claims.length === 0) return;
  }
}

/** The jobs that drain what is due in the store, of all processes. None waits for what another has claimed. */
function dueJobs(options: SweepOptions): RecurringJob[] {
  const { desk, timers, dispatcher, tickMs: everyMs = DEFAULT_TICK_MS } = options;
  const orders: Taker<'bank'> = {
    kind: 'bank',
    room: desk.room,
    page: PAGE,
    most: MOST,
    take: (claims) => void desk.carryOut(claims, false),
  };
  const fires: Taker<'timer'> = {
    kind: 'timer',
    room: timers.room,
    ...TIMERS,
    take: (claims) => void timers.fireAll(claims),
  };
  const deliveries: Taker<'delivery'> = {
    kind: 'delivery',
    room: dispatcher.toClaim,
    page: DELIVERIES,
    most: MOST,
    take: (claims) => void dispatcher.dispatchClaimed(claims),
  };
  return [
    { name: 'bank', everyMs, run: () => sweep(options, orders) },
    { name: 'timers', everyMs, run: () => sweep(options, fires) },
    { name: 'deliveries', everyMs, run: () => sweep(options, deliveries) },
  ];
}

/** The jobs that keep this process and its view of the store in order. */
function ownJobs(options: SweepOptions): RecurringJob[] {
  const { engine, due, desk, dispatcher, now, tickMs: everyMs = DEFAULT_TICK_MS } = options;
  let unparkedAt = Number.NEGATIVE_INFINITY;
  return [
    { name: 'wake-ups', everyMs, run: async () => desk.wakeUp() },
    // One that does not beat loses its claims to the others.
    { name: 'heartbeat', everyMs: 1_000, run: () => due.beat(now()) },
    { name: 'looks', everyMs: 1_000, run: () => dispatcher.look() },
    {
      name: 'housekeeping',
      everyMs: 10_000,
      run: async () => {
        engine.passivate();
        await due.tidy(now());
        if (performance.now() - unparkedAt < UNPARK_MS) return;
        unparkedAt = performance.now();
        await due.unpark(now());
      },
    },
  ];
}

/** All recurring jobs. */
export function sweeps(options: SweepOptions): Sweeps {
  return { shared: dueJobs(options), local: ownJobs(options) };
}
