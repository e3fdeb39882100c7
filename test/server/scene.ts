/** HTTP threads in front of an engine in this process, whose store is in memory and can be made to hang. */
import { BroadcastChannel } from 'node:worker_threads';
import { Directory } from '../../src/accounts/directory.ts';
import { Accounts, type IssuedAccount, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { actsOf } from '../../src/api/acts.ts';
import { BucketPlaces } from '../../src/api/rate-limit.ts';
import { showingOf } from '../../src/api/showing.ts';
import { elapsed, now } from '../../src/clock.ts';
import { IN_A_ROUND } from '../../src/engine/actors/rounds.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { bounded } from '../../src/engine/statement/bounded.ts';
import { endOf } from '../../src/engine/statement/end.ts';
import { statementsOf } from '../../src/engine/statement/page.ts';
import { Flags } from '../../src/server/flags.ts';
import type { EnginePorts, ThreadPorts } from '../../src/server/threads/answering.ts';
import { HttpThreads } from '../../src/server/threads/pool.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { openProcess, type Process, seal, TestBank } from '../faults/in-process.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import type { Order, Word } from './mortal-worker.ts';

export interface ThreadScene {
  threads: HttpThreads;
  ports: EnginePorts;
  process: Process;
  flags: Flags;
  account: IssuedAccount;
  /** What requests failed with. */
  failures: unknown[];
  /** What threads died of. */
  deaths: Error[];
  /** What would have ended the process. */
  fatal: Error[];
  observed: Parameters<ThreadPorts['onObserved']>[0][];
  /** Ids of the threads that have begun, in that order. */
  began: number[];
  /** Has a thread fail, or all. */
  kill(id?: number): void;
}

const BALANCE = 1_000_000;

/** Has writes wait until they are released; `begun` resolves with the first. */
export function hang({ process }: ThreadScene): { begun: Promise<void>; release(): void } {
  const { journal } = process.store;
  const append = journal.append.bind(journal);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    journal.append = async (batch) => {
      resolve();
      await released;
      return append(batch);
    };
  });
  return { begun, release };
}

/** Serves while the body runs; with `isOpened` false it has yet to be known what must be. */
export async function withThreads(
  count: number,
  body: (scene: ThreadScene) => Promise<void>,
  isOpened = true,
): Promise<void> {
  const clock = { ms: now() };
  const process = openProcess({ state: new MemoryState(), clock, bank: new TestBank() });
  const { store, payments, engine } = process;
  const accounts = new Accounts(store.accounts, seal(), now);
  const account = await accounts.create({ ...PLAIN_ACCOUNT, name: 'Merchant' });
  const opening = { id: 'opening', amount: BALANCE, reason: 'a test', allowNegative: false };
  await adjust(engine, account.accountId, opening);
  const places = new BucketPlaces(elapsed);
  const flags = new Flags();
  if (isOpened) {
    flags.open();
    flags.start();
  }
  const [failures, deaths, fatal]: [unknown[], Error[], Error[]] = [[], [], []];
  const observed: ThreadScene['observed'] = [];
  const ports: EnginePorts = {
    journal: store.journal,
    showing: showingOf(store.journal, now),
    statement: bounded(statementsOf(store.journal)),
    statementEnd: endOf({ journal: store.journal, engine: process.engine, now, isShared: false }),
    payments: actsOf(payments, now),
    accounts: store.accounts,
    directory: new Directory(store.accounts, seal(), now),
    places,
    state: { notReady: async () => null },
    spareTime: new SpareTime(),
    together: IN_A_ROUND,
  };
  const channel = new BroadcastChannel('mortal');
  const began: number[] = [];
  channel.onmessage = (event) => began.push((event as { data: Word }).data.began);
  const kill = (id: number | null = null): void => channel.postMessage({ fail: id } satisfies Order);
  const threads = await HttpThreads.open({
    threads: count,
    data: {
      host: '127.0.0.1',
      port: 0,
      flags: flags.memory,
      awaited: 'starting',
      buckets: places.memory,
      trustedProxyHops: 0,
      sandbox: false,
      bankCallbackSecret: null,
      verbose: false,
    },
    ports: {
      elapsed,
      onObserved: (answered) => observed.push(answered),
      onAnswered: () => {},
      onFailure: (error) => failures.push(error),
    },
    onFailure: (error) => deaths.push(error),
    onFatal: (error) => fatal.push(error),
    entry: new URL('mortal-worker.ts', import.meta.url),
  });
  threads.serve(ports);
  try {
    await body({ threads, ports, process, flags, account, failures, deaths, fatal, observed, began, kill });
  } finally {
    channel.close();
    await threads.drain(1_000);
  }
}
