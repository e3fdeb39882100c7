/** The driver's clients: what a connection string doesn't say, and what it can't. */
import { MongoClient, type MongoClientOptions } from 'mongodb';

const DEFAULT_DATABASE = 'pixstate';
const SELECTION_MS = 2_000;
const SOCKET_MS = 5_000;

/** Bounds that the connection string doesn't set: the driver's own are half a minute, or none. */
const BOUNDS: MongoClientOptions = {
  maxPoolSize: 32,
  waitQueueTimeoutMS: SELECTION_MS,
  serverSelectionTimeoutMS: SELECTION_MS,
  socketTimeoutMS: SOCKET_MS,
  connectTimeoutMS: SELECTION_MS,
  heartbeatFrequencyMS: 1_000,
};

/** A client whose every wait is bounded. @throws Error where the connection string is none */
export function clientFor(uri: string, own: MongoClientOptions = {}): MongoClient {
  const bounds = Object.entries(BOUNDS).filter(([name]) => !new RegExp(`[?&]${name}=`, 'i').test(uri));
  const client = new MongoClient(uri, {
    appName: 'pixstate',
    // A lost answer is our own retry's: it knows what was written by its deterministic ids.
    retryWrites: false,
    retryReads: true,
    readPreference: 'primary',
    ...Object.fromEntries(bounds),
    ...own,
  });
  // A poll that comes after the end emits an error; without a listener that would end the process.
  client.on('error', () => {});
  return client;
}

/** The database that a connection string names. */
export function databaseName(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/?]*(?:\/([^?]*))?/.exec(uri)?.[1] ?? '';
  return path === '' ? DEFAULT_DATABASE : decodeURIComponent(path);
}

/** A client that waits for an answer as long as it takes. */
export function patientClient(uri: string): MongoClient {
  return new MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_MS, socketTimeoutMS: 0 });
}
