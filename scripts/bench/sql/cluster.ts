/**
 * A PostgreSQL cluster of a run's own: in a temporary folder, on a free port of loopback, durable as it comes
 * (`fsync`, `synchronous_commit` and `full_page_writes` on). It is stopped and removed at the end of the run at the
 * latest. PostgreSQL refuses to be root's: then it is the user `postgres`'s.
 */
import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../mongod/ports.ts';
import { atClose, NODE_FLAGS, nextLine, type Start, start, startProgram } from '../processes.ts';
import { findPostgresql } from '../tools.ts';

export interface Cluster {
  version: string;
  pid: number;
  port: number;
  /** Starts the rival's service on it. */
  serve(): Promise<{ child: ChildProcess; pid: number; port: number }>;
  stop(): Promise<void>;
}

const DATABASE = 'bench';
const READY_MS = 30_000;
/** A path of a socket holds no more. */
const LONGEST_SOCKET = 100;

/** What a team would set on a machine of its own; all that makes a commit durable stays on. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: '20',
  shared_buffers: '1GB',
  wal_buffers: '64MB',
  max_wal_size: '16GB',
  checkpoint_timeout: '30min',
  jit: 'off',
  // Of what it says, only why it can't start or go on.
  log_min_messages: 'fatal',
};
const DURABLE = ['fsync', 'synchronous_commit', 'full_page_writes'];

type Owner = { uid: number; gid: number };

/** Whose processes the cluster's are; undefined: this one's user's. */
function ownerOf(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string): number =>
    Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function runProgram(program: string, args: string[], by: Start): Promise<void> {
  const child = startProgram(program, args, by);
  child.stdout?.resume();
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}

async function connect(port: number, database: string): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database });
  // A connection that ends with its server is no error of the run.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The first connection that the server takes. */
async function connectOnceReady(child: ChildProcess, port: number): Promise<pg.Client> {
  const endsAt = performance.now() + READY_MS;
  for (;;) {
    try {
      return await connect(port, 'postgres');
    } catch (error) {
      if (child.exitCode !== null || performance.now() > endsAt) throw error;
      await delay(50);
    }
  }
}

/** Makes the rival's tables. @throws where a setting that makes commits durable is off; gives the version. */
async function prepare(child: ChildProcess, port: number): Promise<string> {
  const client = await connectOnceReady(child, port);
  for (const name of DURABLE) {
    const { rows } = await client.query<Record<string, string>>(`show ${name}`);
    if (rows[0]?.[name] !== 'on') throw new Error(`PostgreSQL's ${name} is ${rows[0]?.[name]}`);
  }
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  await client.query(`create database ${DATABASE}`);
  await client.end();
  const inside = await connect(port, DATABASE);
  await inside.query(readFileSync('scripts/bench/sql/schema.sql', 'utf8'));
  await inside.end();
  return rows[0]?.server_version ?? '';
}

/** Starts one. @throws where it doesn't start */
export async function startCluster(): Promise<Cluster> {
  const programs = findPostgresql();
  if (programs === null) throw new Error('there is no PostgreSQL');
  const owner = ownerOf();
  const folder = mkdtempSync(join(tmpdir(), 'pixstate-bench-sql-'));
  let child: ChildProcess | null = null;
  const end = async (): Promise<void> => {
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      // Nothing of it is kept: it needn't write what it holds.
      child.kill('SIGQUIT');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  atClose(end);
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  const making = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const by: Start = owner === undefined ? {} : { owner };
  await runProgram(join(programs, 'initdb'), making, by);
  const port = await freePort();
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', data, '-k', folder, '-p', String(port), ...settings];
  child = startProgram(join(programs, 'postgres'), args, { ...by, hasDuty: true });
  child.stdout?.resume();
  const version = await prepare(child, port);
  // A socket in the file system costs both sides less than loopback's TCP.
  const host = `${folder}/.s.PGSQL.${port}`.length > LONGEST_SOCKET ? '127.0.0.1' : folder;
  const serve = async () => {
    const service = start([...NODE_FLAGS, 'scripts/bench/sql/service.ts', host, String(port)]);
    return { child: service, pid: service.pid ?? 0, port: Number(await nextLine(service)) };
  };
  return { version, pid: child.pid ?? 0, port, serve, stop: end };
}
