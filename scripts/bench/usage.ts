/** What processes and the machine have used, as Linux tells it (proc(5)); nothing where there is no /proc. */
import { readdirSync, readFileSync } from 'node:fs';

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

/** CPU microseconds a request, by thread. */
export function cpuSince(pid: number | undefined, before: Record<string, number>, requests: number): string {
  return Object.entries(cpuByThread(pid))
    .map(([thread, seconds]) => [thread, ((seconds - (before[thread] ?? 0)) * 1e6) / requests] as const)
    .filter(([, us]) => us >= 1)
    .map(([thread, us]) => `${thread} ${us.toFixed(0)}`)
    .join(', ');
}

/** Bytes handed to the kernel: LMDB's pages, and the answers. */
export function writtenBytes(pid: number | undefined): number {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
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
