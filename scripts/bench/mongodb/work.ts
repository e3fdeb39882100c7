/** What phases have in common: loads as rows, and the look at what they left. */
import { setTimeout as delay } from 'node:timers/promises';
import { lifecycles } from '../lifecycle.ts';
import type { LoadResult } from '../load.ts';
import { REQUESTS } from '../options.ts';
import { type Ground, type Measured, measure, type Row } from '../row.ts';
import { cli, load, type Order, type Receiver, type Server } from '../server.ts';
import { Meter } from './meter.ts';
import { type Database, type MongodbServer, nameOf } from './server.ts';

const IDLE_S = 5;

export function groundOf(mongodb: MongodbServer, database: Database): Ground {
  return { mongodPid: mongodb.pid, meter: new Meter(mongodb.client, nameOf(database)) };
}

/** Of charges, what the load generator needs beside the clients and the seed. */
export function charges(servers: readonly Server[], credentials: string[]) {
  const ports = servers.map(({ port }) => port);
  const common = { ports, credentials, routing: 'account', requests: REQUESTS } as const;
  return { ...common, kind: 'pix-in', amount: 1000 } as const;
}

/** Lets servers and database warm to the work. */
export async function warmUp(order: Order): Promise<void> {
  await load({ ...order, requests: Math.ceil(order.requests / 4) });
}

export function loadRow(
  ground: Ground,
  name: string,
  servers: readonly Server[],
  order: Order,
): Promise<Row> {
  return measure(ground, name, order.requests, servers, async (): Promise<Measured> => {
    const result = await load(order);
    return { rate: result.rate, result };
  });
}

export function lifecycleRow(
  ground: Ground,
  name: string,
  server: Server,
  order: Order,
  events: number,
  receiver: Receiver,
): Promise<Row> {
  return measure(ground, name, order.requests, [server], async (): Promise<Measured> => {
    const { rate, created, events: told } = await lifecycles(order, events, receiver);
    const missing = told.wanted - told.seen;
    const late = missing === 0 ? '' : `, ${missing} events missing`;
    const more = told.again === 0 ? '' : `, ${told.again} deliveries came again`;
    return { rate, result: created, note: `created at ${created.rate.toFixed(0)}/s${late}${more}` };
  });
}

/** What is done where nobody asks for anything. */
export function idleRow(ground: Ground, name: string, servers: readonly Server[]): Promise<Row> {
  return measure(ground, name, IDLE_S, servers, async () => {
    await delay(IDLE_S * 1000);
    return { rate: 0, result: null };
  });
}

function created({ statuses }: LoadResult): number {
  return statuses[201] ?? 0;
}

/** Whether each row left what was answered, and what `verify` says of it all. */
export async function lookBack(database: Database, rows: readonly Row[]): Promise<string[]> {
  const sentences: string[] = [];
  for (const { name, result, mongodb } of rows) {
    if (result === null || mongodb === null) continue;
    const stored = mongodb.stored.transactions?.documents ?? 0;
    if (stored === created(result)) continue;
    sentences.push(`${name}: ${created(result)} answered with 201, ${stored} transactions stored`);
  }
  const asked = rows.filter(({ result }) => result !== null).length;
  if (sentences.length === 0)
    sentences.push(`in all ${asked} rows each 201 left one transaction, and nothing else did`);
  const report = (await cli(database.env, ['verify'])) as {
    ok: boolean;
    accounts: number;
    batches: number;
    entries: number;
  };
  const counts = `${report.accounts} accounts, ${report.batches} batches, ${report.entries} entries`;
  sentences.push(`verify: ${report.ok ? 'ok' : 'NOT OK'}, ${counts}`);
  return sentences;
}

export function ratio(rate: number, base: number): string {
  return (rate / base).toFixed(2);
}

export function average(rates: readonly number[]): number {
  return rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
}
