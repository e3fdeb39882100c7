/** Servers that a connection string may lead to by mistake: one that asks who one is, and one that is too old. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BSON, type Db, type Document, MongoClient, type MongoClientOptions } from 'mongodb';
import { freePort } from '../../scripts/mongod/ports.ts';
import { ensureMongod } from '../../scripts/mongod.ts';
import { spawnProgram } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { MessageSplitter, requestIdOf } from '../support/wire.ts';

const START_MS = 30_000;

export interface User {
  name: string;
  password: string;
  /** What it may do on which database. */
  roles: { role: string; db: string }[];
}

export interface Guarded {
  port: number;
  /** The connection string of a user for a database. */
  uri(user: Pick<User, 'name' | 'password'>, database: string): string;
  /** Gives a user these roles alone. */
  grant(user: User, roles: User['roles']): Promise<void>;
  /** Drops a user. */
  drop(user: User): Promise<void>;
  /** Makes a user that was dropped again. */
  make(user: User): Promise<void>;
  /** Gives a user these actions alone, on all collections of a database. */
  allow(user: User, database: string, actions: readonly string[]): Promise<void>;
}

/** A standalone server that asks for a user and a password, for one test. */
export async function withGuarded(
  users: readonly User[],
  body: (guarded: Guarded) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-guarded-'));
  const port = await freePort();
  await mkdir(join(folder, 'data'));
  const args = ['--auth', '--dbpath', join(folder, 'data'), '--port', String(port), '--bind_ip', '127.0.0.1'];
  const quiet = [
    '--nounixsocket',
    '--wiredTigerCacheSizeGB',
    '0.25',
    '--enableFreeMonitoring',
    'off',
    '--quiet',
  ];
  const spawned = spawnProgram(await ensureMongod(), [...args, ...quiet], {});
  try {
    await until(() => createUsers(port, users).then(() => true, noServerYet), START_MS, 'the guarded server');
    const uri: Guarded['uri'] = ({ name, password }, database) =>
      `mongodb://${encodeURIComponent(name)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?authSource=admin`;
    const grant: Guarded['grant'] = ({ name }, roles) =>
      asRoot(port, async (admin) => {
        await admin.command({ updateUser: name, roles });
      });
    const drop: Guarded['drop'] = ({ name }) =>
      asRoot(port, async (admin) => {
        await admin.command({ dropUser: name });
      });
    const make: Guarded['make'] = (user) => asRoot(port, (admin) => createUser(admin, user));
    const allow: Guarded['allow'] = ({ name }, database, actions) =>
      asRoot(port, async (admin) => {
        const role = `${name} of ${database}`;
        const privileges = [{ resource: { db: database, collection: '' }, actions }];
        await admin.command({ createRole: role, privileges, roles: [] });
        await admin.command({ updateUser: name, roles: [{ role, db: 'admin' }] });
      });
    await body({ port, uri, grant, drop, make, allow });
  } finally {
    spawned.child.kill('SIGKILL');
    await spawned.ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function noServerYet(error: unknown): false {
  if (error instanceof Error && error.name === 'MongoServerSelectionError') return false;
  throw error;
}

const ROOT = { username: 'root', password: 'only for this test' };

/** Work on a server's users; without a login it can only make the first one. */
async function onUsers(
  port: number,
  auth: MongoClientOptions,
  work: (admin: Db) => Promise<void>,
): Promise<void> {
  const where = { directConnection: true, serverSelectionTimeoutMS: 1_000, ...auth };
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/`, where);
  try {
    await work(client.db('admin'));
  } finally {
    await client.close();
  }
}

function asRoot(port: number, work: (admin: Db) => Promise<void>): Promise<void> {
  return onUsers(port, { auth: ROOT, authSource: 'admin' }, work);
}

async function createUsers(port: number, users: readonly User[]): Promise<void> {
  await onUsers(port, {}, async (admin) => {
    await admin.command({ createUser: ROOT.username, pwd: ROOT.password, roles: ['root'] });
  });
  await asRoot(port, async (admin) => {
    for (const user of users) await createUser(admin, user);
  });
}

async function createUser(admin: Db, { name, password, roles }: User): Promise<void> {
  await admin.command({ createUser: name, pwd: password, roles });
}

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

/** The command of a request (MongoDB's wire protocol, OP_QUERY and OP_MSG with one section of kind 0). */
function commandOf(message: Buffer): Document {
  const isQuery = message.readInt32LE(12) === OP_QUERY;
  // Flags, the collection's name with its end, and two numbers; or flags and the section's kind.
  const start = isQuery ? message.indexOf(0, HEADER_BYTES + 4) + 1 + 8 : HEADER_BYTES + 5;
  return BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
}

function answerTo(message: Buffer, document: Document): Buffer {
  const isQuery = message.readInt32LE(12) === OP_QUERY;
  const head = Buffer.alloc(isQuery ? 20 : 5);
  if (isQuery) head.writeInt32LE(1, 16);
  const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), head, BSON.serialize(document)]);
  bytes.writeInt32LE(bytes.length, 0);
  bytes.writeInt32LE(requestIdOf(message), 8);
  bytes.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
  return bytes;
}

/** What a server of a version says of itself. */
function helloOf(maxWireVersion: number): Document {
  return {
    ok: 1,
    ismaster: true,
    isWritablePrimary: true,
    helloOk: true,
    minWireVersion: 0,
    maxWireVersion,
    maxBsonObjectSize: 16 * 1024 * 1024,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: 30,
    connectionId: 1,
  };
}

/** A server of which no more is known than its version, for one test. */
export async function withOld(
  version: string,
  maxWireVersion: number,
  body: (port: number) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const answer = (message: Buffer): Document => {
    const command = commandOf(message);
    const [name = ''] = Object.keys(command);
    if (['hello', 'ismaster', 'isMaster'].includes(name)) return helloOf(maxWireVersion);
    if (name === 'buildInfo') return { ok: 1, version };
    if (['ping', 'endSessions'].includes(name)) return { ok: 1 };
    return { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: `no such command: ${name}` };
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const splitter = new MessageSplitter();
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      for (const message of splitter.push(chunk)) socket.write(answerTo(message, answer(message)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await body((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
