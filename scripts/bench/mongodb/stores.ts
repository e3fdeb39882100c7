/** The same rows on the embedded store and on MongoDB, one server each. */

import { EVENTS } from '../lifecycle.ts';
import { ACCOUNTS, CLIENTS, LIFECYCLES, MANY_CLIENTS, REQUESTS } from '../options.ts';
import { stop, temporaryFolder } from '../processes.ts';
import type { Ground, Row } from '../row.ts';
import { accounts, folderEnv, type Server, type StoreEnv, serve, startReceiver } from '../server.ts';
import type { MongodbServer } from './server.ts';
import { type Findings, groupsOf } from './tables.ts';
import { charges, groundOf, idleRow, lifecycleRow, loadRow, lookBack, ratio, warmUp } from './work.ts';

/** The sandbox pays and completes what ends so. */
const FINISHED = 1001;

const CREATES = [
  { kind: 'pix-in', spread: true, clients: CLIENTS },
  { kind: 'pix-in', spread: true, clients: MANY_CLIENTS },
  { kind: 'pix-in', spread: false, clients: CLIENTS },
  { kind: 'cashout', spread: true, clients: CLIENTS },
  { kind: 'cashout', spread: false, clients: CLIENTS },
] as const;

async function creates(ground: Ground, store: string, server: Server, credentials: string[]): Promise<Row[]> {
  const order = charges([server], credentials);
  await warmUp({ ...order, clients: CLIENTS, seed: 0 });
  const rows: Row[] = [];
  for (const [index, { kind, spread, clients }] of CREATES.entries()) {
    const own = spread ? credentials : credentials.slice(0, 1);
    const on = spread ? `${ACCOUNTS} accounts` : 'one account';
    const amount = kind === 'pix-in' ? 1000 : 1007;
    const name = `${store}: POST /${kind}, ${on}, ${clients} clients`;
    rows.push(
      await loadRow(ground, name, [server], {
        ...order,
        kind,
        amount,
        credentials: own,
        clients,
        seed: 1 + index,
      }),
    );
  }
  return rows;
}

async function lifecycleRows(ground: Ground, store: string, server: Server, env: StoreEnv): Promise<Row[]> {
  const receiver = await startReceiver();
  const credentials = await accounts(env, ACCOUNTS, ['--webhook-url', receiver.url]);
  const rows: Row[] = [];
  for (const kind of ['pix-in', 'cashout'] as const) {
    const order = { ...charges([server], credentials), kind, amount: FINISHED, requests: LIFECYCLES };
    const clients = { clients: CLIENTS, seed: 101 };
    const name = `${store}: lifecycle of ${kind}, ${CLIENTS} clients`;
    rows.push(await lifecycleRow(ground, name, server, { ...order, ...clients }, EVENTS[kind], receiver));
  }
  await receiver.stop();
  return rows;
}

async function onStore(ground: Ground, store: string, env: StoreEnv): Promise<Row[]> {
  const credentials = await accounts(env, ACCOUNTS);
  const server = await serve(env);
  const rows = await creates(ground, store, server, credentials);
  rows.push(...(await lifecycleRows(ground, store, server, env)));
  rows.push(await idleRow(ground, `${store}: idle`, [server]));
  await stop(server.child);
  return rows;
}

/** Finds and writes a group, whatever runs beside each other, without what an idle server does in the time. */
function groupText({ name, requests, rate, mongodb }: Row, idle: Row | undefined): string[] {
  if (mongodb === null || idle?.mongodb == null) return [];
  const seconds = requests / rate;
  const background = idle.mongodb.counted.commands;
  const each = (...commands: ('find' | 'insert' | 'update')[]): string => {
    const counts = commands.map(
      (command) => mongodb.counted.commands[command] - (background[command] * seconds) / idle.requests,
    );
    return (counts.reduce((sum, count) => sum + count, 0) / groupsOf(mongodb)).toFixed(2);
  };
  const found = `${each('find')} finds and ${each('insert', 'update')} writes`;
  return [`${name}: a group takes ${found} beside the background's (wanted: 1 and at most 3 in a row)`];
}

/** Measures both stores. */
export async function storesPhase(mongodb: MongodbServer): Promise<Findings> {
  const embedded = await onStore(
    { mongodPid: undefined, meter: null },
    'embedded',
    folderEnv(temporaryFolder()),
  );
  const database = mongodb.database();
  const rows = await onStore(groundOf(mongodb, database), 'MongoDB', database.env);
  const of = (index: number): string => ratio(rows[index]?.rate ?? 0, embedded[index]?.rate ?? 0);
  const hot = ratio(rows[2]?.rate ?? 0, rows[0]?.rate ?? 0);
  const sentences = [
    `${CLIENTS} clients on ${ACCOUNTS} accounts: ${of(0)} of the embedded store's rate (wanted: 0.4)`,
    `${MANY_CLIENTS} clients on ${ACCOUNTS} accounts: ${of(1)} of the embedded store's rate (wanted: 0.6)`,
    `one hot account: ${hot} of the spread's rate (wanted: 0.75)`,
    ...rows.slice(0, CREATES.length).flatMap((row) => groupText(row, rows.at(-1))),
    ...(await lookBack(database, rows)),
    `requests a row: ${REQUESTS}; lifecycles: ${LIFECYCLES}`,
  ];
  await database.drop();
  const shown = rows.map((row, index) => ({
    row,
    ratio: row.result === null ? '' : `${of(index)} of embedded`,
  }));
  return { rows: [...embedded.map((row) => ({ row, ratio: '' })), ...shown], sentences };
}
