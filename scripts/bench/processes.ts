/**
 * Owns everything that a run starts: each thing is stopped at its end, the last one first, also on failure and
 * on Ctrl-C. Once that has begun, nothing more is started.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** How long what is stopped may take at the end. */
const CLOSE_MS = 15_000;

/** What those that the server is held against are started with: V8 does for them what it does for our server. */
export const NODE_FLAGS = ['--max-semi-space-size=32', '--no-allocation-site-pretenuring', '--import', 'tsx'];

const children = new Set<ChildProcess>();
const duties: (() => unknown)[] = [];
let interruptedBy: NodeJS.Signals | null = null;
let closing = false;

/** What is to be done at the end of the run. */
export function atClose(duty: () => unknown): void {
  duties.push(duty);
}

/** A folder that goes with the run. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pixstate-bench-'));
  atClose(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a program is started with, besides its arguments. */
export interface Start {
  env?: Record<string, string>;
  /** Where it runs; without it here. */
  cwd?: string;
  /** Whose process it is to be; without it this one's. */
  owner?: { uid: number; gid: number };
  /** A duty ends it at the close of the run; it isn't killed. */
  hasDuty?: true;
}

/** Starts a program, with its output to be read. */
export function startProgram(program: string, args: string[], options: Start = {}): ChildProcess {
  const { env, cwd, owner, hasDuty = false } = options;
  if (closing) throw new Error('the run ends');
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...owner,
  });
  if (hasDuty) return child;
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

/** Starts `node command...`, with its output to be read. */
export function start(command: string[], env: Record<string, string> = {}, cwd = '.'): ChildProcess {
  return startProgram(process.execPath, command, { env, cwd });
}

/** Of the children that run now. */
export function childPids(): number[] {
  return [...children].flatMap(({ pid }) => pid ?? []);
}

/** The next line that a child prints, where it prints one at a time. */
export function nextLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a process ended with ${code}`));
    child.once('exit', ended);
    child.stdout?.once('data', (chunk: Buffer) => {
      child.removeListener('exit', ended);
      resolve(chunk.toString().trim());
    });
  });
}

/** All that a child prints. */
export function output(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.once('close', () => resolve(text));
  });
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function close(): Promise<void> {
  closing = true;
  const late = setTimeout(() => process.exit(1), CLOSE_MS);
  for (const child of children) child.kill('SIGKILL');
  for (const duty of duties.splice(0).reverse()) {
    try {
      await duty();
    } catch (error) {
      process.stderr.write(`not all is cleaned up: ${String(error)}\n`);
    }
  }
  clearTimeout(late);
}

/** Does the work, stops what it has left, and ends this process. */
export async function runToEnd(work: () => Promise<void>): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        interruptedBy ??= signal;
        reject(new Error(signal));
      });
    }
  });
  let code = 0;
  try {
    await Promise.race([work(), interrupted]);
  } catch (error) {
    code = 1;
    // A terminal's Ctrl-C reaches the children as well: their end may be seen before the signal is.
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (interruptedBy === null) console.error(error);
  }
  await close();
  // A bench that has measured more than is allowed has said so.
  const status = code || Number(process.exitCode ?? 0);
  process.exit(interruptedBy === null ? status : 128 + constants.signals[interruptedBy]);
}
