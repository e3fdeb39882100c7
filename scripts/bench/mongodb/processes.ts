/** Two servers on one database, with accounts kept to one of them and without, against one server. */

import { ACCOUNTS, CLIENTS, MANY_CLIENTS } from '../options.ts';
import { stop } from '../processes.ts';
import type { Ground, Row } from '../row.ts';
import { accounts, type Order, type Server, serve } from '../server.ts';
import type { MongodbServer } from './server.ts';
import { type Findings, otherAnswers, type Shown } from './tables.ts';
import { average, charges, groundOf, loadRow, lookBack, ratio, warmUp } from './work.ts';

const LOADS = [
  { on: `${ACCOUNTS} accounts`, hot: false, clients: CLIENTS },
  { on: `${ACCOUNTS} accounts`, hot: false, clients: MANY_CLIENTS },
  { on: 'one account', hot: true, clients: CLIENTS },
] as const;

type Rows = Row[];

/** One row for each load. */
async function rowsOf(
  ground: Ground,
  how: string,
  servers: readonly Server[],
  credentials: string[],
  order: Pick<Order, 'routing' | 'seed'>,
): Promise<Rows> {
  const common = { ...charges(servers, credentials), ...order };
  await warmUp({ ...common, clients: CLIENTS });
  const rows: Rows = [];
  for (const [index, { on, hot, clients }] of LOADS.entries()) {
    // One account kept to its process leaves the other one idle: that is one process.
    if (hot && servers.length > 1 && order.routing === 'account') continue;
    const own = hot ? credentials.slice(0, 1) : credentials;
    const name = `${how}: POST /pix-in, ${on}, ${clients} clients`;
    rows.push(
      await loadRow(ground, name, servers, {
        ...common,
        credentials: own,
        clients,
        seed: order.seed + 1 + index,
      }),
    );
  }
  return rows;
}

/** Measures: one server, two in both ways, and one again, since a database that grows gets slower. */
export async function processesPhase(mongodb: MongodbServer): Promise<Findings> {
  const database = mongodb.database();
  const ground = groundOf(mongodb, database);
  const credentials = await accounts(database.env, ACCOUNTS);
  const first = await serve(database.env);
  const one = await rowsOf(ground, 'one process', [first], credentials, { routing: 'account', seed: 10 });
  const second = await serve(database.env);
  const both = [first, second];
  const kept = await rowsOf(ground, 'two, accounts kept', both, credentials, {
    routing: 'account',
    seed: 20,
  });
  const any = await rowsOf(ground, 'two, at random', both, credentials, { routing: 'random', seed: 30 });
  await stop(second.child);
  const again = await rowsOf(ground, 'one process, again', [first], credentials, {
    routing: 'account',
    seed: 40,
  });
  await stop(first.child);
  const base = one.map(({ rate }, index) => average([rate, again[index]?.rate ?? rate]));
  const against = (rows: Rows): Shown[] =>
    rows.map((row, index) => ({ row, ratio: `${ratio(row.rate, base[index] ?? 0)} of one process` }));
  const told = (rows: Rows, wanted: string): string[] =>
    rows.map((row, index) => {
      const loss = (1 - row.rate / (base[index] ?? 0)) * 100;
      const others = otherAnswers(row);
      return `${row.name}: ${loss.toFixed(0)} % lost against one process (${wanted}), ${others === '' ? 'no answer but 201' : others}`;
    });
  const rows = [...one, ...kept, ...any, ...again];
  const sentences = [
    ...told(kept, 'wanted: at most 10 %'),
    ...told(any, 'to be stated'),
    ...(await lookBack(database, rows)),
  ];
  await database.drop();
  const plain = (own: Rows): Shown[] => own.map((row) => ({ row, ratio: '' }));
  return { rows: [...plain(one), ...plain(again), ...against(kept), ...against(any)], sentences };
}
