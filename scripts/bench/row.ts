/** One row of a run on MongoDB, or of the embedded store beside it: what was done, how fast, and what it cost. */
import type { LoadResult } from './load.ts';
import { type Contents, type Counters, difference, type Meter } from './mongodb/meter.ts';
import { childPids } from './processes.ts';
import type { Server } from './server.ts';
import { cpuByThread, cpuOf, cpuOfRun, machineCpu } from './usage.ts';

/** CPU seconds of a process, or of several together. */
export interface Cpu {
  all: number;
  threads: Record<string, number>;
}

export interface MongodbCosts {
  counted: Counters;
  stored: Contents;
  oplogEntries: number;
}

export interface Row {
  name: string;
  /** What the costs are divided by. */
  requests: number;
  /** Of requests, or of whole lifecycles. */
  rate: number;
  /** Null where nothing was asked. */
  result: LoadResult | null;
  server: Cpu;
  mongod: Cpu | null;
  /** Shares of the machine's cores: that were busy, and with something that isn't of this run. */
  busy: number;
  foreign: number;
  /** Null on the embedded store. */
  mongodb: MongodbCosts | null;
  note: string;
}

export interface Measured {
  rate: number;
  result: LoadResult | null;
  note?: string;
}

/** Where rows are measured: one store. */
export interface Ground {
  mongodPid: number | undefined;
  meter: Meter | null;
}

/** Threads of one kind have numbers in their names, or in the case of connections one for each. */
function kindOf(thread: string): string {
  return thread.replace(/^conn\d+$/, 'connections').replace(/[-.]?\d+$/, '');
}

function cpuOfAll(pids: readonly (number | undefined)[]): Cpu {
  const cpu: Cpu = { all: 0, threads: {} };
  for (const pid of pids) {
    cpu.all += cpuOf(pid);
    for (const [thread, seconds] of Object.entries(cpuByThread(pid))) {
      const kind = kindOf(thread);
      cpu.threads[kind] = (cpu.threads[kind] ?? 0) + seconds;
    }
  }
  return cpu;
}

function usage(servers: readonly Server[], mongodPid: number | undefined) {
  return {
    server: cpuOfAll(servers.map(({ child }) => child.pid)),
    mongod: cpuOfAll(mongodPid === undefined ? [] : [mongodPid]),
    run: cpuOfRun([...childPids(), ...(mongodPid === undefined ? [] : [mongodPid])]),
    machine: machineCpu(),
  };
}

async function readings(meter: Meter | null) {
  if (meter === null) return null;
  const contents = await meter.contents();
  const moment = await meter.moment();
  return { contents, moment, counters: await meter.counters() };
}

async function costs(
  meter: Meter | null,
  before: Awaited<ReturnType<typeof readings>>,
  counters: Counters | null,
) {
  if (meter === null || before === null || counters === null) return null;
  return {
    counted: difference(counters, before.counters),
    oplogEntries: await meter.oplogEntries(before.moment),
    stored: difference(await meter.contents(), before.contents),
  };
}

/** Measures one row while `work` is done. */
export async function measure(
  { mongodPid, meter }: Ground,
  name: string,
  requests: number,
  servers: readonly Server[],
  work: () => Promise<Measured>,
): Promise<Row> {
  process.stderr.write(`${name}\n`);
  const before = await readings(meter);
  const usedBefore = usage(servers, mongodPid);
  const { rate, result, note = '' } = await work();
  const used = difference(usage(servers, mongodPid), usedBefore);
  const mongodb = await costs(meter, before, meter === null ? null : await meter.counters());
  const { busy, all } = used.machine;
  return {
    name,
    requests,
    rate,
    result,
    server: used.server,
    mongod: mongodPid === undefined ? null : used.mongod,
    busy: busy / all,
    foreign: Math.max(0, (busy - used.run) / all),
    mongodb,
    note,
  };
}
