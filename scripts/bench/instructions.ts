/**
 * Instructions in user mode by thread, as `perf` counts them: they hardly move with what else runs on the cores, where
 * rates and times do. Not every machine has the counter: many virtual ones don't.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { output, startProgram, temporaryFolder } from './processes.ts';
import { findProgram } from './tools.ts';

/** Until perf has found the threads of a process. */
const ATTACH_MS = 300;

let file: string | null = null;
let known: string | null | undefined;

/** What perf writes to: empty until it does, and so for ever where it may not count. */
function resultFile(): string {
  file ??= join(temporaryFolder(), 'perf.csv');
  writeFileSync(file, '');
  return file;
}

/**
 * Counts by thread name of perf's lines: `name-tid,count,unit,event,...`. The process's first thread is `main`.
 */
export function countsOf(csv: string, pid: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of csv.split('\n')) {
    const [, name = '', tid = '', count = ''] = /^(.*)-(\d+),([\d.]+),/.exec(line.trim()) ?? [];
    if (count === '') continue;
    const thread = Number(tid) === pid ? 'main' : name;
    counts[thread] = (counts[thread] ?? 0) + Number(count);
  }
  return counts;
}

async function counted(perf: string, event: string, args: string[]): Promise<string> {
  const result = resultFile();
  await output(startProgram(perf, ['stat', '-x,', '-e', event, '-o', result, ...args]));
  return readFileSync(result, 'utf8');
}

/** Why nothing is counted; null where something is. */
export async function whyNotCounted(): Promise<string | null> {
  if (known !== undefined) return known;
  const perf = findProgram('perf');
  if (perf === null) known = 'instructions are not measured: there is no perf (linux-perf)';
  else {
    const text = await counted(perf, 'instructions:u', ['--', process.execPath, '--version']);
    const isCounted = /^\d+,/m.test(text);
    known = isCounted ? null : 'instructions are not measured: perf can not count them on this machine';
  }
  return known;
}

/** Counts what a process's threads do from now on, until the function given back is called; null: not counted. */
export async function count(
  pid: number,
  event = 'instructions:u',
): Promise<() => Promise<Record<string, number> | null>> {
  const perf = findProgram('perf');
  if (perf === null || (await whyNotCounted()) !== null) return async () => null;
  const result = resultFile();
  const args = ['stat', '--per-thread', '-x,', '-e', event, '-p', String(pid), '-o', result];
  const child = startProgram(perf, args);
  const ended = once(child, 'exit');
  await delay(ATTACH_MS);
  return async () => {
    child.kill('SIGINT');
    await ended;
    return countsOf(readFileSync(result, 'utf8'), pid);
  };
}
