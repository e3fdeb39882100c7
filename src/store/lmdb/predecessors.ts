/**
 * What those left behind who held the folder before: claims on due things. Only the process that holds the folder
 * gives signs of life (the table `beats`), so all others there are dead, and what they had claimed is free at once.
 *
 * Former builds took no lock of the operating system: they named their holder in the table `lock`. Where such a holder
 * still lives, the folder is its own.
 */
import { readlinkSync, realpathSync } from 'node:fs';
import { FolderHeld } from '../folder.ts';
import { gateIn, hasOpen } from './gate.ts';
import { closeTables, openTables, type Tables } from './tables.ts';

/** A holder as former builds wrote it down. */
interface FormerHolder {
  incarnation: string;
  pid: number;
  /** Machine, boot and pid namespace, in this order. */
  place: string;
  since: string;
}

export interface Successor {
  incarnation: string;
  /** Ms since 1970. */
  now: number;
  /** An incarnation without a heartbeat for so long has fallen silent. */
  silentAfterMs: number;
}

const FORMER = 'server';

function formerHolder({ lock }: Tables): FormerHolder | null {
  const text = lock.get(FORMER);
  return text === undefined ? null : JSON.parse(text);
}

/** Whether pids of the place are pids of this process's namespace as well. */
function isHere(place: string): boolean {
  try {
    return place.endsWith(readlinkSync('/proc/self/ns/pid'));
  } catch {
    return false;
  }
}

function isAlive(
  { pid, place, incarnation }: FormerHolder,
  folder: string,
  { beats }: Tables,
  { now, silentAfterMs }: Successor,
): boolean {
  // A process that works on the folder, even a frozen one, has the gate's file open; a zombie has none. This process
  // has it, too, and may have got the dead holder's pid.
  if (isHere(place)) return pid !== process.pid && hasOpen(String(pid), realpathSync(gateIn(folder)));
  // In another container only its heartbeat tells.
  const beat = beats.get(incarnation);
  return beat !== undefined && beat >= now - silentAfterMs;
}

/**
 * Frees what others had claimed. The caller holds the folder.
 * @throws FolderHeld where a process of a former build has it
 */
export async function succeed(folder: string, successor: Successor): Promise<void> {
  const tables = await openTables(folder);
  const { beats, lock, gate, root } = tables;
  try {
    const former = formerHolder(tables);
    if (former !== null && isAlive(former, folder, tables, successor)) throw new FolderHeld(folder, former);
    await gate.write(() =>
      root.transaction(() => {
        for (const { key, value } of [...beats.getRange()]) {
          // The mark of an incarnation whose claims were taken over stays: it is below zero.
          if (value >= 0) void beats.remove(key);
        }
        void lock.remove(FORMER);
        void beats.put(successor.incarnation, successor.now);
      }),
    );
  } finally {
    await closeTables(tables);
  }
}
