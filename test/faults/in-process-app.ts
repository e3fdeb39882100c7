/** The real application over HTTP, on one process in memory whose clock stands still until a test moves it. */
import { randomUUID } from 'node:crypto';
import { Directory } from '../../src/accounts/directory.ts';
import { actsOf } from '../../src/api/acts.ts';
import { type Answered, createApp } from '../../src/api/app.ts';
import { BucketPlaces, RateLimit } from '../../src/api/rate-limit.ts';
import { showingOf } from '../../src/api/showing.ts';
import { bounded } from '../../src/engine/statement/bounded.ts';
import { endOf } from '../../src/engine/statement/end.ts';
import { statementsOf } from '../../src/engine/statement/page.ts';
import { listen, type Times } from '../../src/server/http.ts';
import type { Faults } from '../support/memory-store/faults.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { openProcess, type Process, type SetClock, seal, TestBank } from './in-process.ts';

export interface AppScene {
  port: number;
  process: Process;
  clock: SetClock;
  /** What requests failed with. */
  failures: unknown[];
  /** What metrics and log are told of each. */
  answered: Answered[];
}

/** Serves while the body runs; with a secret the bank's messages come in, too, and faults are the store's. `times` are those of requests. */
export async function withApp(
  bankCallbackSecret: string | null,
  body: (scene: AppScene) => Promise<void>,
  faults: Faults = {},
  times?: Partial<Times>,
): Promise<void> {
  const clock = { ms: Date.parse('2026-02-01T12:00:00.000Z') };
  const process = openProcess({ state: new MemoryState(), clock, bank: new TestBank(), faults });
  const now = (): number => clock.ms;
  const failures: unknown[] = [];
  const answered: Answered[] = [];
  const places = new BucketPlaces(now);
  const app = createApp({
    journal: process.store.journal,
    statement: bounded(statementsOf(process.store.journal)),
    statementEnd: endOf({ journal: process.store.journal, engine: process.engine, now, isShared: false }),
    showing: showingOf(process.store.journal, now),
    payments: actsOf(process.payments, now),
    directory: new Directory(process.store.accounts, seal(), now),
    rateLimit: new RateLimit(places.memory, ({ id }) => places.of(id), now),
    now,
    elapsed: now,
    patienceMs: 0,
    newRequestId: randomUUID,
    trustedProxyHops: 0,
    sandbox: false,
    bankCallbackSecret,
    state: { opened: true, closing: false, draining: false, notReady: async () => null },
    onFailure: (error) => failures.push(error),
    onAnswer: (answer) => answered.push(answer),
  });
  const server = await listen(app.callback(), '127.0.0.1', 0, false, times);
  try {
    await body({ port: server.port, process, clock, failures, answered });
  } finally {
    await server.drain(1_000);
  }
}
