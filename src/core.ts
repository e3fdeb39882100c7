/**
 * Wires what the server and every command share: store, engine, accounts. The server's own parts are wired in
 * `main.ts`; a command starts in half the time without them.
 */
import type { Db } from 'mongodb';
import { Directory } from './accounts/directory.ts';
import { Accounts } from './accounts/manage.ts';
import { Sealer } from './accounts/sealing.ts';
import { openSecretsKey } from './accounts/secrets-key.ts';
import { SandboxBank } from './bank/sandbox.ts';
import { batchIds, newIncarnation, newTransactionId, now } from './clock.ts';
import type { Config } from './config.ts';
import type { Bank } from './engine/bank.ts';
import { Engine } from './engine/engine.ts';
import { Payments } from './engine/payments.ts';
import type { Store } from './engine/store.ts';
import { OperatorError, textOf } from './errors.ts';
import { openFolder } from './store/folder.ts';
import { openLmdbStore } from './store/lmdb/store.ts';

/** An incarnation without a heartbeat for so long has fallen silent. */
export const SILENT_AFTER_MS = 5_000;

/** What the server and every command work with. */
export interface Core {
  config: Config;
  incarnation: string;
  store: Store;
  /** Where the store lies, for people. */
  place: string;
  /** The clock that all processes on the store go by, ms since 1970. */
  now(): number;
  /** Resolves once the store takes reads and writes; rejects with an OperatorError where it never will. */
  ready: Promise<void>;
  /** The database, where the store lies in one that other processes use as well. */
  database: Db | null;
  directory: Directory;
  accounts: Accounts;
  bank: Bank;
  engine: Engine;
  payments: Payments;
}

export interface CoreOptions {
  /** Nothing will be written: the store is opened without waiting for a writer. */
  readOnly?: boolean;
  /** A write to the disk failed: the process must stop. */
  onFatal(error: Error): void;
  /** What ops should know, in a sentence. */
  onNotice?(text: string): void;
}

/** A store, and what goes with the one that it is. */
type OpenStore = Pick<Core, 'store' | 'place' | 'now' | 'ready' | 'database'> & { sealer: Sealer };

/** What is told before a process ends because its store could not write. */
export function writeFailure(error: Error): string {
  return `the store could not write (${error.message}): is there space on the disk?`;
}

async function openEmbedded(config: Config, incarnation: string, options: CoreOptions): Promise<OpenStore> {
  const folder = openFolder(config.dataDir);
  const sealer = new Sealer(config.secretsKey ?? openSecretsKey(folder));
  const { readOnly = false, onFatal } = options;
  const silentAfterMs = SILENT_AFTER_MS;
  const store = await openLmdbStore({ folder, incarnation, now, silentAfterMs, readOnly, onFatal }).catch(
    (error: unknown) => {
      const reason = textOf(error);
      throw new OperatorError(`the store in ${folder} can't be opened: ${reason}`);
    },
  );
  return { store, place: folder, now, ready: Promise.resolve(), database: null, sealer };
}

async function openMongo(
  uri: string,
  secretsKey: Buffer,
  incarnation: string,
  onNotice: (text: string) => void,
): Promise<OpenStore> {
  // The driver is loaded only where it is used: commands on the embedded store start without it.
  const { openMongoStore } = await import('./store/mongo/store.ts');
  let giveUp: (error: Error) => void = () => {};
  const unusable = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  // Who waits hears of it; where nobody does yet, nobody is to be surprised.
  unusable.catch(() => {});
  try {
    const store = openMongoStore({
      uri,
      incarnation,
      localNow: now,
      silentAfterMs: SILENT_AFTER_MS,
      onUnusable: (reason) => giveUp(new OperatorError(reason)),
      onNotice,
    });
    const ready = Promise.race([store.ready, unusable]);
    ready.catch(() => {});
    const sealer = new Sealer(secretsKey);
    return {
      store,
      place: `database ${store.db.databaseName}`,
      now: store.now,
      ready,
      database: store.db,
      sealer,
    };
  } catch (error) {
    throw new OperatorError(textOf(error));
  }
}

function openStore(config: Config, incarnation: string, options: CoreOptions): Promise<OpenStore> {
  const { mongodbUri, secretsKey } = config;
  if (mongodbUri === null) return openEmbedded(config, incarnation, options);
  if (secretsKey === null) throw new OperatorError('SECRETS_KEY must be set with MONGODB_URI');
  return openMongo(mongodbUri, secretsKey, incarnation, options.onNotice ?? (() => {}));
}

/**
 * Opens store, engine and all that both need; nothing runs yet.
 * @throws OperatorError
 */
export async function openCore(config: Config, options: CoreOptions): Promise<Core> {
  const incarnation = newIncarnation();
  const { sealer, ...opened } = await openStore(config, incarnation, options);
  const { store, now: storeNow } = opened;
  const directory = new Directory(store.accounts, sealer, storeNow);
  const bank = new SandboxBank(config.sandboxDelayMs);
  const settings = (id: string) => directory.account(id);
  const engine = new Engine({
    store,
    everyDoorSpeaks: bank.everyDoorSpeaks,
    now: storeNow,
    newBatchId: batchIds(incarnation),
    settings,
  });
  const payments = new Payments({
    engine,
    journal: store.journal,
    bank,
    now: storeNow,
    newId: newTransactionId,
    chargeExpiryS: config.chargeExpiryS,
  });
  const accounts = new Accounts(store.accounts, sealer, storeNow);
  return { ...opened, config, incarnation, directory, accounts, bank, engine, payments };
}
