/** What processes and the machine have used, as Linux tells it (proc(5)); nothing where there is no /proc. */
import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';

const TICKS_A_SECOND = 100;

/** Name, seconds of user and system time, and those of children that have ended, of a `stat` file. */
function times(path: string): { name: string; seconds: number; ended: number } {
  const stat = readFileSync(path, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) / TICKS_A_SECOND);
  return { name, seconds: user + system, ended: endedUser + endedSystem };
}

/** CPU seconds by thread name since the process began; empty where there is no /proc. */
export function cpuByThread(pid: number | undefined): Record<string, number> {
  const seconds: Record<string, number> = {};
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const own = times(`/proc/${pid}/task/${thread}/stat`);
      const name = Number(thread) === pid ? 'main' : own.name;
      seconds[name] = (seconds[name] ?? 0) + own.seconds;
    }
  } catch {
    return {};
  }
  return seconds;
}

/** CPU seconds of a process, with those of threads that have ended. */
export function cpuOf(pid: number | undefined): number {
  try {
    return times(`/proc/${pid}/stat`).seconds;
  } catch {
    return Number.NaN;
  }
}

/** CPU seconds of this process and of its children, those that have ended and those that are given. */
export function cpuOfRun(children: readonly number[]): number {
  try {
    const { seconds, ended } = times(`/proc/${process.pid}/stat`);
    return children.reduce((sum, pid) => sum + cpuOf(pid), seconds + ended);
  } catch {
    return Number.NaN;
  }
}

/** CPU seconds that the machine's cores worked, and all that they had. */
export function machineCpu(): { busy: number; all: number } {
  try {
    const line = readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '';
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] = line
      .split(/ +/)
      .slice(1)
      .map((ticks) => Number(ticks) / TICKS_A_SECOND);
    const busy = user + nice + system + irq + soft + steal;
    return { busy, all: busy + idle + wait };
  } catch {
    return { busy: Number.NaN, all: Number.NaN };
  }
}

/**
 * Bytes that a process made dirty or wrote for the disk, with those of children that have ended; 0 without /proc. A
 * kernel that keeps files in large folios counts all of a folio, up to 2 MB, where a page of it is made dirty.
 */
export function writtenBytes(pid: number | undefined): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const SECTOR_BYTES = 512;

/** Bytes that the disk of the temporary folders has written, whoever did it; NaN where they are on none. */
export function diskBytes(): number {
  try {
    const device = statSync(tmpdir()).dev;
    const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00)];
    const fields = readFileSync(`/sys/dev/block/${major}:${minor}/stat`, 'utf8').trim().split(/ +/);
    return Number(fields[6]) * SECTOR_BYTES;
  } catch {
    return Number.NaN;
  }
}

/** File systems that keep what is flushed to them in memory: tmpfs, ramfs. */
const IN_MEMORY = [0x01021994, 0x858458f6];

/** Whether a folder lies in memory: then nobody who says durable has waited for a disk. */
export function isInMemory(folder: string): boolean {
  return process.platform === 'linux' && IN_MEMORY.includes(statfsSync(folder).type);
}

/** The processes that a process has started and that run now. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

/** Memory that is the process's own: the pages of LMDB's map are the kernel's cache. */
export function memoryMb(pid: number | undefined): number {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return Number.NaN;
  }
}
