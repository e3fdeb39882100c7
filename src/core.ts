/**
 * Wires what the server and every command share: store, engine, accounts. The server's own parts are wired in
 * `main.ts`; a command starts in half the time without them.
 */
import { openFolder, openSecretsKey } from './accounts/data-folder.ts';
import { Directory } from './accounts/directory.ts';
import { Accounts } from './accounts/manage.ts';
import { Sealer } from './accounts/sealing.ts';
import { SandboxBank } from './bank/sandbox.ts';
import { batchIds, newIncarnation, newTransactionId, now } from './clock.ts';
import type { Config } from './config.ts';
import type { Bank } from './engine/bank.ts';
import { Engine } from './engine/engine.ts';
import { Payments } from './engine/payments.ts';
import type { Store } from './engine/store.ts';
import { OperatorError } from './operator-error.ts';
import { openLmdbStore } from './store/lmdb-store.ts';

/** An incarnation without a heartbeat for so long has fallen silent. */
export const SILENT_AFTER_MS = 5_000;

/** What the server and every command work with. */
export interface Core {
  config: Config;
  incarnation: string;
  store: Store;
  directory: Directory;
  accounts: Accounts;
  bank: Bank;
  engine: Engine;
  payments: Payments;
  /** The absolute path of the data folder. */
  dataDir: string;
}

export interface CoreOptions {
  /** Nothing will be written: the store is opened without waiting for a writer. */
  readOnly: boolean;
}

/** What is told before a process ends because its store could not write. */
export function writeFailure(error: Error): string {
  return `the store could not write (${error.message}): is there space on the disk?`;
}

/**
 * Opens store, engine and all that both need; nothing runs yet.
 * @throws OperatorError
 */
export async function openCore(
  config: Config,
  onFatal: (error: Error) => void,
  { readOnly }: CoreOptions = { readOnly: false },
): Promise<Core> {
  const dataDir = openFolder(config.dataDir);
  const sealer = new Sealer(openSecretsKey(config.secretsKey, dataDir));
  const incarnation = newIncarnation();
  const store = await openLmdbStore({
    folder: dataDir,
    incarnation,
    now,
    silentAfterMs: SILENT_AFTER_MS,
    readOnly,
    onFatal,
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`the store in ${dataDir} can't be opened: ${reason}`);
  });
  const directory = new Directory(store, sealer, now);
  const bank = new SandboxBank(config.sandboxDelayMs);
  const settings = (id: string) => directory.account(id);
  const engine = new Engine({
    store,
    sandbox: bank.sandbox,
    now,
    newBatchId: batchIds(incarnation),
    settings,
  });
  const payments = new Payments({
    engine,
    bank,
    now,
    newId: newTransactionId,
    chargeExpiryS: config.chargeExpiryS,
  });
  const accounts = new Accounts(store, sealer, now);
  return { config, incarnation, store, directory, accounts, bank, engine, payments, dataDir };
}
