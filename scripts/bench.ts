/**
 * `npm run bench [-- --requests N] [-- --clients N]`: what a request costs, in one run, with durable writes.
 *
 * The load generator, the receiver and the server share this machine's cores, so rates are of the three
 * together; ratios to bare Koa are of one run. What it does not measure: a network, TLS, a disk under other
 * load, receivers that are slow, data that doesn't fit into memory.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTables } from '../src/store/lmdb-tables.ts';
import type { LoadOrder, LoadResult } from './bench/load.ts';

const option = (name: string, otherwise: number): number => {
  const index = process.argv.indexOf(name);
  return index < 0 ? otherwise : Number(process.argv[index + 1]);
};

const CLIENTS = option('--clients', 64);
const REQUESTS = option('--requests', 40_000);
const LIFECYCLES = option('--lifecycles', 20_000);
const ACCOUNTS = 256;
const children = new Set<ChildProcess>();

function start(command: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once('exit', (code) => reject(new Error(`a process ended with ${code}`)));
  });
}

function output(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.once('close', () => resolve(text));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function load(order: Omit<LoadOrder, 'clients' | 'path'>): Promise<LoadResult> {
  const full: LoadOrder = { ...order, clients: CLIENTS, path: `/v1/${order.kind}` };
  return JSON.parse(await output(start(['--import', 'tsx', 'scripts/bench/load.ts', JSON.stringify(full)])));
}

/** CPU seconds by thread name since the process began (proc(5)); empty where there is no /proc. */
function cpuByThread(pid: number | undefined): Record<string, number> {
  const seconds: Record<string, number> = {};
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const name = Number(thread) === pid ? 'main' : stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      seconds[name] = (seconds[name] ?? 0) + (Number(fields[11]) + Number(fields[12])) / 100;
    }
  } catch {
    return {};
  }
  return seconds;
}

/** Bytes handed to the kernel: LMDB's pages, and the answers. */
function writtenBytes(pid: number | undefined): number {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Memory that is the process's own: the pages of LMDB's map are the kernel's cache. */
function memoryMb(pid: number | undefined): number {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** Keys in the store, and the bytes of their values. */
function contents(folder: string): { keys: number; bytes: number } {
  const { root, ...tables } = openTables(folder);
  const sum = { keys: 0, bytes: 0 };
  for (const table of Object.values(tables)) {
    for (const { value } of table.getRange()) {
      sum.keys += 1;
      sum.bytes += String(value).length;
    }
  }
  root.resetReadTxn();
  return sum;
}

function cli(folder: string, args: string[]): { accounts: { clientId: string; clientSecret: string }[] } {
  const env = { ...process.env, DATA_DIR: folder };
  return JSON.parse(
    execFileSync(process.execPath, ['dist/src/cli/pixstate.js', ...args, '--json'], {
      env,
      maxBuffer: 2 ** 26,
    }).toString(),
  );
}

function accounts(folder: string, count: number, more: string[] = []): string[] {
  const args = ['account', 'create', '--count', String(count), '--balance', '900000000000', ...more];
  return cli(folder, args).accounts.map(({ clientId, clientSecret }) => `${clientId}:${clientSecret}`);
}

async function serve(folder: string): Promise<{ child: ChildProcess; port: number }> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = start(['--max-semi-space-size=64', 'dist/src/main.js'], {
    DATA_DIR: folder,
    PORT: String(port),
    LOG_LEVEL: 'warn',
    SANDBOX_DELAY_MS: '100',
  });
  for (let attempt = 0; attempt < 200; attempt++) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/readyz`)).ok) return { child, port };
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the server is not ready');
}

const rows: string[][] = [
  [
    'variant',
    'rate/s',
    'p50 ms',
    'p99 ms',
    'worst ms',
    'of bare Koa',
    'CPU us by thread',
    'keys',
    'value bytes',
    'bytes to disk',
  ],
];
let bareRate = 0;

function report(name: string, result: LoadResult, more: string[] = []): void {
  const bad = Object.entries(result.statuses).filter(([status]) => status !== '201');
  const ratio = bareRate === 0 ? '' : (result.rate / bareRate).toFixed(2);
  rows.push([
    name,
    result.rate.toFixed(0),
    result.p50.toFixed(1),
    result.p99.toFixed(1),
    result.worst.toFixed(1),
    ratio,
    ...more,
  ]);
  if (bad.length > 0) console.log(`${name}: other answers ${JSON.stringify(Object.fromEntries(bad))}`);
}

/** CPU microseconds a request, by thread. */
function cpuSince(pid: number | undefined, before: Record<string, number>, requests: number): string {
  return Object.entries(cpuByThread(pid))
    .map(([thread, seconds]) => [thread, ((seconds - (before[thread] ?? 0)) * 1e6) / requests] as const)
    .filter(([, us]) => us >= 1)
    .map(([thread, us]) => `${thread} ${us.toFixed(0)}`)
    .join(', ');
}

async function measured(
  name: string,
  server: { child: ChildProcess; port: number },
  folder: string,
  order: Omit<LoadOrder, 'clients' | 'path' | 'port'>,
): Promise<LoadResult> {
  const { pid } = server.child;
  const [cpu, disk, before] = [cpuByThread(pid), writtenBytes(pid), contents(folder)];
  const result = await load({ ...order, port: server.port });
  const threads = cpuSince(pid, cpu, order.requests);
  const perRequest = (value: number): string => (value / order.requests).toFixed(1);
  const wrote = writtenBytes(pid) - disk;
  const stored = contents(folder);
  const costs = [stored.keys - before.keys, stored.bytes - before.bytes, wrote].map(perRequest);
  report(name, result, [threads, ...costs]);
  return result;
}

async function lifecycle(
  server: { port: number },
  folder: string,
  kind: 'pix-in' | 'cashout',
  events: number,
): Promise<void> {
  const receiver = start(['--import', 'tsx', 'scripts/bench/receiver.ts']);
  const port = await firstLine(receiver);
  const credentials = accounts(folder, ACCOUNTS, ['--webhook-url', `http://127.0.0.1:${port}/hook`]);
  const started = Date.now();
  const result = await load({
    port: server.port,
    credentials,
    kind,
    amount: 1001,
    requests: LIFECYCLES,
    seed: started,
  });
  const wanted = LIFECYCLES * events;
  let seen = { count: 0, last: 0 };
  for (let waited = 0; waited < 600 && seen.count < wanted; waited++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    seen = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as typeof seen;
  }
  const seconds = (seen.last - started) / 1000;
  const rate = (LIFECYCLES * Math.min(1, seen.count / wanted)) / seconds;
  console.log(
    `lifecycle of ${kind}: ${rate.toFixed(0)}/s (${LIFECYCLES} created at ${result.rate.toFixed(0)}/s, ${seen.count} of ${wanted} events delivered within ${seconds.toFixed(1)} s)`,
  );
  await stop(receiver);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pixstate-bench-'));
  try {
    const bare = start(['--max-semi-space-size=64', '--import', 'tsx', 'scripts/bench/bare.ts']);
    const barePort = Number(await firstLine(bare));
    const yardstick = {
      port: barePort,
      credentials: ['a:b'],
      kind: 'pix-in',
      amount: 1000,
      seed: 1,
    } as const;
    await load({ ...yardstick, credentials: ['a:b'], requests: REQUESTS / 4 });
    const before = cpuByThread(bare.pid);
    const bareResult = await load({ ...yardstick, credentials: ['a:b'], requests: REQUESTS });
    bareRate = bareResult.rate;
    report('bare Koa', bareResult, [cpuSince(bare.pid, before, REQUESTS)]);
    await stop(bare);

    const spread = accounts(folder, ACCOUNTS);
    const server = await serve(folder);
    const order = { amount: 1000, requests: REQUESTS, seed: 1 };
    await load({
      ...order,
      port: server.port,
      kind: 'pix-in',
      credentials: spread,
      requests: REQUESTS / 4,
      seed: 0,
    });
    const memory = [memoryMb(server.child.pid)];
    await measured(`POST /pix-in, ${ACCOUNTS} accounts`, server, folder, {
      ...order,
      kind: 'pix-in',
      credentials: spread,
    });
    await measured('POST /pix-in, one account', server, folder, {
      ...order,
      kind: 'pix-in',
      credentials: spread.slice(0, 1),
      seed: 2,
    });
    memory.push(memoryMb(server.child.pid));
    await measured(`POST /cashout, ${ACCOUNTS} accounts`, server, folder, {
      ...order,
      kind: 'cashout',
      amount: 1007,
      credentials: spread,
      seed: 3,
    });
    await measured('POST /cashout, one account', server, folder, {
      ...order,
      kind: 'cashout',
      amount: 1007,
      credentials: spread.slice(0, 1),
      seed: 4,
    });
    memory.push(memoryMb(server.child.pid));
    await lifecycle(server, folder, 'pix-in', 2);
    await lifecycle(server, folder, 'cashout', 3);
    memory.push(memoryMb(server.child.pid));
    await stop(server.child);

    const widths = rows.reduce(
      (all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, cell.length)),
      [] as number[],
    );
    for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
    console.log(
      `memory of the server without LMDB's map, MB: ${memory.map((mb) => mb.toFixed(0)).join(', ')} (after warm-up, charges, cashouts, lifecycles)`,
    );
    console.log(
      `Node ${process.version}, ${availableParallelism()} cores, ${CLIENTS} clients, ${REQUESTS} requests a row`,
    );
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
process.exit();
