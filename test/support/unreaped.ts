/** A process whose parent never waits for it: once it is killed it stays a zombie, as under many a container's init. */
import { readFileSync } from 'node:fs';
import { atEnd } from '../../scripts/mongod/cleanup.ts';
import { type Env, type Spawned, spawnProgram } from './process.ts';
import { until } from './wait.ts';

/** What a shell does that starts a program in a process group of its own and never waits for it. */
const SCRIPT = 'set -m; "$@" & echo "pid $!" >&2; exec sleep 600';

export interface Unreaped {
  pid: number;
  /** The parent: what it writes is the program's. */
  parent: Spawned;
  /** Kills the program's whole process group; resolves once the program is a zombie. */
  killGroup(): Promise<void>;
  /** The state in which the kernel has the program: R, S, T, Z, ... (proc(5)); null where there is none. */
  state(): string | null;
  /** Ends the parent, and the program with it. */
  end(): Promise<void>;
}

/** The state of a process (proc(5)), null where there is none. */
export function stateOf(pid: number): string | null {
  try {
    return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It may be gone, and its group with it.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const started = new Set<number>();
atEnd(() => {
  for (const pid of started) endGroup(pid);
});

/** Starts `node args...` in the package's root, below a parent that never waits for it. */
export async function spawnUnreaped(args: readonly string[], env: Env): Promise<Unreaped> {
  const parent = spawnProgram('bash', ['-c', SCRIPT, 'bash', process.execPath, ...args], env);
  const named = (): number => Number(/^pid (\d+)$/m.exec(parent.stderr())?.[1] ?? 0);
  await until(() => named() > 0, 10_000, 'the pid of what was started');
  const pid = named();
  started.add(pid);
  return {
    pid,
    parent,
    state: () => stateOf(pid),
    async killGroup() {
      endGroup(pid);
      await until(() => stateOf(pid) === 'Z', 10_000, 'a zombie');
    },
    async end() {
      endGroup(pid);
      started.delete(pid);
      parent.child.kill('SIGKILL');
      await parent.ended;
    },
  };
}
