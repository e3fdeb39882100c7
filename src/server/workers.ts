/** The workers of a server: deliveries, bank orders, and the clocks that look for due things. */
import type { pino } from 'pino';
import { Desk } from '../bank/desk.ts';
import { now } from '../clock.ts';
import type { Core } from '../core.ts';
import type { Due } from '../engine/store/due.ts';
import { JobClock } from '../jobs/agenda-clock.ts';
import { ClockWatch } from '../jobs/clock-watch.ts';
import { DescriptorWatch } from '../jobs/descriptors.ts';
import { freshWork } from '../jobs/fresh-work.ts';
import { LocalClock } from '../jobs/local-clock.ts';
import { MemoryBackend } from '../jobs/memory-backend.ts';
import { type Sweeps, sweeps } from '../jobs/sweeps.ts';
import { Timers } from '../jobs/timers.ts';
import { Watch } from '../jobs/watch.ts';
import { SpareTime } from '../spare-time.ts';
import { Dispatcher } from '../webhooks/dispatcher.ts';
import { openWebhookSender } from '../webhooks/sender/open.ts';
import type { WebhookSender } from '../webhooks/sender/port.ts';
import { UrlMemory } from '../webhooks/url-memory.ts';
import type { Metrics } from './metrics.ts';
import { troubleLog } from './telling.ts';

/** The workers of one server; the clocks don't tick before they are started. */
export interface Workers {
  desk: Desk;
  timers: Timers;
  dispatcher: Dispatcher;
  clock: ClockWatch;
  clocks: (LocalClock | JobClock)[];
  sender: WebhookSender;
  urls: UrlMemory;
}

const JOBS_STOP_MS = 1_000;
const SENDER_CLOSE_MS = 1_500;
/** Histories that are read from a database at the same time, which answers them together. */
const FROM_AFAR = 64;

/** Opens the workers, and has the engine hand them what is due at once. */
export async function openWorkers(
  core: Core,
  log: pino.Logger,
  metrics: Metrics,
  bankJobs: Sweeps,
): Promise<Workers> {
  const { config, engine, directory, payments, bank, spareTime, now: storeNow } = core;
  const { journal, due, backlog } = core.store;
  const onTrouble = troubleLog(log);
  const sender = openWebhookSender({
    allowPrivate: config.allowPrivateWebhooks,
    closeMs: SENDER_CLOSE_MS,
    onFailure: (error) => log.error({ err: error }, 'the webhook worker failed and is started again'),
  });
  const urls = new UrlMemory(storeNow);
  const dispatcher = new Dispatcher({
    journal,
    due,
    backlog,
    directory,
    sender,
    spareTime,
    ...(core.database === null ? {} : { readTogether: FROM_AFAR, aheadOfSender: () => storeNow() - now() }),
    attention: engine,
    now: storeNow,
    retryScale: config.webhookRetryScale,
    onTrouble,
    onAttempt: (record, ms, target) => {
      metrics.attempted(record.status, ms);
      urls.attempted(target, record, ms);
    },
    onDead: (item) => engine.tell(item),
    onRejected: (item) => engine.tellOnce(item),
  });
  metrics.countInHand(() => dispatcher.room.taken);
  const onDueTrouble = (error: unknown, about?: Due): void => onTrouble(error, about && { due: about });
  const stuckAfterMs = config.stuckAfterS * 1000;
  const common = {
    ...{ engine, payments, journal, due, bank, stuckAfterMs },
    ...{ now: storeNow, onTrouble: onDueTrouble },
  };
  const isShared = core.database !== null;
  const desk = new Desk({ ...common, isShared });
  // Timers don't wait for a backlog of deliveries.
  const timers = new Timers({ ...common, isShared, spareTime: new SpareTime(spareTime) });
  metrics.dateInHand({ timer: () => timers.earliest, bank: () => desk.earliest });
  engine.handFreshWorkTo(freshWork(due, desk, dispatcher, onTrouble));
  const onNotice = (text: string): void => log.warn(text);
  const clock = new ClockWatch({ store: core.store, engine, now: storeNow, onNotice });
  // Loaded with the driver, and only where that is used.
  const shared = core.database === null ? null : await import('../jobs/mongo-backend.ts');
  const jobs = sweeps({
    engine,
    due,
    desk,
    timers,
    dispatcher,
    now: storeNow,
    clock,
    ...(shared === null ? {} : { tickMs: shared.SHARED_CLOCK.tickMs }),
  });
  const watch = new Watch({
    engine,
    store: core.store,
    now: storeNow,
    stuckAfterMs,
    says: (id) => bank.says(id),
  });
  const descriptors = new DescriptorWatch(onNotice);
  jobs.local.push(...watch.jobs, ...clock.jobs, ...descriptors.jobs, ...bankJobs.local);
  jobs.shared.push(...bankJobs.shared);
  return { desk, timers, dispatcher, clock, clocks: openClocks(core, jobs, log, shared), sender, urls };
}

/** A clock for the jobs of this process alone, and one for those that processes on one database share. */
function openClocks(
  core: Core,
  jobs: ReturnType<typeof sweeps>,
  log: pino.Logger,
  shared: typeof import('../jobs/mongo-backend.ts') | null,
): Workers['clocks'] {
  const onError = (error: unknown, job?: string): void =>
    log.error({ err: error, job }, 'a job failed and runs again');
  const common = { onError, stopTimeoutMs: JOBS_STOP_MS };
  const local = new LocalClock({ ...common, jobs: jobs.local });
  if (shared === null || core.database === null) {
    return [local, new JobClock({ ...common, jobs: jobs.shared, backend: new MemoryBackend({ now }) })];
  }
  const { processEveryMs, lockLifetimeMs } = shared.SHARED_CLOCK;
  const backend = shared.openMongoBackend({ db: core.database, now });
  const together = { backend, id: core.incarnation, processEveryMs, lockLifetimeMs };
  return [local, new JobClock({ ...common, ...together, jobs: jobs.shared })];
}
