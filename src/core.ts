/**
 * What the server and every command share: store, accounts, bank and engine, put together. The server's own parts lie
 * in `server/`; a command starts in half the time without them.
 */

import { resolve } from 'node:path';
import { Directory } from './accounts/directory.ts';
import { Accounts } from './accounts/manage.ts';
import { checkKey, Sealer } from './accounts/sealing.ts';
import { findSecretsKey, keyIsMissing, openSecretsKey } from './accounts/secrets-key.ts';
import { SandboxBank } from './bank/sandbox.ts';
import { batchIds, newIncarnation, newTransactionId, now } from './clock.ts';
import type { Config } from './config.ts';
import { type Bank, PunctualBank } from './engine/bank.ts';
import { Engine } from './engine/engine.ts';
import { Payments } from './engine/payments.ts';
import { type AttentionItem, type Store, StoreUnavailable } from './engine/store.ts';
import { OperatorError } from './errors.ts';
import { type Access, type OpenStore, openStore } from './store/open.ts';
import { again } from './waiting.ts';

/** The parts that the server and every command work with. */
export interface Core extends OpenStore {
  config: Config;
  incarnation: string;
  directory: Directory;
  accounts: Accounts;
  bank: Bank;
  engine: Engine;
  payments: Payments;
}

export interface CoreOptions {
  /** `write` where nothing is said. */
  access?: Access;
  /** A write to the disk failed: the process must stop. */
  onFatal(error: Error): void;
  /** Tells ops something that they should know, in a sentence. */
  onNotice?(text: string): void;
}

const LOOK_AGAIN_MS = 500;

/** The sentence that a process ends with because its store could not write. */
export function writeFailure(error: Error): string {
  return `the store could not write (${error.message}): is there space on the disk?`;
}

/** The key that the configuration gives, or the data folder's own; null where the folder has none. */
function knownKey({ secretsKey, mongodbUri, dataDir }: Config): Buffer | null {
  if (secretsKey !== null) return secretsKey;
  if (mongodbUri !== null) throw new OperatorError('SECRETS_KEY must be set with MONGODB_URI');
  return findSecretsKey(resolve(dataDir));
}

/**
 * The sealer of webhook secrets. A folder gets a key of its own before its first account, and never beside accounts:
 * what was sealed with a lost key nobody opens.
 */
async function openSealer(config: Config, access: Access, { accounts }: Store): Promise<Sealer> {
  const key = knownKey(config);
  if (key !== null || access === 'read') return new Sealer(key);
  if (!(await accounts.isEmpty())) throw keyIsMissing(config.dataDir);
  return new Sealer(openSecretsKey(config.dataDir));
}

/** Resolves once the store is there and the key is known to open what it holds. */
async function readyWith(opened: OpenStore, sealer: Sealer, access: Access): Promise<void> {
  await opened.ready;
  if (access === 'read') return;
  await again(
    () => checkKey(sealer, opened.store),
    (error) => (error instanceof StoreUnavailable ? LOOK_AGAIN_MS : null),
  );
}

/** The sealer for a store. A folder's is known to open what it holds; of a database `ready` tells that. */
async function withKey(
  config: Config,
  access: Access,
  opened: OpenStore,
): Promise<{ sealer: Sealer; ready: Promise<void> }> {
  try {
    const sealer = await openSealer(config, access, opened.store);
    const ready = readyWith(opened, sealer, access);
    if (opened.database === null) await ready;
    // A caller that waits hears of it; where nobody waits yet, nobody is to be surprised.
    ready.catch(() => {});
    return { sealer, ready };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/**
 * Opens store, engine and all that both need; nothing runs yet.
 * @throws OperatorError
 */
export async function openCore(config: Config, options: CoreOptions): Promise<Core> {
  const { access = 'write', onFatal, onNotice = () => {} } = options;
  const incarnation = newIncarnation();
  knownKey(config);
  const onUnprojectable = (item: AttentionItem): Promise<void> => engine.note([item]);
  const opened = await openStore(config, { incarnation, now, access, onFatal, onNotice, onUnprojectable });
  const { store, now: storeNow } = opened;
  const { sealer, ready } = await withKey(config, access, opened);
  const directory = new Directory(store.accounts, sealer, storeNow);
  const bank = new PunctualBank(new SandboxBank(config.sandboxDelayMs));
  const settings = (id: string) => directory.account(id);
  const engine = new Engine({
    store,
    everyDoorSpeaks: bank.everyDoorSpeaks,
    now: storeNow,
    newBatchId: batchIds(incarnation),
    stuckAfterMs: config.stuckAfterS * 1000,
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
  return { ...opened, ready, config, incarnation, directory, accounts, bank, engine, payments };
}
