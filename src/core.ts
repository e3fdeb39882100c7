/**
 * What the server and every command share: store, accounts, bank and engine, put together. The server's own parts lie
 * in `server/`; a command starts in half the time without them.
 */
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
import type { AttentionItem } from './engine/store.ts';
import { OperatorError } from './errors.ts';
import { openFolder } from './store/folder.ts';
import { type Access, type OpenStore, openStore } from './store/open.ts';

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

/** The sentence that a process ends with because its store could not write. */
export function writeFailure(error: Error): string {
  return `the store could not write (${error.message}): is there space on the disk?`;
}

/** The sealer of webhook secrets. A folder's own key is there before the store: nothing is sealed under a lost one. */
function openSealer({ secretsKey, mongodbUri, dataDir }: Config): Sealer {
  if (secretsKey !== null) return new Sealer(secretsKey);
  if (mongodbUri !== null) throw new OperatorError('SECRETS_KEY must be set with MONGODB_URI');
  return new Sealer(openSecretsKey(openFolder(dataDir)));
}

/**
 * Opens store, engine and all that both need; nothing runs yet.
 * @throws OperatorError
 */
export async function openCore(config: Config, options: CoreOptions): Promise<Core> {
  const { access = 'write', onFatal, onNotice = () => {} } = options;
  const incarnation = newIncarnation();
  const sealer = openSealer(config);
  const onUnprojectable = (item: AttentionItem): Promise<void> => engine.note([item]);
  const opened = await openStore(config, { incarnation, now, access, onFatal, onNotice, onUnprojectable });
  const { store, now: storeNow } = opened;
  const directory = new Directory(store.accounts, sealer, storeNow);
  const bank = new SandboxBank(config.sandboxDelayMs);
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
  return { ...opened, config, incarnation, directory, accounts, bank, engine, payments };
}
