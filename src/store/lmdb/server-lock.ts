/**
 * One server writes a data folder. The holder stands in the folder itself; a holder that died is followed at
 * once, and what it had claimed is free from then on.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { FolderHeld } from '../folder.ts';
import { closeTables, openTables, openToRead, type Tables } from './tables.ts';

/** Who serves a folder, and how to tell whether it still lives. */
export interface Holder {
  incarnation: string;
  pid: number;
  /** When the process started, as its system counts; tells it from a later one with the same pid. */
  started: string;
  /** Machine, boot and pid namespace: a pid means something only there. */
  place: string;
  since: string;
}

const KEY = 'server';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function here(): string {
  return `${hostname()} ${read('/proc/sys/kernel/random/boot_id')} ${namespace()}`;
}

/** The start time of a process in the kernel's count (proc(5), field 22); empty where there is no such process. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  // The name may hold spaces and parentheses: count from the last one.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isAlive(holder: Holder, tables: Tables, now: number, silentAfterMs: number): boolean {
  if (holder.place === here()) return runs(holder.pid) && startOf(holder.pid) === holder.started;
  // On another machine, or in another container, only its heartbeat tells.
  const beat = tables.beats.get(holder.incarnation);
  return beat !== undefined && beat >= now - silentAfterMs;
}

function livingHolder(tables: Tables, now: number, silentAfterMs: number): Holder | null {
  const holder = holderOf(tables);
  return holder !== null && isAlive(holder, tables, now, silentAfterMs) ? holder : null;
}

function holderOf(tables: Tables): Holder | null {
  const text = tables.lock.get(KEY);
  return text === undefined ? null : JSON.parse(text);
}

/**
 * Looks who serves the folder, without waiting for anybody: to open it for writing waits for a writer that is
 * frozen, and that may be the holder.
 * @throws FolderHeld
 */
export async function expectUnheld(folder: string, now: number, silentAfterMs: number): Promise<void> {
  const tables = await openToRead(folder);
  if (tables === null) return;
  const holder = livingHolder(tables, now, silentAfterMs);
  await closeTables(tables);
  if (holder !== null) throw new FolderHeld(folder, holder);
}

/**
 * Takes the folder for this process. What the dead holder had claimed is taken over at once.
 * @throws FolderHeld at once where a living process has it.
 */
export async function lockFolder(
  folder: string,
  incarnation: string,
  now: number,
  silentAfterMs: number,
): Promise<{ release(): Promise<void> }> {
  const tables = await openTables(folder);
  const me: Holder = {
    incarnation,
    pid: process.pid,
    started: startOf(process.pid),
    place: here(),
    since: new Date(now).toISOString(),
  };
  const living = (): Holder | null => livingHolder(tables, now, silentAfterMs);
  // Looked at before the write transaction: a holder that is frozen inside one would stop us there.
  const before = living();
  if (before !== null) throw new FolderHeld(folder, before);
  const racer = await tables.gate.write(() =>
    tables.lock.transaction(() => {
      const holder = living();
      if (holder !== null) return holder;
      const dead = holderOf(tables);
      if (dead !== null) void tables.beats.remove(dead.incarnation);
      void tables.lock.put(KEY, JSON.stringify(me));
      void tables.beats.put(incarnation, now);
      return null;
    }),
  );
  if (racer !== null) throw new FolderHeld(folder, racer);
  return {
    release: async () => {
      await tables.gate.write(() =>
        tables.lock.transaction(() => {
          if (holderOf(tables)?.incarnation !== incarnation) return;
          void tables.lock.remove(KEY);
          void tables.beats.remove(incarnation);
        }),
      );
      await closeTables(tables);
    },
  };
}
