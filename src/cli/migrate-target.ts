/** The MongoDB store that accounts are moved to. Its connection string may hold a password: it is never told. */
import { now } from '../clock.ts';
import { OperatorError, textOf } from '../errors.ts';
import { type OpenStore, openDatabaseStore } from '../store/open.ts';
import { within } from '../waiting.ts';
import { type Failure, wrongUsage } from './failure.ts';

const URI = /^mongodb(\+srv)?:\/\/[^\s/]+/;
/** A command doesn't wait for a database as a server does. */
const READY_MS = 8_000;

/** A text without what a connection string may hold. */
export function withoutSecrets(text: string, uri = ''): string {
  const secret = /^[^:]*:\/\/([^@/]*)@/.exec(uri)?.[1] ?? '';
  let told = uri === '' ? text : text.replaceAll(uri, 'mongodb://...');
  if (secret !== '') told = told.replaceAll(secret, '...');
  return told.replace(/mongodb(\+srv)?:\/\/[^\s'"]+/g, 'mongodb://...');
}

/**
 * Whether the text is a connection string; nothing is connected.
 * @throws Failure of wrong usage
 */
export async function checkTarget(uri: string): Promise<void> {
  const malformed = (why: string): Failure =>
    wrongUsage(`--to must be a MongoDB connection string (mongodb://HOST[:PORT]/DATABASE)${why}`);
  if (!URI.test(uri)) throw malformed('');
  const { MongoClient } = await import('mongodb');
  try {
    await new MongoClient(uri).close();
  } catch (error) {
    throw malformed(`: ${withoutSecrets(textOf(error), uri)}`);
  }
}

/**
 * Opens the target once its database is there.
 * @throws OperatorError where it can't be used, or doesn't answer.
 */
export async function openTarget(uri: string, incarnation: string): Promise<OpenStore> {
  // The store speaks as a server's, which knows its database from there.
  const told = (text: string): string => withoutSecrets(text, uri).replaceAll('MONGODB_URI', '--to');
  const onNotice = (text: string): void => void process.stderr.write(`${told(text)}\n`);
  const late = (): Error =>
    new OperatorError(`the database of --to can't be reached within ${READY_MS / 1000} s`);
  let target: OpenStore | null = null;
  try {
    target = await openDatabaseStore(uri, { incarnation, now, onNotice });
    await within(READY_MS, target.ready, late);
    return target;
  } catch (error) {
    await target?.close();
    throw error instanceof OperatorError ? new OperatorError(told(error.message)) : error;
  }
}
