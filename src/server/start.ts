/**
 * A server from its start to its end. Its doors open before the store is ready, so that whoever asks is told why
 * nothing is served yet; its end lets those finish whose requests are there, and closes the store last.
 */
import type { pino } from 'pino';
import { createDemoAccount } from '../accounts/demo-account.ts';
import type { ServerState } from '../api/app.ts';
import { expectOwnBank } from '../bank/one-bank.ts';
import { newIncarnation, now } from '../clock.ts';
import type { Config } from '../config.ts';
import { type Core, type CoreOptions, openCore } from '../core.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { keepCharts } from '../engine/versions.ts';
import { OperatorError } from '../errors.ts';
import type { Run } from '../holder/answering.ts';
import { type FolderHold, takeWithPrecedence } from '../holder/hold.ts';
import { GivenWay, type Works } from '../holder/works.ts';
import { dataFolder } from '../store/open.ts';
import { packageVersion } from '../version.ts';
import { again, atMost, later, pause } from '../waiting.ts';
import { forgetConsole, tellOfConsole } from './admin.ts';
import { openBankSide } from './bank-side.ts';
import { Flags } from './flags.ts';
import { openDoors, openMetrics } from './listening.ts';
import { openWorkers, type Workers } from './workers.ts';

/** A server that runs: the core with doors, clocks and workers. */
export interface Running {
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
  started = false;
  readonly #core: Core;

  constructor(core: Core) {
    super();
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

/** The core, and the data folder that this server holds and answers in: none where it works on a database. */
async function openHeld(
  config: Config,
  options: Pick<CoreOptions, 'onFatal' | 'onNotice'>,
  runOn: RunOn,
): Promise<{ core: Core; hold: FolderHold | null }> {
  if (config.mongodbUri !== null) return { core: await openCore(config, options), hold: null };
  const incarnation = newIncarnation();
  const since = new Date(now()).toISOString();
  const self = { incarnation, pid: process.pid, since, version: packageVersion(), what: 'serve' };
  // Who asks before the store is open waits for it.
  const run = later<Run>();
  const hold = await takeWithPrecedence(dataFolder(config.dataDir, 'make'), self, run.promise);
  try {
    const core = await openCore(config, { ...options, incarnation });
    run.resolve(runOn(core, hold.works));
    return { core, hold };
  } catch (error) {
    run.reject(new GivenWay());
    await hold.release();
    throw error;
  }
}

/** Resolves once the console listens, or isn't going to soon: the API is served all the same. */
async function consoleOpened({ consoleAt }: Core): Promise<void> {
  await atMost(CONSOLE_MS, Promise.resolve(consoleAt));
}

/** Resolves once no order or timer is under way: what the bank hasn't answered by then is asked after the next start. */
async function ordersEnded({ desk, timers }: Workers, patienceMs: number): Promise<void> {
  await atMost(patienceMs, Promise.all([desk.idle(), timers.idle()]));
}

/** How long callers are answered once the server ends: a charge is once a real bank has it. */
function answersMs({ connection }: Core): number {
  return connection === null ? HTTP_DRAIN_MS : ORDERS_DRAIN_MS;
}

/** Starts everything that a server has; whatever was started is closed again where one part can't be. */
export async function start(
  config: Config,
  log: pino.Logger,
  { onFatal, runOn }: { onFatal: (error: Error) => void; runOn: RunOn },
): Promise<Running> {
  const onNotice = (text: string): void => log.warn(text);
  const { core, hold } = await openHeld(config, { onFatal, onNotice }, runOn);
  const { engine, store } = core;
  core.acted = (act) => log.info(act, 'ops acted');
  const metrics = openMetrics(core, log);
  const bankSide = await openBankSide(core, log, metrics);
  const workers = await openWorkers(core, log, metrics, bankSide.jobs);
  const { dispatcher, clock, clocks, sender, urls } = workers;
  const state = new Readiness(core);
  const opening = openDoors({ core, log, metrics, urls, state, onFatal });
  const bankDoor = opening.then(() => bankSide.open());
  const doors = await Promise.all([opening, bankDoor]).then(
    ([opened]) => opened,
    async (error: unknown) => {
      for (const door of await opening.catch(() => [])) await door.drain(0);
      await sender.close();
      await core.close();
      await hold?.release();
      throw error;
    },
  );
  const port = doors[0]?.port ?? config.port;
  const show = (text: string): void => void process.stdout.write(text);
  const steps = [
    () => core.ready,
    () => keepCharts(store.marks),
    () => expectOwnBank(core.config, store).then(() => state.open()),
    // Whoever is ready has put its clock down: should that be wrong, the next process knows what was made by it.
    () => atMost(CLOCK_MS, clock.look()),
    async () => void (await store.due.unpark(core.now())),
    async () => {
      if (core.config.bank === 'sandbox')
        await createDemoAccount(core.accounts, engine, { port, show, shared: core.database !== null });
    },
    async () => core.spareTime.started(),
    ...clocks.map((each) => () => each.start()),
  ];
  const isWanted = (): boolean => !state.closing;
  const started = (async (): Promise<void> => {
    for (const step of steps) await (core.database === null ? step() : patiently(step, isWanted, log));
    // Who has named a port finds it open once the server is ready: metrics are there.
    if (!config.adminPortIsDefault) await consoleOpened(core);
    state.started = isWanted();
    // A start isn't done later for that, and no failed one.
    tellOfConsole(core, show).catch((error: unknown) => log.warn({ err: error }, 'no link to the console'));
  })();
  const close = async (): Promise<void> => {
    state.close();
    const commands = hold?.works.end(COMMANDS_DRAIN_MS, new StoreUnavailable(SHUT_DOWN));
    await pause(GRACE_MS);
    state.drain();
    await forgetConsole(core, log);
    const orderedBy = performance.now() + ORDERS_DRAIN_MS;
    await Promise.all([bankSide.close(), ...doors.map((door) => door.drain(answersMs(core)))]);
    await Promise.all(clocks.map((each) => each.stop()));
    const longerMs = core.connection === null ? 0 : orderedBy - performance.now();
    await ordersEnded(workers, Math.max(WORK_DRAIN_MS, longerMs));
    await engine.drain(MAILBOX_DRAIN_MS);
    await dispatcher.close();
    await commands;
    await core.close();
    await hold?.release();
  };
  return { core, port, started, close };
}
