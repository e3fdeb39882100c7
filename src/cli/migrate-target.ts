/** The MongoDB store that accounts are moved to. Its connection string may hold a password: it is never told. */
import { now } from '../clock.ts';
import { OperatorError } from '../errors.ts';
import { mistakesIn, withoutSecrets } from '../store/connection-string.ts';
import { type OpenStore, openDatabaseStore } from '../store/open.ts';
import { within } from '../waiting.ts';
import { wrongUsage } from './failure.ts';

/** A command doesn't wait for a database as a server does. */
const READY_MS = 8_000;

/**
 * Whether the text is a connection string; nothing is connected.
 * @throws Failure of wrong usage
 */
export function checkTarget(uri: string): void {
  const mistakes = mistakesIn(uri);
  if (mistakes.length > 0) throw wrongUsage(mistakes.map((mistake) => `--to ${mistake}`).join('; '));
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
    target = await openDatabaseStore(uri, { incarnation, now, onNotice, endsAtLack: true });
    await within(READY_MS, target.ready, late);
    return target;
  } catch (error) {
    await target?.close();
    throw error instanceof OperatorError ? new OperatorError(told(error.message)) : error;
  }
}
