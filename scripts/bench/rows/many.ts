/**
 * The row `many`: a store that holds many transactions. What a request takes there against an empty store, the memory
 * of the server while they came, and how long a start takes, after a clean end and after `kill -9` under load.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { generate, type Plan, type Shot } from '../generator.ts';
import type { Line } from '../line.ts';
import { setAgainst, warmRow } from '../measure.ts';
import { ACCOUNTS, CLIENTS, OPTIONS } from '../options.ts';
import { stop, temporaryFolder } from '../processes.ts';
import { accounts, folderEnv, load, type Server, type StoreEnv, serve } from '../server.ts';
import { creations, type RequestText, WAITS } from '../texts.ts';
import { memoryMb } from '../usage.ts';
import { samples } from './samples.ts';

const QUARTERS = 4;
/** Load before the kill. */
const LOADED_MS = 2_000;
const EMPTY = 'a store that was empty';

interface Requests {
  create: RequestText[];
  get: RequestText[];
}

/** The rows, and how many charges they have left in the store. */
async function requestRows(
  { create, get }: Requests,
  server: Server,
  where: string,
): Promise<{ lines: [Line, Line]; created: number }> {
  let created = 0;
  const counted = async (plan: Plan): Promise<Shot> => {
    const shot = await generate(plan);
    created += shot.answered - shot.refused;
    return shot;
  };
  const lines: [Line, Line] = [
    await warmRow(`POST /pix-in, ${where}`, server, create, counted),
    await warmRow(`GET /pix-in by id, ${where}`, server, get),
  ];
  return { lines, created };
}

/** Creates them, and tells the memory after each quarter. */
async function grow(server: Server, credentials: string[], name: string): Promise<Line> {
  const figures: Record<string, number> = { 'RssAnon MB, before': memoryMb(server.pid) };
  const requests = Math.ceil(OPTIONS.transactions / QUARTERS);
  const order = {
    ports: [server.port],
    routing: 'account',
    clients: CLIENTS,
    requests,
    credentials,
  } as const;
  for (let quarter = 1; quarter <= QUARTERS; quarter++) {
    process.stderr.write(`${quarter * requests} transactions\n`);
    const seed = OPTIONS.seed * 1000 + quarter;
    const { statuses } = await load({ ...order, kind: 'pix-in', amount: WAITS['pix-in'], seed: -seed });
    const created = statuses[201] ?? 0;
    if (created !== requests)
      throw new Error(`${requests - created} creations failed: ${JSON.stringify(statuses)}`);
    figures[`RssAnon MB, ${quarter} of ${QUARTERS}`] = memoryMb(server.pid);
  }
  return { name: `memory, ${name}`, figures, notes: [] };
}

function startLine(how: string, name: string, { readyMs }: Server): Line {
  return { name: `start ${how}, ${name}`, figures: { 'ready ms': readyMs }, notes: [] };
}

/** Ends the server in the middle of its work. */
async function killUnderLoad(server: Server, requests: readonly RequestText[]): Promise<void> {
  const seconds = Math.ceil(LOADED_MS / 1000) + 1;
  // The generator may fail with its server, or count what breaks.
  const load = generate({ port: server.port, requests, seconds }).catch(() => null);
  await delay(LOADED_MS);
  const ended = once(server.child, 'exit');
  server.child.kill('SIGKILL');
  await ended;
  await load;
}

async function starts(
  env: StoreEnv,
  first: Server,
  requests: readonly RequestText[],
  name: string,
): Promise<Line[]> {
  await stop(first.child);
  const clean = await serve(env);
  await killUnderLoad(clean, requests);
  const killed = await serve(env);
  await stop(killed.child);
  return [startLine('after a clean end', name, clean), startLine('after kill -9 under load', name, killed)];
}

export async function manyRows(): Promise<Line[]> {
  const name = `${OPTIONS.transactions} transactions`;
  const env = folderEnv(temporaryFolder());
  const credentials = await accounts(env, ACCOUNTS);
  const server = await serve(env);
  const create = creations('pix-in', credentials, WAITS['pix-in']);
  const get = (await samples(server.port, credentials))['/pix-in by id'] ?? [];
  // The first requests of a process cost more, which is no matter of the store: they are not counted.
  const warm = await requestRows({ create, get }, server, EMPTY);
  const { lines: empty, created } = await requestRows({ create, get }, server, EMPTY);
  for (const line of empty)
    line.notes.push(`${EMPTY}: ${warm.created + created} charges were in it by the end of its rows`);
  const memory = await grow(server, credentials, name);
  const { lines: full } = await requestRows({ create, get }, server, `${name} more`);
  for (const [index, line] of full.entries()) {
    const other = empty[index];
    if (other !== undefined) setAgainst(line, EMPTY, [other]);
  }
  return [...empty, ...full, memory, ...(await starts(env, server, create, name))];
}
