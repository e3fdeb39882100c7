/**
 * Wires everything: the only file that knows all rooms. Run by itself it serves; the CLI uses `openCore`.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { Directory } from './accounts/directory.ts';
import { Accounts } from './accounts/manage.ts';
import { parseKey, Sealer } from './accounts/sealing.ts';
import { Metrics } from './admin/metrics.ts';
import { createApp } from './api/app.ts';
import { listen, type RunningServer } from './api/server.ts';
import { Desk } from './bank/desk.ts';
import { SandboxBank } from './bank/sandbox.ts';
import { newBatchId, newIncarnation, newTransactionId, now } from './clock.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { adjust } from './engine/adjust.ts';
import type { Bank } from './engine/bank.ts';
import { Engine } from './engine/engine.ts';
import { Payments } from './engine/payments.ts';
import type { Store } from './engine/store.ts';
import { JobClock } from './jobs/agenda-clock.ts';
import { freshWork } from './jobs/fresh-work.ts';
import { MemoryBackend } from './jobs/memory-backend.ts';
import { sweeps } from './jobs/sweeps.ts';
import { FolderHeld, lockFolder } from './store/folder-lock.ts';
import { openLmdbStore } from './store/lmdb-store.ts';
import { Dispatcher } from './webhooks/dispatcher.ts';
import { openWebhookSender } from './webhooks/sender.ts';

/** An incarnation without a heartbeat for so long has fallen silent. */
export const SILENT_AFTER_MS = 5_000;

/** What the server and every command work with. */
export interface Core {
  config: Config;
  incarnation: string;
  store: Store;
  directory: Directory;
  accounts: Accounts;
  bank: Bank;
  engine: Engine;
  payments: Payments;
  /** The absolute path of the data folder. */
  dataDir: string;
}

/** The operator did something that can be mended: one clear sentence, no stack. */
export class OperatorError extends Error {}

/** The data folder, made where it isn't there. */
function openFolder(config: Config): string {
  const dataDir = resolve(config.dataDir);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const probe = join(dataDir, '.writable');
    writeFileSync(probe, '');
    rmSync(probe, { force: true });
  } catch (error) {
    throw new OperatorError(
      `the data folder ${dataDir} can't be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
    );
  }
  return dataDir;
}

/** The key that seals webhook secrets: the configuration's, else the data folder's own, made on first start. */
function openSecretsKey(config: Config, dataDir: string): Buffer {
  if (config.secretsKey !== null) return parseKey(config.secretsKey) as Buffer;
  const path = join(dataDir, 'secrets.key');
  try {
    // `wx`: of two processes that start at once, one makes the key and both read it.
    writeFileSync(path, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = parseKey(readFileSync(path, 'utf8').trim());
  if (key === null) throw new OperatorError(`${path} is no key of 32 bytes in base64`);
  return key;
}

/**
 * Opens store, engine and all that both need; nothing runs yet.
 * @throws OperatorError
 */
export async function openCore(config: Config, onFatal: (error: Error) => void): Promise<Core> {
  const dataDir = openFolder(config);
  const sealer = new Sealer(openSecretsKey(config, dataDir));
  const incarnation = newIncarnation();
  const store = await openLmdbStore({
    folder: dataDir,
    incarnation,
    now,
    silentAfterMs: SILENT_AFTER_MS,
    onFatal,
  });
  const directory = new Directory(store, sealer, now);
  const bank = new SandboxBank(config.sandboxDelayMs);
  const settings = (id: string) => directory.account(id);
  const engine = new Engine({ store, sandbox: bank.sandbox, now, newBatchId, settings });
  const payments = new Payments({
    engine,
    bank,
    now,
    newId: newTransactionId,
    chargeExpiryS: config.chargeExpiryS,
  });
  const accounts = new Accounts(store, sealer, now);
  return { config, incarnation, store, directory, accounts, bank, engine, payments, dataDir };
}

/** What `serve` adds to the core: doors, clock and workers. */
interface Running {
  core: Core;
  api: RunningServer;
  close(): Promise<void>;
}

const DEMO_BALANCE = 100_000;
const HTTP_DRAIN_MS = 4_000;
const MAILBOX_DRAIN_MS = 2_000;
const JOBS_STOP_MS = 1_000;
const SENDER_CLOSE_MS = 1_500;

/** On an empty store with the sandbox bank: somebody to try it with. What it prints is shown only now. */
async function createDemoAccount({ accounts, engine }: Core, port: number): Promise<void> {
  if ((await engine.store.accounts()).length > 0) return;
  const issued = await accounts.create({
    name: 'Demo',
    webhooks: [],
    allowedIps: ['127.0.0.1'],
    fees: null,
    expiresIn: null,
    maxAmount: null,
    pixKey: null,
    merchantName: null,
    merchantCity: null,
  });
  await adjust(engine, issued.accountId, {
    id: 'opening',
    amount: DEMO_BALANCE,
    reason: 'opening balance',
    allowNegative: false,
  });
  process.stdout.write(
    [
      'A demo account was created. Its secret is shown only now:',
      `  accountId:    ${issued.accountId}`,
      `  clientId:     ${issued.clientId}`,
      `  clientSecret: ${issued.clientSecret}`,
      'Try it:',
      `  curl -u '${issued.clientId}:${issued.clientSecret}' -H 'Content-Type: application/json' -d '{"amount": 1001}' http://127.0.0.1:${port}/v1/pix-in`,
      '',
    ].join('\n'),
  );
}

async function bind(what: string, start: () => Promise<RunningServer>): Promise<RunningServer> {
  try {
    return await start();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new OperatorError(`${what} is in use: another process listens there`);
    throw new OperatorError(`${what} can't be listened on: ${code ?? String(error)}`);
  }
}

function openLog(level: string): pino.Logger {
  const redact = ['req.headers.authorization', '*.clientSecret', '*.secret', '*.pixKey', '*.document'];
  return pino(
    { level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
}

/** Starts everything that a server has; whatever was started is closed again where one part can't be. */
async function start(config: Config, log: pino.Logger, onFatal: (error: Error) => void): Promise<Running> {
  const core = await openCore(config, onFatal);
  const { engine, store, directory, payments, bank, incarnation, dataDir } = core;
  const lock = await lockFolder(dataDir, incarnation, now(), SILENT_AFTER_MS);
  const onTrouble = (error: unknown, about?: object): void =>
    log.warn({ err: error, ...about }, 'will be tried again');
  const sender = openWebhookSender({
    allowPrivate: config.allowPrivateWebhooks,
    thread: true,
    now,
    closeMs: SENDER_CLOSE_MS,
    onFailure: (error) => log.error({ err: error }, 'the webhook worker failed and is started again'),
  });
  const metrics = new Metrics({
    activeAccounts: () => engine.activeAccounts,
    deliveriesInHand: () => dispatcher.inHand,
    attention: async () => {
      const counts: Record<string, number> = {};
      for (const { kind } of await store.attention()) counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    },
  });
  const dispatcher = new Dispatcher({
    store,
    directory,
    sender,
    now,
    retryScale: config.webhookRetryScale,
    onTrouble,
    onAttempt: ({ status }, ms) => metrics.attempted(status, ms),
  });
  const desk = new Desk({
    engine,
    payments,
    bank,
    now,
    onTrouble: (error, due) => onTrouble(error, { due }),
  });
  engine.takeFreshWork(freshWork(store, desk, dispatcher, onTrouble));
  const jobs = sweeps({
    engine,
    payments,
    bank,
    desk,
    dispatcher,
    now,
    onTrouble: (error, due) => onTrouble(error, { due }),
  });
  const clock = new JobClock({
    backend: new MemoryBackend({ now }),
    jobs,
    onError: (error, job) => log.error({ err: error, job }, 'a job failed and runs again'),
    stopTimeoutMs: JOBS_STOP_MS,
  });
  const state = { closing: false, started: false };
  const app = createApp({
    engine,
    payments,
    directory,
    now,
    newRequestId: randomUUID,
    trustedProxyHops: config.trustedProxyHops,
    sandbox: bank.sandbox,
    bankCallbackSecret: config.bankCallbackSecret,
    state: {
      get closing() {
        return state.closing;
      },
      notReady: async () => {
        if (state.closing) return 'shutting down';
        if (!state.started) return 'starting';
        if (!engine.writable) return 'the store does not take writes';
        await store.ping();
        return null;
      },
    },
    onFailure: (error, requestId, path) => log.error({ err: error, requestId, path }, 'a request failed'),
    onAnswer: (method, route, status, ms) => metrics.answered(method, route, status, ms),
  });
  const closeStore = async (): Promise<void> => {
    await lock.release();
    await store.close();
  };
  let admin: RunningServer | null = null;
  let api: RunningServer;
  try {
    if (config.adminPort !== null) {
      const { adminHost, adminPort } = config;
      admin = await bind(`ADMIN_PORT ${adminPort} on ${adminHost}`, () =>
        metrics.serve(adminHost, adminPort),
      );
    }
    api = await bind(`port ${config.port} on ${config.host}`, () =>
      listen(app.callback(), config.host, config.port),
    );
  } catch (error) {
    await sender.close();
    await closeStore();
    throw error;
  }
  await store.unpark(now());
  if (bank.sandbox) await createDemoAccount(core, api.port);
  await clock.start();
  state.started = true;
  const close = async (): Promise<void> => {
    state.closing = true;
    await Promise.all([api.drain(HTTP_DRAIN_MS), admin?.drain(HTTP_DRAIN_MS)]);
    await clock.stop();
    await engine.drain(MAILBOX_DRAIN_MS);
    await dispatcher.close();
    await closeStore();
  };
  return { core, api, close };
}

/** Runs the server until SIGTERM or SIGINT; the process ends with it. */
export async function serve(config: Config): Promise<void> {
  const log = openLog(config.logLevel);
  const onFatal = (error: Error): void => {
    process.stderr.write(`pixstate stops: the store could not write: ${error.message}\n`);
    process.exit(1);
  };
  let running: Running;
  try {
    running = await start(config, log, onFatal);
  } catch (error) {
    if (!(error instanceof OperatorError) && !(error instanceof FolderHeld)) throw error;
    process.stderr.write(`pixstate can't start: ${error.message}\n`);
    process.exit(1);
  }
  const { api, core } = running;
  const { dataDir } = core;
  log.info({ port: api.port, host: config.host, dataDir, bank: config.bank }, 'serving');
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
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
