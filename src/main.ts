/** Wires the server: the only file that knows all rooms. Run by itself it serves. */

import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { createDemoAccount } from './accounts/demo-account.ts';
import { createApp } from './api/app.ts';
import { Desk } from './bank/desk.ts';
import { now } from './clock.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { type Core, type CoreOptions, openCore, SILENT_AFTER_MS, writeFailure } from './core.ts';
import { Overloaded } from './engine/actor.ts';
import { attentionList } from './engine/attention.ts';
import { type Due, StoreUnavailable } from './engine/store.ts';
import { OperatorError } from './errors.ts';
import { JobClock } from './jobs/clock.ts';
import { freshWork } from './jobs/fresh-work.ts';
import { MemoryBackend } from './jobs/memory-backend.ts';
import { sweeps } from './jobs/sweeps.ts';
import { bind, listen, type RunningServer } from './server/http.ts';
import { Metrics } from './server/metrics.ts';
import { openFolder } from './store/lmdb/folder.ts';
import { expectUnheld, FolderHeld, lockFolder } from './store/lmdb/server-lock.ts';
import { pause } from './waiting.ts';
import { Dispatcher } from './webhooks/dispatcher.ts';
import { openWebhookSender } from './webhooks/sender/open.ts';
import type { WebhookSender } from './webhooks/sender/port.ts';

/** What `serve` adds to the core: doors, clock and workers. */
interface Running {
  core: Core;
  port: number;
  /** Resolves once it is ready; the doors are open before. */
  started: Promise<void>;
  close(): Promise<void>;
}

/** Requests that had been sent by the time of the signal, though not read yet, are served. */
const GRACE_MS = 150;
const HTTP_DRAIN_MS = 4_000;
const MAILBOX_DRAIN_MS = 2_000;
const JOBS_STOP_MS = 1_000;
const SENDER_CLOSE_MS = 1_500;
const REFUSALS_EVERY_MS = 1_000;
const START_PAUSE_MS = 500;
/** The whole of a shutdown, whatever a write waits for. */
const STOP_MS = 9_000;

function openLog(level: string): pino.Logger {
  const redact = ['req.headers.authorization', '*.clientSecret', '*.secret', '*.pixKey', '*.document'];
  return pino(
    { level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
}

/** What works on its own: deliveries, bank orders, and the clock that finds what is due. */
interface Workers {
  dispatcher: Dispatcher;
  clocks: JobClock[];
  sender: WebhookSender;
}

async function openWorkers(core: Core, log: pino.Logger, metrics: Metrics): Promise<Workers> {
  const { config, engine, directory, payments, bank, now: storeNow } = core;
  const { journal, due } = core.store;
  const onTrouble = (error: unknown, about?: object): void =>
    log.warn({ err: error, ...about }, 'will be tried again');
  const sender = openWebhookSender({
    allowPrivate: config.allowPrivateWebhooks,
    thread: true,
    now,
    closeMs: SENDER_CLOSE_MS,
    onFailure: (error) => log.error({ err: error }, 'the webhook worker failed and is started again'),
  });
  const dispatcher = new Dispatcher({
    journal,
    due,
    directory,
    sender,
    now: storeNow,
    retryScale: config.webhookRetryScale,
    onTrouble,
    onAttempt: ({ status }, ms) => metrics.attempted(status, ms),
  });
  const onOrderTrouble = (error: unknown, about: Due): void => onTrouble(error, { due: about });
  const desk = new Desk({ engine, payments, journal, due, bank, now: storeNow, onTrouble: onOrderTrouble });
  engine.takeFreshWork(freshWork(due, desk, dispatcher, onTrouble));
  // Loaded with the driver, and only where that is used.
  const shared = core.database === null ? null : await import('./jobs/mongo-backend.ts');
  const jobs = sweeps({
    engine,
    payments,
    journal,
    due,
    bank,
    desk,
    dispatcher,
    now: storeNow,
    onTrouble: onOrderTrouble,
    ...(shared === null ? {} : { tickMs: shared.SHARED_CLOCK.tickMs }),
  });
  return { dispatcher, clocks: openClocks(core, jobs, log, shared), sender };
}

/** What each process does for itself, and what all of them share where they share a database. */
function openClocks(
  core: Core,
  jobs: ReturnType<typeof sweeps>,
  log: pino.Logger,
  shared: typeof import('./jobs/mongo-backend.ts') | null,
): JobClock[] {
  const onError = (error: unknown, job?: string): void =>
    log.error({ err: error, job }, 'a job failed and runs again');
  const common = { onError, stopTimeoutMs: JOBS_STOP_MS };
  const own = { ...common, backend: new MemoryBackend({ now }) };
  if (shared === null || core.database === null) {
    return [new JobClock({ ...own, jobs: [...jobs.shared, ...jobs.local] })];
  }
  const { processEveryMs, lockLifetimeMs } = shared.SHARED_CLOCK;
  const backend = shared.openMongoBackend({ db: core.database, now });
  const together = { ...common, backend, id: core.incarnation, processEveryMs, lockLifetimeMs };
  return [new JobClock({ ...own, jobs: jobs.local }), new JobClock({ ...together, jobs: jobs.shared })];
}

function openMetrics({ config, engine, store, now: storeNow }: Core, log: pino.Logger): Metrics {
  const metrics = new Metrics({
    activeAccounts: () => engine.activeAccounts,
    attention: async () => {
      const counts: Record<string, number> = {};
      const items = await attentionList(store, { now: storeNow(), stuckAfterMs: config.stuckAfterS * 1000 });
      for (const { kind } of items) counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    },
  });
  engine.onAttention(({ kind, id, what }) => {
    metrics.alarm(kind);
    // What needs a person is said at once; where money is missing, loudly.
    if (what.includes('ALARM')) log.error({ kind, id }, what);
    else log.warn({ kind, id }, 'needs a person: see pixstate attention');
  });
  return metrics;
}

/** Whether the server takes requests, and why not. */
class Readiness {
  closing = false;
  draining = false;
  started = false;
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  async notReady(): Promise<string | null> {
    if (this.closing) return 'shutting down';
    if (!this.started) return this.#core.database === null ? 'starting' : 'waiting for the database';
    try {
      await this.#core.store.ping();
    } catch (error) {
      if (error instanceof StoreUnavailable) return `the store does not take writes: ${error.message}`;
      throw error;
    }
    if (!this.#core.engine.writable) return 'the store does not take writes';
    return null;
  }
}

/** What failed is told whole; that the store is away, once a second, with how many requests it cost. */
function failureLog(log: pino.Logger): (error: unknown, requestId: string, path: string) => void {
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error, requestId, path) => {
    if (!(error instanceof StoreUnavailable) && !(error instanceof Overloaded)) {
      log.error({ err: error, requestId, path }, 'a request failed');
      return;
    }
    refused += 1;
    if (now() - toldAt < REFUSALS_EVERY_MS) return;
    log.warn({ refused, reason: error.message }, 'requests are refused');
    refused = 0;
    toldAt = now();
  };
}

async function openDoors(
  core: Core,
  log: pino.Logger,
  metrics: Metrics,
  state: Readiness,
): Promise<RunningServer[]> {
  const { config, payments, directory, store } = core;
  const { host, port, adminHost, adminPort } = config;
  const app = createApp({
    journal: store.journal,
    payments,
    directory,
    now,
    newRequestId: randomUUID,
    trustedProxyHops: config.trustedProxyHops,
    sandbox: config.bank === 'sandbox',
    bankCallbackSecret: config.bankCallbackSecret,
    state,
    onFailure: failureLog(log),
    onAnswer: (answer) => {
      metrics.answered(answer);
      log.debug(answer, 'answered');
    },
  });
  const api = await bind(`port ${port} on ${host}`, () => listen(app.callback(), host, port));
  if (adminPort === null) return [api];
  try {
    const admin = await bind(`ADMIN_PORT ${adminPort} on ${adminHost}`, () =>
      metrics.serve(adminHost, adminPort),
    );
    return [api, admin];
  } catch (error) {
    await api.drain(0);
    throw error;
  }
}

/** Opens what a server works on. A data folder is one server's at a time; a database is any number's. */
async function openHeld(
  config: Config,
  options: CoreOptions,
): Promise<{ core: Core; close(): Promise<void> }> {
  if (config.mongodbUri !== null) {
    const core = await openCore(config, options);
    return { core, close: () => core.store.close() };
  }
  await expectUnheld(openFolder(config.dataDir), now(), SILENT_AFTER_MS);
  const core = await openCore(config, options);
  const lock = await lockFolder(core.place, core.incarnation, now(), SILENT_AFTER_MS);
  const close = async (): Promise<void> => {
    await lock.release();
    await core.store.close();
  };
  return { core, close };
}

/** Does it again where the database went away meanwhile. */
async function patiently(
  work: () => Promise<void>,
  isWanted: () => boolean,
  log: pino.Logger,
): Promise<void> {
  while (isWanted()) {
    try {
      await work();
      return;
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      log.warn({ err: error }, 'the start waits for the store');
      await pause(START_PAUSE_MS);
    }
  }
}

/** Starts everything that a server has; whatever was started is closed again where one part can't be. */
async function start(config: Config, log: pino.Logger, onFatal: (error: Error) => void): Promise<Running> {
  const onNotice = (text: string): void => log.warn(text);
  const { core, close: closeStore } = await openHeld(config, { onFatal, onNotice });
  const { engine, store } = core;
  const metrics = openMetrics(core, log);
  const { dispatcher, clocks, sender } = await openWorkers(core, log, metrics);
  const state = new Readiness(core);
  const doors = await openDoors(core, log, metrics, state).catch(async (error: unknown) => {
    await sender.close();
    await closeStore();
    throw error;
  });
  const port = doors[0]?.port ?? config.port;
  const show = (text: string): void => void process.stdout.write(text);
  const steps = [
    () => core.ready,
    async () => void (await store.due.unpark(core.now())),
    async () => {
      if (core.config.bank === 'sandbox')
        await createDemoAccount(core.accounts, engine, { port, show, shared: core.database !== null });
    },
    ...clocks.map((clock) => () => clock.start()),
  ];
  const isWanted = (): boolean => !state.closing;
  const started = (async (): Promise<void> => {
    for (const step of steps) await (core.database === null ? step() : patiently(step, isWanted, log));
    state.started = isWanted();
  })();
  const close = async (): Promise<void> => {
    state.closing = true;
    await pause(GRACE_MS);
    state.draining = true;
    await Promise.all(doors.map((door) => door.drain(HTTP_DRAIN_MS)));
    await Promise.all(clocks.map((clock) => clock.stop()));
    await engine.drain(MAILBOX_DRAIN_MS);
    await dispatcher.close();
    await closeStore();
  };
  return { core, port, started, close };
}

/** A shutdown that doesn't end: a write waits for another process. */
function endAtOnce(): void {
  process.stderr.write(
    `pixstate stops: not all has ended within ${STOP_MS / 1000} s; what was answered is kept\n`,
  );
  // Not `process.exit`: it joins the thread that waits inside the write, and never ends.
  process.kill(process.pid, 'SIGKILL');
}

/** What the operator can mend is told in a line; anything else is thrown. */
function cantStart(error: unknown): never {
  if (!(error instanceof OperatorError) && !(error instanceof FolderHeld)) throw error;
  process.stderr.write(`pixstate can't start: ${error.message}\n`);
  process.exit(1);
}

/** Runs the server until SIGTERM or SIGINT; the process ends with it. */
export async function serve(config: Config): Promise<void> {
  const log = openLog(config.logLevel);
  const onFatal = (error: Error): void => {
    process.stderr.write(`pixstate stops: ${writeFailure(error)}\n`);
    process.exit(1);
  };
  let running: Running;
  try {
    running = await start(config, log, onFatal);
  } catch (error) {
    cantStart(error);
  }
  const { port, core } = running;
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
    setTimeout(endAtOnce, STOP_MS);
    running.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  try {
    await running.started;
  } catch (error) {
    if (stopping) return;
    cantStart(error);
  }
  if (!stopping) log.info({ port, host: config.host, store: core.place, bank: config.bank }, 'serving');
}

/** The configuration, or every mistake in it and the end of the process. */
export function configOrExit(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(
      `pixstate can't start: ${error.message}\n${error.mistakes.map((mistake) => `  ${mistake}\n`).join('')}`,
    );
    process.exit(2);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href)
  await serve(configOrExit());
