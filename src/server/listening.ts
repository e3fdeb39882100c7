/** A server's metrics, and the API's door with its readiness endpoints, in this thread or in threads of its own. */
import type { pino } from 'pino';
import { actsOf } from '../api/acts.ts';
import type { Answered, FrontOptions, ServerState } from '../api/app.ts';
import { BucketPlaces, RateLimit } from '../api/rate-limit.ts';
import { showingOf } from '../api/showing.ts';
import { elapsed, now } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Core } from '../core.ts';
import { bounded } from '../engine/statement/bounded.ts';
import { endOf } from '../engine/statement/end.ts';
import { statementsOf } from '../engine/statement/page.ts';
import { later } from '../waiting.ts';
import type { Flags } from './flags.ts';
import { bind, listen, newRequestId, type RunningServer } from './http.ts';
import { Metrics } from './metrics.ts';
import { attentionLog, failureLog, troubleLog } from './telling.ts';
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
  engine.onTrouble(troubleLog(log));
  return metrics;
}

/** What the API's door is opened with: before the store, so that whoever asks is told why nothing is served yet. */
export interface ApiDoorOptions {
  config: Config;
  log: pino.Logger;
  state: ServerState & Flags;
  /** What a start has yet to do, for probes. */
  awaited: string;
  /** The process must end. */
  onFatal(error: Error): void;
}

/** What requests are carried out with, and counted in. */
export interface Served {
  core: Core;
  metrics: Metrics;
}

/** The API's door. */
export interface ApiDoor extends RunningServer {
  /** The store is open: requests are carried out once the flags say so, too. */
  serve(served: Served): void;
}

/** What requests need of the engine, whichever thread they come to. */
function servicesOf({ store, engine, now: storeNow, database, payments, directory }: Core) {
  const { journal } = store;
  return {
    journal,
    showing: showingOf(journal, now),
    statement: bounded(statementsOf(journal)),
    statementEnd: endOf({ journal, engine, now: storeNow, isShared: database !== null }),
    payments: actsOf(payments, now),
    directory,
  };
}

/** Opens the API in this thread: Koa and all that comes with it take 40 MB, so they are loaded only where they serve. */
async function openHere({ config, log, state }: ApiDoorOptions, places: BucketPlaces): Promise<ApiDoor> {
  const { createApp, createStartingApp } = await import('../api/app.ts');
  const counted = later<Metrics>();
  const answered =
    (count: Metrics['observed']) =>
    (answer: Answered): void => {
      count({ ...answer, ms: [answer.ms] });
      log.debug(answer, 'answered');
    };
  const front: FrontOptions = {
    elapsed,
    patienceMs: 0,
    newRequestId,
    sandbox: config.bank === 'sandbox',
    bankCallbackSecret: config.bankCallbackSecret,
    state,
    onFailure: failureLog(log),
    onAnswer: answered((observed) => void counted.promise.then((metrics) => metrics.observed(observed))),
  };
  let answer = createStartingApp(front).callback();
  const server = await listen((req, res) => answer(req, res), config.host, config.port);
  const serve = ({ core, metrics }: Served): void => {
    counted.resolve(metrics);
    const app = createApp({
      ...front,
      ...servicesOf(core),
      onAnswer: answered((observed) => metrics.observed(observed)),
      rateLimit: new RateLimit(places.memory, ({ id }) => places.of(id), elapsed),
      now,
      trustedProxyHops: config.trustedProxyHops,
      onRequest: () => core.spareTime.called(),
    });
    answer = app.callback();
  };
  return { ...server, serve };
}

/** Opens the API in threads of its own, behind one port. */
async function openThreads(options: ApiDoorOptions, places: BucketPlaces): Promise<ApiDoor> {
  const { config, log, state, awaited, onFatal } = options;
  const { host, port, trustedProxyHops, bankCallbackSecret } = config;
  const counted = later<Metrics>();
  const threads = await HttpThreads.open({
    threads: config.httpThreads,
    data: {
      host,
      port,
      flags: state.memory,
      awaited,
      buckets: places.memory,
      trustedProxyHops,
      sandbox: config.bank === 'sandbox',
      bankCallbackSecret,
      verbose: log.isLevelEnabled('debug'),
    },
    ports: {
      elapsed,
      onObserved: (observed) => void counted.promise.then((metrics) => metrics.observed(observed)),
      onAnswered: (answered) => log.debug(answered, 'answered'),
      onFailure: failureLog(log),
    },
    onFailure: (error) => log.error({ err: error }, 'an HTTP thread failed and is started again'),
    onFatal,
  });
  const serve = ({ core, metrics }: Served): void => {
    counted.resolve(metrics);
    const { directory, spareTime, together } = core;
    threads.serve({ ...servicesOf(core), accounts: directory.stored, places, state, spareTime, together });
  };
  return { port: threads.port, drain: (timeoutMs) => threads.drain(timeoutMs), serve };
}

/**
 * Opens the API's door; its readiness endpoint tells whether it takes requests.
 * @throws OperatorError where the port can't be listened on
 */
export function openApi(options: ApiDoorOptions): Promise<ApiDoor> {
  const { host, port, httpThreads } = options.config;
  const places = new BucketPlaces(elapsed);
  const open = httpThreads === 0 ? openHere : openThreads;
  return bind(`port ${port} on ${host}`, 'HOST', () => open(options, places));
}
