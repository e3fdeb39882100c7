/** One row: a warm-up, a load, and what it took. */
import { generate, type Plan, type Shot } from './generator.ts';
import { count } from './instructions.ts';
import type { Line } from './line.ts';
import { OPTIONS } from './options.ts';
import { childPids } from './processes.ts';
import {
  childrenOf,
  cpuByThread,
  cpuOf,
  cpuOfRun,
  diskBytes,
  machineCpu,
  memoryMb,
  writtenBytes,
} from './usage.ts';

/** What is measured: a service, and the database's processes where it has one. */
export interface Subject {
  pid: number;
  port: number;
  postgresPid?: number;
}

/** Microseconds of CPU a request that are not worth a column. */
const SMALL_US = 1;
const SMALL_KI = 5;

interface Usage {
  threads: Record<string, number>;
  /** CPU seconds of PostgreSQL's processes. */
  postgres: ReadonlyMap<number, number>;
  written: number;
  disk: number;
  machine: ReturnType<typeof machineCpu>;
  /** CPU seconds of all else that belongs to the run. */
  run: number;
}

function postgresPids({ postgresPid }: Subject): number[] {
  return postgresPid === undefined ? [] : [postgresPid, ...childrenOf(postgresPid)];
}

function usageOf(subject: Subject): Usage {
  const others = postgresPids(subject);
  return {
    threads: cpuByThread(subject.pid),
    postgres: new Map(others.map((pid) => [pid, cpuOf(pid)])),
    written: others.reduce((sum, pid) => sum + writtenBytes(pid), writtenBytes(subject.pid)),
    disk: diskBytes(),
    machine: machineCpu(),
    run: cpuOfRun(childPids()),
  };
}

/** CPU seconds of PostgreSQL's processes, of those that are there at the end. */
function postgresSeconds(before: Usage, after: Usage): number {
  return [...after.postgres].reduce(
    (sum, [pid, seconds]) => sum + seconds - (before.postgres.get(pid) ?? 0),
    0,
  );
}

/** The share of the cores that was busy with what is not of the run, in percent; nothing where that isn't known. */
function foreign(before: Usage, after: Usage): Record<string, number> {
  const own = after.run - before.run + postgresSeconds(before, after);
  const busy = after.machine.busy - before.machine.busy - own;
  const percent = (100 * busy) / (after.machine.all - before.machine.all);
  return Number.isNaN(percent) ? {} : { 'foreign %': Math.max(0, percent) };
}

function figuresOf(shot: Shot): Record<string, number> {
  const { rate, p50, p99, worst } = shot;
  return { 'rate/s': rate, 'p50 ms': p50, 'p99 ms': p99, 'worst ms': worst };
}

function notesOf(name: string, { answered, refused, broken }: Shot): string[] {
  return [
    ...(answered === 0 ? [`${name}: nothing was answered in this time`] : []),
    ...(refused > 0 ? [`${name}: ${refused} answers of 400 and above`] : []),
    ...(broken > 0 ? [`${name}: ${broken} broken connections or requests without an answer`] : []),
  ];
}

/** What the threads of the service, and PostgreSQL, took for each answer. */
function costs(before: Usage, after: Usage, answered: number): Record<string, number> {
  const figures: Record<string, number> = { write_bytes: (after.written - before.written) / answered };
  const disk = (after.disk - before.disk) / answered;
  if (!Number.isNaN(disk)) figures['disk bytes'] = disk;
  for (const [thread, seconds] of Object.entries(after.threads)) {
    const us = ((seconds - (before.threads[thread] ?? 0)) * 1e6) / answered;
    if (us >= SMALL_US) figures[`CPU us: ${thread}`] = us;
  }
  const postgres = (postgresSeconds(before, after) * 1e6) / answered;
  if (postgres >= SMALL_US) figures['CPU us: PostgreSQL'] = postgres;
  return figures;
}

function instructions(counts: Record<string, number> | null, answered: number): Record<string, number> {
  const each = Object.entries(counts ?? {}).map(
    ([thread, counted]) => [`kI: ${thread}`, counted / 1000 / answered] as const,
  );
  return Object.fromEntries(each.filter(([, thousands]) => thousands >= SMALL_KI));
}

/** Sends a plan and measures what it takes; `shot` may be another way of doing so. */
export async function measure(
  name: string,
  subject: Subject,
  plan: Plan,
  shot: (plan: Plan) => Promise<Shot> = generate,
): Promise<Line> {
  process.stderr.write(`${name}\n`);
  const counted = await count(subject.pid);
  const before = usageOf(subject);
  const came = await shot(plan);
  const after = usageOf(subject);
  const counts = await counted();
  const { answered } = came;
  const each = answered === 0 ? {} : { ...costs(before, after, answered), ...instructions(counts, answered) };
  const own = { 'RssAnon MB': memoryMb(subject.pid), ...foreign(before, after) };
  const figures = { ...figuresOf(came), ...each, ...own };
  return { name, figures, notes: notesOf(name, came) };
}

/** The row of a plan, after a warm-up with the same; `shot` may be another way of sending both. */
export async function warmRow(
  name: string,
  subject: Subject,
  requests: Plan['requests'],
  shot: (plan: Plan) => Promise<Shot> = generate,
): Promise<Line> {
  const { port } = subject;
  await shot({ port, requests, seconds: OPTIONS.warmUpSeconds });
  return measure(name, subject, { port, requests, seconds: OPTIONS.seconds }, shot);
}

function rateOf({ figures }: Line): number {
  return figures['rate/s'] ?? Number.NaN;
}

/** Sets a row's rate against others': `of NAME` is its share of their mean. */
export function setAgainst(line: Line, name: string, others: readonly Line[]): void {
  const mean = others.reduce((sum, other) => sum + rateOf(other), 0) / others.length;
  line.figures[`of ${name}`] = rateOf(line) / mean;
}
