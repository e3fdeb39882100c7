/**
 * A server from its start to its end. The API's door opens before the store, which may take minutes, so that whoever asks
 * is told why nothing is served yet; its end lets those finish whose requests are there, and closes the store last.
 */
import type { pino } from 'pino';
import { createDemoAccount } from '../accounts/demo-account.ts';
import type { ServerState } from '../api/app.ts';
import { expectOwnBank } from '../bank/one-bank.ts';
import { newIncarnation, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { type Core, openCore } from '../core.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { keepCharts } from '../engine/versions.ts';
import { OperatorError } from '../errors.ts';
import type { Run } from '../holder/answering.ts';
import { type FolderHold, takeWithPrecedence } from '../holder/hold.ts';
import { GivenWay, type Works } from '../holder/works.ts';
import { dataFolder } from '../store/open.ts';
import { packageVersion } from '../version.ts';
import { again, atMost, later, pause } from '../waiting.ts';
import { forgetConsole, openAdmin, tellOfConsole } from './admin.ts';
import { type BankSide, openBankSide } from './bank-side.ts';
import { Flags } from './flags.ts';
import type { RunningServer } from './http.ts';
import { type ApiDoor, openApi, openMetrics } from './listening.ts';
import { openWorkers, type Workers } from './workers.ts';

/** A server that runs, or is about to: its folder is held, and its API answers. */
export interface Running {
  port: number;
  /** Resolves once it is ready; null where it was told to end before its store was open. */
  started: Promise<Core | null>;
  close(): Promise<void>;
}

/** Requests that had been sent by the time of the signal, though not read yet, are served. */
const GRACE_MS = 150;
const HTTP_DRAIN_MS = 4_000;
const MAILBOX_DRAIN_MS = 2_000;
const WORK_DRAIN_MS = 1_000;
/** A real bank's calls get so long from the signal on. */
const ORDERS_DRAIN_MS = 5_000;
/** Commands that run here have so long to come to their end. */
const COMMANDS_DRAIN_MS = 3_000;
const SHUT_DOWN = 'the server was shut down meanwhile: what was asked of it may be done or not';
const START_PAUSE_MS = 500;
const CONSOLE_MS = 3_000;
/** For how long a start waits until a clock that was set is followed. */
const CLOCK_MS = 2_000;

/** Makes the core run the commands that are asked for through the data folder's socket. */
export type RunOn = (core: Core, works: Works) => Run;

/** Whether the server takes requests, and why not. */
class Readiness extends Flags implements ServerState {
  /** What a start has yet to do. */
  readonly awaited: string;
  /** Null until the start is through. */
  #core: Core | null = null;

  constructor({ mongodbUri }: Config) {
    super();
    this.awaited = mongodbUri === null ? 'starting' : 'waiting for the database';
  }

  started(core: Core): void {
    this.#core = core;
    this.start();
  }

  async notReady(): Promise<string | null> {
    const core = this.#core;
    if (core === null || this.closing) return this.whyNot(this.awaited);
    try {
      await core.store.ping();
    } catch (error) {
      if (error instanceof StoreUnavailable) return `the store does not take writes: ${error.message}`;
      throw error;
    }
    if (!core.engine.writable) return 'the store does not take writes';
    return null;
  }
}

/** Does it again where the database went away meanwhile, as long as the server is to start. */
function patiently(work: () => Promise<void>, isWanted: () => boolean, log: pino.Logger): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (isWanted()) await work();
  };
  return again(attempt, (error) => {
    if (error instanceof OperatorError) return null;
    log.warn({ err: error }, 'the start waits for the store');
    return START_PAUSE_MS;
  });
}

/** The data folder, held by this server; null where it works on a database. */
async function holdFolder(
  config: Config,
  incarnation: string,
  run: Promise<Run>,
): Promise<FolderHold | null> {
  if (config.mongodbUri !== null) return null;
  const since = new Date(now()).toISOString();
  const self = { incarnation, pid: process.pid, since, version: packageVersion(), what: 'serve' };
  return takeWithPrecedence(dataFolder(config.dataDir, 'make'), self, run);
}

/** Resolves once the console listens, or isn't going to soon: the API is served all the same. */
async function consoleOpened({ consoleAt }: Core): Promise<void> {
  await atMost(CONSOLE_MS, Promise.resolve(consoleAt));
}

/** How long callers are answered once the server ends: a charge is once a real bank has it. */
function answersMs({ connection }: Core): number {
  return connection === null ? HTTP_DRAIN_MS : ORDERS_DRAIN_MS;
}

/** What a server has once its store is open. */
interface Parts {
  core: Core;
  workers: Workers;
  bankSide: BankSide;
  /** The console and the metrics; null where they have no port. */
  admin: RunningServer | null;
}

/** Opens all that needs the store; it is closed again where one part can't be opened. */
async function openParts(core: Core, log: pino.Logger, api: ApiDoor): Promise<Parts> {
  core.acted = (act) => log.info(act, 'ops acted');
  const metrics = openMetrics(core, log);
  const bankSide = await openBankSide(core, log, metrics);
  const workers = await openWorkers(core, log, metrics, bankSide.jobs);
  let admin: RunningServer | null = null;
  try {
    admin = await openAdmin({ core, log, metrics, urls: workers.urls, apiPort: api.port });
    await bankSide.open();
  } catch (error) {
    await admin?.drain(0);
    await workers.sender.close();
    await core.close();
    throw error;
  }
  api.serve({ core, metrics });
  return { core, workers, bankSide, admin };
}

/** Goes on until the server takes requests, or is to end. */
async function begin(
  { core, workers }: Parts,
  { state, log, port }: { state: Readiness; log: pino.Logger; port: number },
): Promise<void> {
  const { config, engine, store, database } = core;
  const { clock, clocks } = workers;
  const show = (text: string): void => void process.stdout.write(text);
  const steps = [
    () => core.ready,
    () => keepCharts(store.marks),
    () => expectOwnBank(config, store).then(() => state.open()),
    // Whoever is ready has put its clock down: should that be wrong, the next process knows what was made by it.
    () => atMost(CLOCK_MS, clock.look()),
    async () => void (await store.due.unpark(core.now())),
    async () => {
      if (config.bank === 'sandbox')
        await createDemoAccount(core.accounts, engine, { port, show, shared: database !== null });
    },
    async () => core.spareTime.started(),
    ...clocks.map((each) => () => each.start()),
  ];
  const isWanted = (): boolean => !state.closing;
  for (const step of steps) {
    if (!isWanted()) return;
    await (database === null ? step() : patiently(step, isWanted, log));
  }
  // Who has named a port finds it open once the server is ready: metrics are there.
  if (!config.adminPortIsDefault) await consoleOpened(core);
  if (isWanted()) state.started(core);
  // A start isn't done later for that, and no failed one.
  tellOfConsole(core, show).catch((error: unknown) => log.warn({ err: error }, 'no link to the console'));
}

/** Ends what needs the store, and closes that. */
async function closeParts(
  { core, workers, bankSide, admin }: Parts,
  api: ApiDoor,
  log: pino.Logger,
): Promise<void> {
  const orderedBy = performance.now() + ORDERS_DRAIN_MS;
  // What hasn't begun is done after the next start, and so is what hasn't ended by then.
  const worked = Promise.all([workers.desk.close(), workers.timers.close()]);
  await forgetConsole(core, log);
  const doors = [api, admin].map((door) => door?.drain(answersMs(core)));
  await Promise.all([bankSide.close(), ...doors]);
  await Promise.all(workers.clocks.map((each) => each.stop()));
  const longerMs = core.connection === null ? 0 : orderedBy - performance.now();
  await atMost(Math.max(WORK_DRAIN_MS, longerMs), worked);
  await core.engine.drain(MAILBOX_DRAIN_MS);
  await workers.dispatcher.close();
}

/**
 * Starts a server, which holds its folder and has its port when this resolves.
 * @throws OperatorError where it can have neither, and nothing was changed then
 */
export async function start(
  config: Config,
  log: pino.Logger,
  { onFatal, runOn }: { onFatal: (error: Error) => void; runOn: RunOn },
): Promise<Running> {
  const incarnation = newIncarnation();
  // Who asks before the store is open waits for it.
  const run = later<Run>();
  const hold = await holdFolder(config, incarnation, run.promise);
  const giveUp = async (error: unknown): Promise<never> => {
    run.reject(new GivenWay());
    await hold?.release();
    throw error;
  };
  const state = new Readiness(config);
  const api = await openApi({ config, log, state, awaited: state.awaited, onFatal }).catch(giveUp);
  const stop = new AbortController();
  const open = async (): Promise<Parts> => {
    const onNotice = (text: string): void => log.warn(text);
    const core = await openCore(config, { onFatal, onNotice, incarnation, signal: stop.signal });
    if (hold !== null) run.resolve(runOn(core, hold.works));
    return openParts(core, log, api);
  };
  // Null: it is to end, and whoever ends it sees to the rest.
  const opening = open().catch(async (error: unknown): Promise<Parts | null> => {
    run.reject(new GivenWay());
    if (stop.signal.aborted) return null;
    await api.drain(0);
    return giveUp(error);
  });
  const started = opening.then(async (parts) => {
    if (parts === null) return null;
    await begin(parts, { state, log, port: api.port });
    return parts.core;
  });
  const close = async (): Promise<void> => {
    state.close();
    stop.abort(new GivenWay());
    const commands = hold?.works.end(COMMANDS_DRAIN_MS, new StoreUnavailable(SHUT_DOWN));
    await pause(GRACE_MS);
    state.drain();
    const parts = await opening;
    if (parts === null) await api.drain(HTTP_DRAIN_MS);
    else await closeParts(parts, api, log);
    await commands;
    await parts?.core.close();
    await hold?.release();
  };
  return { port: api.port, started, close };
}
