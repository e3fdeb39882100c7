/** The port for operators: the console and the metrics, or the metrics alone. */
import type { pino } from 'pino';
import { type Config, isLoopback } from '../config.ts';
import { Acts } from '../console/acts/acts.ts';
import { announce, type ConsolePlace, withdraw } from '../console/addresses.ts';
import { ConsoleBridge } from '../console/bridge.ts';
import { makeLink } from '../console/passes.ts';
import { systemUser } from '../console/user.ts';
import type { Core } from '../core.ts';
import { codeOf, textOf } from '../errors.ts';
import { packageVersion } from '../version.ts';
import type { UrlMemory } from '../webhooks/url-memory.ts';
import { bind, noListening, type RunningServer, tryPort } from './http.ts';
import type { Metrics } from './metrics.ts';

export interface AdminOptions {
  core: Core;
  log: pino.Logger;
  metrics: Metrics;
  /** The port that the API listens on. */
  apiPort: number;
  /** How URLs do. */
  urls: UrlMemory;
}

/** Why the console isn't served, where it isn't. */
function whyNot({ console: isWanted, adminPort, adminHost, bank, consoleSettings }: Config): string | null {
  if (!isWanted) return 'CONSOLE is off';
  if (adminPort === null)
    return bank === 'sandbox' ? 'it has no port' : 'with a real bank it needs ADMIN_PORT';
  if (isLoopback(adminHost) || consoleSettings.proxy !== null) return null;
  return `ADMIN_HOST ${adminHost} is no loopback address, and without CONSOLE_ORIGIN and CONSOLE_PROXY anybody could come in`;
}

/** What operators do is done with the very parts that commands have. */
function openActs(core: Core, log: pino.Logger): Acts {
  const { store, engine, accounts, payments, bank, now, config } = core;
  return new Acts({
    ...{ store, engine, accounts, payments, now, everyDoorSpeaks: bank.everyDoorSpeaks },
    allowPrivate: config.allowPrivateWebhooks,
    acted: (act) => core.acted(act),
    stuckRule: () => ({ now: now(), stuckAfterMs: config.stuckAfterS * 1000, says: (id) => bank.says(id) }),
    onTrouble: (error) => log.warn({ err: error }, "a run over a URL's deliveries could not go on"),
  });
}

function openConsole({ core, log, metrics, apiPort, urls }: AdminOptions, port: number): ConsoleBridge {
  const { host: apiHost, adminHost: host, dataDir, mongodbUri, bank, consoleSettings } = core.config;
  const { incarnation, store } = core;
  return new ConsoleBridge({
    data: {
      ...{ host, port, dataDir, mongodbUri, incarnation, ...consoleSettings },
      api: urlOf(apiHost, apiPort),
      sandbox: bank === 'sandbox',
      version: packageVersion(),
    },
    marks: store.marks,
    metrics: async () => ({ type: metrics.registry.contentType, text: await metrics.registry.metrics() }),
    urls: (account) => urls.worst(account),
    acts: openActs(core, log),
    note: (item) => core.engine.note([item]),
    onFollowed: (at) => metrics.followed(at),
    tally: () => ({ entries: metrics.entries, ...urls.firsts }),
    log,
    onFailure: (error) => log.error({ err: error }, "the console's thread failed and is started again"),
  });
}

/** The address by which this machine reaches itself. */
function urlOf(host: string, port: number): string {
  // All addresses: one of them is its own.
  if (['0.0.0.0', '::', ''].includes(host)) return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function placeOf({ adminHost, consoleSettings }: Config, port: number): ConsolePlace {
  const local = urlOf(adminHost, port);
  return { url: consoleSettings.origin ?? local, local, hasLinks: consoleSettings.proxy === null };
}

/** Starts the console, which listens soon: a start doesn't wait for it. */
async function startConsole(options: AdminOptions, port: number, place: string): Promise<RunningServer> {
  const { core, log } = options;
  const { adminHost } = core.config;
  const free = { port, drain: async () => {} };
  // A port that is taken is told at once. One that goes to somebody else after that is told in the log.
  if (port !== 0)
    await bind(place, 'ADMIN_HOST', async () => ({ ...free, port: await tryPort(adminHost, port) }));
  const bridge = openConsole(options, port);
  core.consoleAt = bridge.listening.then(
    () => {
      const at = placeOf(core.config, bridge.port);
      const how = at.hasLinks ? 'npx pixstate console prints a link' : 'CONSOLE_PROXY signs people in';
      log.info({ url: at.url }, `the console: ${how}`);
      return at;
    },
    (error: unknown) => {
      const why = noListening(place, 'ADMIN_HOST', error);
      log.error({ port }, `the console is not served: ${why}`);
      return { why };
    },
  );
  return bridge;
}

/**
 * Opens the port, where there is to be one. Says in the core where the console is, or why it isn't.
 * @throws OperatorError where the port was named, and can't be listened on
 */
export async function openAdmin(options: AdminOptions): Promise<RunningServer | null> {
  const { core, log, metrics } = options;
  const { adminHost, adminPort, adminPortIsDefault, console: isWanted } = core.config;
  const why = whyNot(core.config);
  if (why !== null) core.consoleAt = Promise.resolve({ why });
  if (adminPort === null) return null;
  if (why !== null && isWanted) log.warn({ host: adminHost }, `the console is not served: ${why}`);
  const place = `ADMIN_PORT ${adminPort} on ${adminHost}`;
  try {
    if (why === null) return await startConsole(options, adminPort, place);
    return await bind(place, 'ADMIN_HOST', () => metrics.serve(adminHost, adminPort));
  } catch (error) {
    if (!adminPortIsDefault) throw error;
    core.consoleAt = Promise.resolve({ why: textOf(error) });
    log.warn({ port: adminPort }, `the console is not served: ${textOf(error)}`);
    return null;
  }
}

/** Says where the console is: others on the database find it, and with the sandbox a link is shown. */
export async function tellOfConsole(core: Core, show: (text: string) => void): Promise<void> {
  const { store, config, incarnation, database } = core;
  const at = await core.consoleAt;
  if (at === null || 'why' in at) return;
  const { url, hasLinks } = at;
  if (database !== null) await announce(store.marks, { ...at, incarnation, since: core.now() });
  if (config.bank !== 'sandbox') return;
  if (!hasLinks) return show(`console: ${url}  (sign-in is the proxy's)\n`);
  const key = await makeLink(store.marks, { by: systemUser(), role: 'operator' }, core.now());
  show(`console: ${url}/#k=${key}  (once, within 5 minutes; npx pixstate console prints another)\n`);
}

/** The console is about to end: nobody is sent there any more. */
export async function forgetConsole(
  { consoleAt, store, incarnation, database }: Core,
  log: pino.Logger,
): Promise<void> {
  if (database === null || consoleAt === null) return;
  await withdraw(store.marks, incarnation).catch((error: unknown) =>
    log.warn({ error: codeOf(error) }, "the console's address stays in the store"),
  );
}
