/**
 * The doors of a server: the API with its readiness endpoints, in this thread or in threads of its own, and the metrics
 * on a port of their own, with the console.
 */
import type { pino } from 'pino';
import { actsOf } from '../api/acts.ts';
import type { ApiOptions, ServerState } from '../api/app.ts';
import { BucketPlaces, RateLimit } from '../api/rate-limit.ts';
import { showingOf } from '../api/showing.ts';
import { elapsed, now } from '../clock.ts';
import type { Core } from '../core.ts';
import { bounded } from '../engine/statement/bounded.ts';
import { endOf, type StatementEnd } from '../engine/statement/end.ts';
import { statementsOf } from '../engine/statement/page.ts';
import type { UrlMemory } from '../webhooks/url-memory.ts';
import { openAdmin } from './admin.ts';
import type { Flags } from './flags.ts';
import { bind, listen, newRequestId, type RunningServer } from './http.ts';
import { Metrics } from './metrics.ts';
import { attentionLog, failureLog } from './telling.ts';
import { HttpThreads } from './threads/pool.ts';

/** The metrics of a server, whose alarms are told in the log as well. */
export function openMetrics({ engine, store, now, onFlush }: Core, log: pino.Logger): Metrics {
  const metrics = new Metrics({
    activeAccounts: () => engine.activeAccounts,
    attention: () => store.attention.counts(),
    waitingCommands: () => engine.waitingCommands,
    oldestDue: () => store.due.oldest(now()),
    now,
    deliveriesBehind: () => store.backlog.total(),
  });
  engine.onAttention(attentionLog(log, (kind) => metrics.alarm(kind)));
  engine.onCommit((ms, entries) => metrics.committed(ms, entries));
  onFlush((ms, writes) => metrics.flushed(ms, writes));
  engine.onUnrecorded((count) => metrics.unrecorded(count));
  engine.onTrouble((error) => log.warn({ err: error }, 'will be tried again'));
  return metrics;
}

/** What the doors of a server are opened with. */
export interface DoorOptions {
  core: Core;
  log: pino.Logger;
  metrics: Metrics;
  /** How URLs do. */
  urls: UrlMemory;
  state: ServerState & Flags;
  /** The process must end. */
  onFatal(error: Error): void;
}

function statementEndOf({ store, engine, now, database }: Core): StatementEnd {
  return endOf({ journal: store.journal, engine, now, isShared: database !== null });
}

/** The API's ports where Koa runs in the engine's thread. */
function ownPorts({ core, log, metrics, state }: DoorOptions, places: BucketPlaces): ApiOptions {
  const { config, payments, directory, store, spareTime } = core;
  return {
    journal: store.journal,
    showing: showingOf(store.journal, now),
    statement: bounded(statementsOf(store.journal)),
    statementEnd: statementEndOf(core),
    payments: actsOf(payments, now),
    directory,
    rateLimit: new RateLimit(places.memory, ({ id }) => places.of(id), elapsed),
    now,
    elapsed,
    patienceMs: 0,
    newRequestId,
    trustedProxyHops: config.trustedProxyHops,
    sandbox: config.bank === 'sandbox',
    bankCallbackSecret: config.bankCallbackSecret,
    state,
    onFailure: failureLog(log),
    onRequest: () => spareTime.called(),
    onAnswer: (answer) => {
      metrics.observed({ ...answer, ms: [answer.ms] });
      log.debug(answer, 'answered');
    },
  };
}

/** Opens the API in this thread: Koa and all that comes with it take 40 MB, so they are loaded only where they serve. */
async function openHere(options: DoorOptions, places: BucketPlaces): Promise<RunningServer> {
  const { createApp } = await import('../api/app.ts');
  const { host, port } = options.core.config;
  return listen(createApp(ownPorts(options, places)).callback(), host, port);
}

/** Opens the API in threads of its own, behind one port. */
function openThreads(options: DoorOptions, places: BucketPlaces): Promise<RunningServer> {
  const { core, log, metrics, state, onFatal } = options;
  const { config, payments, directory, store, spareTime, together } = core;
  const { host, port, trustedProxyHops, bankCallbackSecret } = config;
  return HttpThreads.open({
    threads: config.httpThreads,
    data: {
      host,
      port,
      flags: state.memory,
      buckets: places.memory,
      trustedProxyHops,
      sandbox: config.bank === 'sandbox',
      bankCallbackSecret,
      verbose: log.isLevelEnabled('debug'),
    },
    ports: {
      journal: store.journal,
      showing: showingOf(store.journal, now),
      statement: bounded(statementsOf(store.journal)),
      statementEnd: statementEndOf(core),
      payments: actsOf(payments, now),
      accounts: directory.stored,
      directory,
      places,
      state,
      spareTime,
      together,
      elapsed,
      onObserved: (observed) => metrics.observed(observed),
      onAnswered: (answered) => log.debug(answered, 'answered'),
      onFailure: failureLog(log),
    },
    onFailure: (error) => log.error({ err: error }, 'an HTTP thread failed and is started again'),
    onFatal,
  });
}

/**
 * Opens the doors. The API is there at once; its readiness endpoint tells whether it takes requests.
 * @throws OperatorError where a port can't be listened on; no door is open then
 */
export async function openDoors(options: DoorOptions): Promise<RunningServer[]> {
  const { host, port, httpThreads } = options.core.config;
  const places = new BucketPlaces(elapsed);
  const open = (): Promise<RunningServer> =>
    httpThreads === 0 ? openHere(options, places) : openThreads(options, places);
  const api = await bind(`port ${port} on ${host}`, 'HOST', open);
  try {
    const admin = await openAdmin({ ...options, apiPort: api.port });
    return admin === null ? [api] : [api, admin];
  } catch (error) {
    await api.drain(0);
    throw error;
  }
}
