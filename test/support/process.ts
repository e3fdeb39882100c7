import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../../scripts/mongod/cleanup.ts';

/** The package's root folder, with the build in `dist/`. */
export const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

/** Environment variables, as a child process gets them. */
export type Env = Record<string, string>;

/** How a process ended. `code` is null when a signal ended it. */
export interface Outcome {
  code: number | null;
  /** What ended it where nothing else did, SIGKILL for one. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  elapsedMs: number;
}

/** A child process with what it has written so far. */
export interface Spawned {
  child: ChildProcess;
  pid: number;
  stdout(): string;
  stderr(): string;
  /** Resolves once the process has ended and its output is read. */
  ended: Promise<Outcome>;
}

/** The configuration that a child must not inherit from whoever runs the tests. */
const configuration = [
  'PORT',
  'HOST',
  'HTTP_THREADS',
  'DATA_DIR',
  'MONGODB_URI',
  'MONGODB_TEST_URI',
  'LOG_LEVEL',
  'BANK',
  'SANDBOX_DELAY_MS',
  'ALLOW_PRIVATE_WEBHOOKS',
  'TRUSTED_PROXY_HOPS',
  'CHARGE_EXPIRY_S',
  'STUCK_AFTER_S',
  'BANK_CALLBACK_SECRET',
  'SECRETS_KEY',
  'ADMIN_PORT',
  'ADMIN_HOST',
  'CONSOLE',
  'CONSOLE_ORIGIN',
  'CONSOLE_PROXY',
  'CONSOLE_USER_HEADER',
  'CONSOLE_GROUPS_HEADER',
  'CONSOLE_OPERATORS',
  'WEBHOOK_RETRY_SCALE',
  'FORCE_COLOR',
];

const alive = new Set<ChildProcess>();
atEnd(() => {
  for (const child of alive) child.kill('SIGKILL');
});

function childEnv(env: Env): NodeJS.ProcessEnv {
  const inherited = { ...process.env };
  for (const name of configuration) delete inherited[name];
  // A thread more for each of the servers that run beside each other: the console's own tests turn it on.
  return { ...inherited, CONSOLE: 'off', ...env };
}

/** Starts `node args...` in the package's root; it ends with this process at the latest. */
export function spawnNode(args: string[], env: Env): Spawned {
  return spawnProgram(process.execPath, args, env);
}

/** Starts any program as `spawnNode` does. */
export function spawnProgram(program: string, args: string[], env: Env): Spawned {
  const started = performance.now();
  const child = spawn(program, args, {
    cwd: packageRoot,
    env: childEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  alive.add(child);
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', (error) => {
      alive.delete(child);
      reject(error);
    });
    child.once('close', (code, signal) => {
      alive.delete(child);
      resolve({ code, signal, stdout: out, stderr: err, elapsedMs: performance.now() - started });
    });
  });
  return { child, pid: child.pid ?? -1, stdout: () => out, stderr: () => err, ended };
}

/** Resolves with the outcome, or kills the process after `timeoutMs` and throws. */
export async function endWithin(spawned: Spawned, timeoutMs: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeoutMs);
  });
  const outcome = await Promise.race([spawned.ended, tooLate]);
  clearTimeout(timer);
  if (outcome !== 'late') return outcome;
  spawned.child.kill('SIGKILL');
  await spawned.ended;
  throw new Error(`process still ran after ${timeoutMs} ms: ${spawned.stderr()}`);
}

/** A new temporary folder. */
export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'pixstate-test-'));
}
