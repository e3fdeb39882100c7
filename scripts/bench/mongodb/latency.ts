/** The same load with a longer way to the database: a TCP proxy in a process of its own, which costs CPU as well. */
import type { ChildProcess } from 'node:child_process';
import { MongoClient } from 'mongodb';
import { ACCOUNTS, LATENCY_MS, MANY_CLIENTS } from '../options.ts';
import { nextLine, start, stop } from '../processes.ts';
import type { Ground, Row } from '../row.ts';
import { accounts, serve } from '../server.ts';
import type { Database, MongodbServer } from './server.ts';
import type { Findings } from './tables.ts';
import { charges, groundOf, loadRow, lookBack, ratio, warmUp } from './work.ts';

const PINGS = 200;

async function setLatency(proxy: ChildProcess, ms: number): Promise<void> {
  const answer = nextLine(proxy);
  proxy.stdin?.write(`${ms}\n`);
  await answer;
}

/** Milliseconds of a round trip, the median. */
async function roundTrip({ uri }: Database): Promise<number> {
  const client = new MongoClient(uri);
  try {
    const times: number[] = [];
    for (let ping = 0; ping < PINGS; ping++) {
      const started = performance.now();
      await client.db('admin').command({ ping: 1 });
      times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[PINGS / 2] ?? 0;
  } finally {
    await client.close();
  }
}

interface Way {
  name: string;
  database: Database;
  /** Before the load. */
  prepare(): Promise<void>;
}

/** One row a way; the server is another one where the database's address is. */
async function rowsOf(ground: Ground, ways: readonly Way[], credentials: string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [index, { name, database, prepare }] of ways.entries()) {
    await prepare();
    const server = await serve(database.env);
    const order = { ...charges([server], credentials), clients: MANY_CLIENTS };
    await warmUp({ ...order, seed: 50 + 2 * index });
    const row = await loadRow(
      ground,
      `${name}: POST /pix-in, ${ACCOUNTS} accounts, ${MANY_CLIENTS} clients`,
      [server],
      {
        ...order,
        seed: 51 + 2 * index,
      },
    );
    rows.push({ ...row, note: `round trip ${(await roundTrip(database)).toFixed(2)} ms` });
    await stop(server.child);
  }
  return rows;
}

/** Measures without the proxy, with it, and with its delay. */
export async function latencyPhase(mongodb: MongodbServer): Promise<Findings> {
  if (mongodb.port === null)
    return { rows: [], sentences: ['not measured: the proxy leads only to a server on this machine'] };
  const database = mongodb.database();
  const proxy = start(['--import', 'tsx', 'scripts/bench/proxy.ts', String(mongodb.port)]);
  const proxied = mongodb.over(database, Number(await nextLine(proxy)));
  const credentials = await accounts(database.env, ACCOUNTS);
  const ways: Way[] = [
    { name: 'no proxy', database: mongodb.over(database, mongodb.port), prepare: async () => {} },
    { name: 'proxy', database: proxied, prepare: () => setLatency(proxy, 0) },
    { name: `proxy, ${LATENCY_MS} ms`, database: proxied, prepare: () => setLatency(proxy, LATENCY_MS) },
  ];
  const rows = await rowsOf(groundOf(mongodb, database), ways, credentials);
  await stop(proxy);
  const [plain, fair, long] = rows.map(({ rate }) => rate);
  const sentences = [
    `a round trip that is ${LATENCY_MS} ms longer: ${ratio(long ?? 0, fair ?? 0)} of the rate through the same proxy without delay (wanted: more than 0.5), ${ratio(long ?? 0, plain ?? 0)} of the rate without a proxy`,
    ...(await lookBack(database, rows)),
  ];
  await database.drop();
  const against = ['', ratio(fair ?? 0, plain ?? 0), ratio(long ?? 0, fair ?? 0)];
  const texts = ['', ' of no proxy', ' of proxy'];
  return {
    rows: rows.map((row, index) => ({ row, ratio: `${against[index]}${texts[index]}` })),
    sentences,
  };
}
