/**
 * What those left behind who held the folder before: claims on due things. Only the process that holds the folder
 * gives signs of life (the table `beats`), so all others there are dead, and what they had claimed is free at once.
 *
 * Former builds took no lock of the operating system: they named their holder in the table `lock`. Where such a holder
 * still lives, the folder is its own.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { codeOf } from '../../errors.ts';
import { FolderHeld } from '../folder.ts';
import { gateIn, hasOpen } from './gate.ts';
import { closeTables, openTables, openToRead, type Tables } from './tables.ts';

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

/** Whether a pid of the place is a pid of this process's namespace, since the same boot. */
function isHere(place: string): boolean {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return place.endsWith(`${boot} ${readlinkSync('/proc/self/ns/pid')}`);
  } catch {
    return false;
  }
}

/** Whether the files that a process has open may be looked at; those of a dead one count as looked at. */
function showsItsFiles(pid: number): boolean {
  try {
    readdirSync(`/proc/${pid}/fd`);
    return true;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
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
  if (isHere(place) && showsItsFiles(pid))
    return pid !== process.pid && hasOpen(String(pid), realpathSync(gateIn(folder)));
  // In another container, or under another user, only its heartbeat tells.
  const beat = beats.get(incarnation);
  return beat !== undefined && beat >= now - silentAfterMs;
}

function expectNoFormer(folder: string, tables: Tables, successor: Successor): void {
  const former = formerHolder(tables);
  if (former !== null && isAlive(former, folder, tables, successor)) throw new FolderHeld(folder, former);
}

/** Looks without waiting for anybody: opening to write waits for a former holder that is frozen in a write. */
async function lookForFormer(folder: string, successor: Successor): Promise<void> {
  const tables = await openToRead(folder);
  if (tables === null) return;
  try {
    expectNoFormer(folder, tables, successor);
  } finally {
    await closeTables(tables);
  }
}

/**
 * Frees what others had claimed. The caller holds the folder.
 * @throws FolderHeld where a process of a former build has it
 */
export async function succeed(folder: string, successor: Successor): Promise<void> {
  await lookForFormer(folder, successor);
  const tables = await openTables(folder);
  const { beats, lock, gate, root } = tables;
  try {
    expectNoFormer(folder, tables, successor);
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
