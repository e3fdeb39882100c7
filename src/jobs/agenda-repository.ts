/*
 * What a job clock's Agenda sees of a backend. Owns which of the clock's jobs are in this process's hands.
 * Each job of a clock is a single one: one document a name, so whoever holds it needs not look for another.
 *
 * 1. One look for a name at a time: while the database doesn't answer, Agenda's scans don't pile up.
 * 2. No look for a job that is in hand, as long as its lock lives.
 * 3. The state at the start of a run is not written: its lock is stored already, its times come with its end.
 * 4. Once it is shut no lock is taken, and `shut` resolves when none is under way.
 * 5. Unlocking never rejects: Agenda doesn't wait for it, and a lock that stays expires.
 */
import type { JobParameters, JobRepository } from 'agenda';

type Scan = JobRepository['getNextJobToRun'];

/** A repository and the means to let it take no further lock. */
export interface ClockRepository {
  repository: JobRepository;
  shut(): Promise<void>;
}

/** Puts these rules in front of a backend's repository. */
export function clockRepository(backend: JobRepository): ClockRepository {
  const inHand = new Map<string, Date>();
  const underWay = new Map<string, Promise<unknown>>();
  let isShut = false;

  const getNextJobToRun: Scan = async (name, nextScanAt, lockDeadline, now, options) => {
    const lockedAt = inHand.get(name);
    if (isShut || underWay.has(name) || (lockedAt && lockedAt > lockDeadline)) return undefined;
    const scan = backend.getNextJobToRun(name, nextScanAt, lockDeadline, now, options);
    const look = scan.then(
      (job) => hold(inHand, name, job?.lockedAt),
      () => {},
    );
    underWay.set(name, look);
    try {
      return await scan;
    } finally {
      underWay.delete(name);
    }
  };

  const saveJobState: JobRepository['saveJobState'] = async (job, options) => {
    const isStart = job.lockedAt !== undefined && inHand.get(job.name)?.getTime() === job.lockedAt.getTime();
    if (isStart) return;
    hold(inHand, job.name, job.lockedAt);
    await backend.saveJobState(job, options);
  };

  const unlockJob = async (job: JobParameters): Promise<void> => {
    inHand.delete(job.name);
    await backend.unlockJob(job).catch(() => {});
  };

  const shut = async (): Promise<void> => {
    isShut = true;
    await Promise.all(underWay.values());
  };

  return { repository: withOwn(backend, { getNextJobToRun, saveJobState, unlockJob }), shut };
}

function hold(inHand: Map<string, Date>, name: string, lockedAt: Date | undefined): void {
  if (lockedAt) inHand.set(name, lockedAt);
  else inHand.delete(name);
}

/** The backend's methods but for these; bound, since classes with private fields know only themselves. */
function withOwn(backend: JobRepository, own: Partial<JobRepository>): JobRepository {
  return new Proxy(backend, {
    get: (target, key) => {
      const method: unknown = Reflect.get(own, key) ?? Reflect.get(target, key);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}
