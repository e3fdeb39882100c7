/** The embedded store against bare Koa. */
import { availableParallelism } from 'node:os';
import { closeTables, openTables } from '../../src/store/lmdb/tables.ts';
import { lifecycles, lifecycleText } from './lifecycle.ts';
import type { LoadResult } from './load.ts';
import { ACCOUNTS, CLIENTS, LIFECYCLES, REQUESTS } from './options.ts';
import { nextLine, start, stop, temporaryFolder } from './processes.ts';
import { accounts, folderEnv, load, type Order, type Server, serve, startReceiver } from './server.ts';
import { printTable } from './table.ts';
import { cpuByThread, cpuSince, memoryMb, writtenBytes } from './usage.ts';

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

/** Keys in the store, and the bytes of their values. */
async function contents(folder: string): Promise<{ keys: number; bytes: number }> {
  const opened = await openTables(folder);
  const { root: _root, gate: _gate, listed, ...others } = opened;
  const tables = [...Object.values(listed), ...Object.values(others)];
  const sum = { keys: 0, bytes: 0 };
  for (const table of tables) {
    for (const { value } of table.getRange()) {
      sum.keys += 1;
      sum.bytes += String(value).length;
    }
  }
  await closeTables(opened);
  return sum;
}

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

async function measured(name: string, server: Server, folder: string, order: Order): Promise<void> {
  const { pid } = server.child;
  const [cpu, disk, before] = [cpuByThread(pid), writtenBytes(pid), await contents(folder)];
  const result = await load(order);
  const threads = cpuSince(pid, cpu, order.requests);
  const perRequest = (value: number): string => (value / order.requests).toFixed(1);
  const wrote = writtenBytes(pid) - disk;
  const stored = await contents(folder);
  const costs = [stored.keys - before.keys, stored.bytes - before.bytes, wrote].map(perRequest);
  report(name, result, [threads, ...costs]);
}

async function yardstick(): Promise<void> {
  const bare = start(['--max-semi-space-size=64', '--import', 'tsx', 'scripts/bench/bare.ts']);
  const ports = [Number(await nextLine(bare))];
  const order: Order = {
    ports,
    routing: 'account',
    clients: CLIENTS,
    credentials: ['a:b'],
    kind: 'pix-in',
    amount: 1000,
    seed: 1,
    requests: REQUESTS,
  };
  await load({ ...order, requests: REQUESTS / 4 });
  const before = cpuByThread(bare.pid);
  const result = await load(order);
  bareRate = result.rate;
  report('bare Koa', result, [cpuSince(bare.pid, before, REQUESTS)]);
  await stop(bare);
}

async function creates(server: Server, folder: string, spread: string[], memory: number[]): Promise<void> {
  const one = spread.slice(0, 1);
  const common = { ports: [server.port], routing: 'account', clients: CLIENTS, requests: REQUESTS } as const;
  const charge = { ...common, kind: 'pix-in', amount: 1000, credentials: spread } as const;
  const transfer = { ...common, kind: 'cashout', amount: 1007, credentials: spread } as const;
  await load({ ...charge, requests: REQUESTS / 4, seed: 0 });
  memory.push(memoryMb(server.child.pid));
  await measured(`POST /pix-in, ${ACCOUNTS} accounts`, server, folder, { ...charge, seed: 1 });
  await measured('POST /pix-in, one account', server, folder, { ...charge, credentials: one, seed: 2 });
  memory.push(memoryMb(server.child.pid));
  await measured(`POST /cashout, ${ACCOUNTS} accounts`, server, folder, { ...transfer, seed: 3 });
  await measured('POST /cashout, one account', server, folder, { ...transfer, credentials: one, seed: 4 });
  memory.push(memoryMb(server.child.pid));
}

async function lifecycle(server: Server, folder: string, kind: Order['kind'], events: number): Promise<void> {
  const receiver = await startReceiver();
  const credentials = await accounts(folderEnv(folder), ACCOUNTS, ['--webhook-url', receiver.url]);
  const order: Order = {
    ports: [server.port],
    routing: 'account',
    clients: CLIENTS,
    credentials,
    kind,
    amount: 1001,
    requests: LIFECYCLES,
    seed: Date.now(),
  };
  console.log(lifecycleText(kind, LIFECYCLES, await lifecycles(order, events, receiver)));
  await receiver.stop();
}

/** Measures and prints. */
export async function embeddedBench(): Promise<void> {
  const folder = temporaryFolder();
  const memory: number[] = [];
  await yardstick();
  const spread = await accounts(folderEnv(folder), ACCOUNTS);
  const server = await serve(folderEnv(folder));
  await creates(server, folder, spread, memory);
  await lifecycle(server, folder, 'pix-in', 2);
  await lifecycle(server, folder, 'cashout', 3);
  memory.push(memoryMb(server.child.pid));
  await stop(server.child);
  printTable(rows);
  console.log(
    `memory of the server without LMDB's map, MB: ${memory.map((mb) => mb.toFixed(0)).join(', ')} (after warm-up, charges, cashouts, lifecycles)`,
  );
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores, ${CLIENTS} clients, ${REQUESTS} requests a row`,
  );
}
