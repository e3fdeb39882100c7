/**
 * A process with a job clock on MongoDB, for tests to kill. Its argument is JSON: see `ClockProcessOptions`. Prints
 * `begin MS` and `end MS` for each run, in ms of the machine's monotonic clock, and failures on stderr. SIGTERM
 * stops it.
 */
import { MongoClient } from 'mongodb';
import { JobClock } from '../../src/jobs/agenda-clock.ts';
import { openMongoBackend, SHARED_CLOCK } from '../../src/jobs/mongo-backend.ts';
import { sleep } from './support.ts';

export interface ClockProcessOptions {
  uri: string;
  /** How long a run takes. */
  runMs: number;
  /** How far its clock is ahead. */
  aheadMs: number;
}

/** Sets the clock of this process, for all of its code. */
function setClockAhead(ms: number): void {
  const RealDate = Date;
  class AheadDate extends RealDate {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [RealDate.now() + ms] : args) as [number]));
    }

    static override now(): number {
      return RealDate.now() + ms;
    }
  }
  globalThis.Date = AheadDate as DateConstructor;
}

function say(what: string): void {
  process.stdout.write(`${what} ${monotonicMs()}\n`);
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

const { uri, runMs, aheadMs }: ClockProcessOptions = JSON.parse(process.argv[2] ?? '');
setClockAhead(aheadMs);
const client = new MongoClient(uri);
const clock = new JobClock({
  backend: openMongoBackend({ db: client.db(), now: Date.now }),
  jobs: [
    {
      name: 'shared',
      everyMs: SHARED_CLOCK.tickMs,
      run: async () => {
        say('begin');
        await sleep(runMs);
        say('end');
      },
    },
  ],
  onError: (error) => process.stderr.write(`${String(error)}\n`),
  ...SHARED_CLOCK,
});
await clock.start();
process.once('SIGTERM', () => {
  void clock.stop().then(() => client.close());
});
