/** The server and the commands beside it, as a run starts them, and the load that it puts on them. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../mongod/ports.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { nextLine, output, start, stop } from './processes.ts';

export interface Server {
  child: ChildProcess;
  pid: number;
  port: number;
  /** From the start of the process until it was ready, in steps of LOOK_MS. */
  readyMs: number;
}

const LOOK_MS = 10;
const READY_MS = 120_000;

/** What makes commands and servers work on one store: the environment that names it. */
export type StoreEnv = Record<string, string>;

export function folderEnv(folder: string): StoreEnv {
  return { DATA_DIR: folder, MONGODB_URI: '' };
}

/** The folder of the build that a run is of. */
export const THIS_BUILD = '.';

/** Runs a build's command to its end: what it printed as JSON. */
export async function cli(env: StoreEnv, args: string[], build = THIS_BUILD): Promise<unknown> {
  const text = await output(start(['dist/src/cli/pixstate.js', ...args, '--json'], env, build));
  if (text === '') throw new Error(`pixstate ${args.join(' ')} failed`);
  return JSON.parse(text);
}

/** Accounts that one command makes: more at a time would wait too long for a busy database. */
const TOGETHER = 64;

/** `clientId:clientSecret` of new accounts with a balance. */
export async function accounts(
  env: StoreEnv,
  count: number,
  more: string[] = [],
  build = THIS_BUILD,
): Promise<string[]> {
  const credentials: string[] = [];
  while (credentials.length < count) {
    const wanted = String(Math.min(TOGETHER, count - credentials.length));
    const args = ['account', 'create', '--count', wanted, '--balance', '900000000000', ...more];
    const made = (await cli(env, args, build)) as { accounts?: { clientId: string; clientSecret: string }[] };
    if (made.accounts === undefined) throw new Error(`no accounts were made: ${JSON.stringify(made)}`);
    credentials.push(...made.accounts.map(({ clientId, clientSecret }) => `${clientId}:${clientSecret}`));
  }
  return credentials;
}

/** What a build's `npm start` gives node; on MongoDB it is something else. */
export function nodeFlags({ MONGODB_URI = '' }: StoreEnv = {}, build = THIS_BUILD): string[] {
  const text = readFileSync(join(build, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: { start: string } };
  const [, flags = ''] = /exec node (.*?)\s*dist\/src\/main\.js/.exec(scripts.start) ?? [];
  const told = execFileSync('/bin/sh', ['-c', `echo ${flags}`], { env: { MONGODB_URI }, encoding: 'utf8' });
  return told.split(/\s+/).filter((flag) => flag !== '');
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    // Not listening yet.
    return false;
  }
}

/** Null where it ended instead, or isn't ready in two minutes. */
async function tryServe(env: StoreEnv, build: string): Promise<Server | null> {
  const port = await freePort();
  const settings = { PORT: String(port), LOG_LEVEL: 'error', SANDBOX_DELAY_MS: '100', CONSOLE: 'off' };
  const startedAt = performance.now();
  const child = start([...nodeFlags(env, build), 'dist/src/main.js'], { ...settings, ...env }, build);
  child.stdout?.resume();
  const elapsed = (): number => performance.now() - startedAt;
  while (elapsed() < READY_MS && child.exitCode === null) {
    if (await isReady(port)) return { child, pid: child.pid ?? 0, port, readyMs: elapsed() };
    await delay(LOOK_MS);
  }
  await stop(child);
  return null;
}

/** Starts a build's server and waits until it is ready. */
export async function serve(env: StoreEnv, build = THIS_BUILD): Promise<Server> {
  // A port that was free a moment ago may be another's by now.
  const server = (await tryServe(env, build)) ?? (await tryServe(env, build));
  if (server === null) throw new Error('the server is not ready');
  return server;
}

const LOAD_MS = 600_000;

export type Order = Omit<LoadOrder, 'path'>;

/** Runs the load generator. @throws where it fails, or the servers don't answer all in ten minutes. */
export async function load(order: Order): Promise<LoadResult> {
  const full: LoadOrder = { ...order, path: `/v1/${order.kind}` };
  const child = start(['--import', 'tsx', 'scripts/bench/load.ts', JSON.stringify(full)]);
  const late = setTimeout(() => child.kill('SIGKILL'), LOAD_MS);
  const text = await output(child);
  clearTimeout(late);
  if (text === '') throw new Error('the load generator failed, or took too long');
  return JSON.parse(text);
}

/** What a receiver has got. */
export interface Seen {
  /** Events, each counted once however often it came. */
  count: number;
  /** Requests with an event that had come before. */
  again: number;
  /** When the last one came, ms since 1970. */
  last: number;
}

/** A receiver of webhooks. */
export interface Receiver {
  url: string;
  seen(): Promise<Seen>;
  stop(): Promise<void>;
}

/** Starts one that answers at once, or one that hangs. */
export async function startReceiver(manner: 'answers' | 'hang' = 'answers'): Promise<Receiver> {
  const child = start(['--import', 'tsx', 'scripts/bench/receiver.ts', manner]);
  const root = `http://127.0.0.1:${await nextLine(child)}/`;
  return {
    url: `${root}hook`,
    seen: async () => (await (await fetch(root)).json()) as Seen,
    stop: () => stop(child),
  };
}
