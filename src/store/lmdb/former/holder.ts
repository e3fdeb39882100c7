/**
 * Former builds took no lock of the operating system: they named their holder in the table `lock`. Where such a holder
 * still lives, the folder is its own.
 */
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { codeOf } from '../../../errors.ts';
import { FolderHeld } from '../../folder.ts';
import { bootId } from '../projections/file.ts';
import type { FormerTables } from './tables.ts';

/** A holder as former builds wrote it down. */
interface FormerHolder {
  incarnation: string;
  pid: number;
  /** Machine, boot and pid namespace, in this order. */
  place: string;
  since: string;
}

const HOLDER = 'server';
/** One without a heartbeat for so long (ms) has fallen silent. */
const SILENT_AFTER_MS = 5_000;

function holderIn({ lock }: FormerTables): FormerHolder | null {
  const text = lock?.get(HOLDER);
  return text === undefined ? null : JSON.parse(text);
}

/** Whether a pid of the place is a pid of this process's namespace, since the same boot. */
function isHere(place: string): boolean {
  try {
    return place.endsWith(`${bootId()} ${readlinkSync('/proc/self/ns/pid')}`);
  } catch {
    return false;
  }
}

/** The files that a process has open; of a dead one none, null where they may not be looked at. */
function filesOf(pid: number): string[] | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return '';
      }
    });
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? [] : null;
  }
}

function isAlive(
  { pid, place, incarnation }: FormerHolder,
  folder: string,
  now: number,
  former: FormerTables,
) {
  const files = isHere(place) ? filesOf(pid) : null;
  // A process that works on the folder, even a frozen one, has a file of it open; a zombie has none. This process has
  // one, too, and may have got the dead holder's pid.
  if (files !== null) {
    const path = `${realpathSync(folder)}/pixstate.`;
    return pid !== process.pid && files.some((file) => file.startsWith(path));
  }
  // In another container, or under another user, only its heartbeat tells.
  const beat = former.beats?.get(incarnation);
  return beat !== undefined && beat >= now - SILENT_AFTER_MS;
}

/** @throws FolderHeld where a process of a former build has the folder; `now` is in ms */
export function expectNoFormerHolder(folder: string, former: FormerTables, now: number): void {
  const holder = holderIn(former);
  if (holder !== null && isAlive(holder, folder, now, former)) throw new FolderHeld(folder, holder);
}
