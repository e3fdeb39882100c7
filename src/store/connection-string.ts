/** A database's connection string: what clients are made of it, and what of it can't be right, before anything is connected. */
import { closeSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { MongoClient, MongoClientOptions } from 'mongodb';
import { codeOf, textOf } from '../errors.ts';

const FORM = 'mongodb://HOST[:PORT]/DATABASE';
const DEFAULT_DATABASE = 'pixstate';
/** What MongoDB keeps for itself, and why no store may lie there. */
const OWN_DATABASES = new Map([
  ['local', 'is never replicated: what lies there is lost when another member takes over'],
  ['config', "holds the server's and the cluster's own settings"],
]);
const SELECTION_MS = 2_000;
const SOCKET_MS = 5_000;

const MOST_CONNECTIONS = 32;
const HIGHEST_PORT = 65_535;

/** Bounds that the connection string doesn't set: the driver's own are half a minute, or none. */
const BOUNDS: MongoClientOptions = {
  maxPoolSize: MOST_CONNECTIONS,
  waitQueueTimeoutMS: SELECTION_MS,
  serverSelectionTimeoutMS: SELECTION_MS,
  socketTimeoutMS: SOCKET_MS,
  connectTimeoutMS: SELECTION_MS,
  heartbeatFrequencyMS: 1_000,
};

/** What waits for an answer as long as it takes. */
export const PATIENT: MongoClientOptions = {
  minPoolSize: 0,
  serverSelectionTimeoutMS: SELECTION_MS,
  socketTimeoutMS: 0,
};

/** How the driver takes values: read another way, amounts are other ones, and the next batch is written so. */
const VALUES: Readonly<Record<string, boolean>> = {
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  useBigInt64: false,
  bsonRegExp: false,
  ignoreUndefined: false,
  serializeFunctions: false,
  enableUtf8Validation: true,
  raw: false,
};

/** What a connection string says of the pool's least. */
const LEAST_CONNECTIONS = /[?&]minPoolSize=(\d+)/i;

/** The bounds of the pool: with a number of its own a client heeds nothing that is said of all. */
function poolOf(uri: string, mostConnections: number | undefined): MongoClientOptions {
  if (mostConnections !== undefined)
    return { minPoolSize: 0, maxPoolSize: mostConnections, waitQueueTimeoutMS: SELECTION_MS };
  if (/[?&]maxPoolSize=/i.test(uri)) return {};
  return { maxPoolSize: Math.max(MOST_CONNECTIONS, Number(LEAST_CONNECTIONS.exec(uri)?.[1] ?? 0)) };
}

/** @throws Error where values would be taken another way than they are stored */
function expectValues({ bsonOptions }: MongoClient): void {
  for (const [name, value] of Object.entries(bsonOptions)) {
    const needed = VALUES[name] ?? value;
    if (value !== needed) throw new Error(`${name} must be ${needed}, as it is where nothing is said`);
  }
}

/**
 * A client of the driver's class, every wait of which is bounded.
 * @throws Error where the connection string is none, what it says of the pool contradicts itself, or it has values
 *   taken another way
 */
export function newClient(Client: typeof MongoClient, uri: string, mostConnections?: number): MongoClient {
  const bounds = Object.entries(BOUNDS).filter(([name]) => !new RegExp(`[?&]${name}=`, 'i').test(uri));
  const client = new Client(uri, {
    appName: 'pixstate',
    // A lost answer is our own retry's: it knows what was written by its deterministic ids.
    retryWrites: false,
    retryReads: true,
    readPreference: 'primary',
    ...Object.fromEntries(bounds),
    ...poolOf(uri, mostConnections),
  });
  expectValues(client);
  const { minPoolSize, maxPoolSize } = client.options;
  // The driver says so only when it makes a pool, as often as it tries.
  if (maxPoolSize !== 0 && minPoolSize > maxPoolSize)
    throw new Error(`minPoolSize ${minPoolSize} is above maxPoolSize ${maxPoolSize}`);
  return client;
}

/** The database that a connection string names. */
export function databaseName(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/?]*(?:\/([^?]*))?/.exec(uri)?.[1] ?? '';
  return path === '' ? DEFAULT_DATABASE : decodeURIComponent(path);
}

/** A text without what a connection string may hold. */
export function withoutSecrets(text: string, uri = ''): string {
  const secret = /^[^:]*:\/\/([^:@/]*:[^@/]*)@/.exec(uri)?.[1] ?? '';
  // What is no connection string at all may be a part of any text.
  let told = /:\/\/./.test(uri) ? text.replaceAll(uri, 'mongodb://...') : text;
  if (secret !== '') told = told.replaceAll(secret, '...');
  return told.replace(/mongodb(\+srv)?:\/\/(?!HOST\[)[^\s'"]+/g, 'mongodb://...');
}

/** Whether a host of the list can be one: the driver takes an empty one, and fails where nobody catches it. */
function isHost(text: string): boolean {
  const [, port = null] = /^(?:\[[^\]]*\]|[^\s:[\]]+)(?::(\d*))?$/.exec(text) ?? [null, 'none'];
  return port === null || (/^\d*$/.test(port) && Number(port) <= HIGHEST_PORT);
}

const load = createRequire(import.meta.url);

/** The driver's client, which is loaded here at the first string: whoever has none does without it. */
function driversClient(uri: string): MongoClient {
  const { MongoClient } = load('mongodb') as typeof import('mongodb');
  return newClient(MongoClient, uri);
}

/** The files that the driver reads before it connects, again and again where it can't. */
const FILES = ['tlsCAFile', 'tlsCertificateKeyFile', 'tlsCRLFile'] as const;

function unreadable({ options }: MongoClient): string[] {
  if (options.tls !== true) return [];
  const mistakes: string[] = [];
  for (const name of FILES) {
    const path = options[name];
    if (path === undefined) continue;
    try {
      const file = openSync(path, 'r');
      try {
        readSync(file, Buffer.alloc(1));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      mistakes.push(`names a ${name} that can't be read (${codeOf(error)}): ${path}`);
    }
  }
  return mistakes;
}

/** What is wrong with a connection string, without its secrets: how sentences go on that begin with its name. */
export function mistakesIn(uri: string): string[] {
  const malformed = `must be a MongoDB connection string (${FORM})`;
  // As the driver finds them: what stands before an @ is the user's.
  const hosts = /^mongodb(?:\+srv)?:\/\/(?:[^@]*@)?([^/?@]+)/.exec(uri)?.[1];
  if (hosts === undefined) return [malformed];
  if (!hosts.split(',').every(isHost))
    return [
      `${malformed}: between its commas must be hosts, without blanks, and ports be at most ${HIGHEST_PORT}`,
    ];
  try {
    const client = driversClient(uri);
    const database = databaseName(uri);
    client.db(database);
    // Names that differ in capitals alone are one database's.
    const reason = OWN_DATABASES.get(database.toLowerCase());
    const mistakes = reason === undefined ? [] : [`names the database ${database}, which ${reason}`];
    return [...mistakes, ...unreadable(client)];
  } catch (error) {
    return [`${malformed}: ${withoutSecrets(textOf(error), uri)}`];
  }
}
