/**
 * A server from its start to its end. Its doors open before the store is ready, so that whoever asks is told why
 * nothing is served yet; its end lets those finish whose requests are there, and closes the store last.
 */
import type { pino } from 'pino';
import { createDemoAccount } from '../accounts/demo-account.ts';
import type { ServerState } from '../api/app.ts';
import type { Config } from '../config.ts';
import { type Core, openCore } from '../core.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { OperatorError } from '../errors.ts';
import { again, pause, within } from '../waiting.ts';
import { openDoors, openMetrics } from './listening.ts';
import { openWorkers } from './workers.ts';

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
const START_PAUSE_MS = 500;

/** Whether the server takes requests, and why not. */
class Readiness implements ServerState {
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

/** Starts everything that a server has; whatever was started is closed again where one part can't be. */
export async function start(
  config: Config,
  log: pino.Logger,
  onFatal: (error: Error) => void,
): Promise<Running> {
  const onNotice = (text: string): void => log.warn(text);
  const core = await openCore(config, { access: 'hold', onFatal, onNotice });
  const { engine, store } = core;
  const metrics = openMetrics(core, log);
  const { desk, timers, dispatcher, clocks, sender } = await openWorkers(core, log, metrics);
  const state = new Readiness(core);
  const doors = await openDoors(core, log, metrics, state).catch(async (error: unknown) => {
    await sender.close();
    await core.close();
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
    // What the bank hasn't answered by then is unknown, and asked about after the next start.
    await within(
      WORK_DRAIN_MS,
      Promise.all([desk.idle(), timers.idle()]),
      () => new Error('orders are left'),
    ).catch(() => {});
    await engine.drain(MAILBOX_DRAIN_MS);
    await dispatcher.close();
    await core.close();
  };
  return { core, port, started, close };
}
