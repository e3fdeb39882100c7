/**
 * What the server and every command share: store, accounts, bank and engine, put together. The server's own parts lie
 * in `server/`; a command starts in half the time without them.
 */

import { resolve } from 'node:path';
import { Directory } from './accounts/directory.ts';
import { Accounts } from './accounts/manage.ts';
import { checkKey as checkSealer, Sealer } from './accounts/sealing.ts';
import { findSecretsKey, keyIsMissing, openSecretsKey } from './accounts/secrets-key.ts';
import type { BankConnection } from './bank/api-pix/connection.ts';
import type { Notes } from './bank/api-pix/notes.ts';
import { expectNotAnothers } from './bank/one-bank.ts';
import { openBank } from './bank/open.ts';
import { batchIds, elapsed, newIncarnation, newTransactionId, now } from './clock.ts';
import type { Config } from './config.ts';
import type { ConsolePlace } from './console/addresses.ts';
import { IN_A_ROUND } from './engine/actors/rounds.ts';
import type { Bank } from './engine/bank.ts';
import { Engine } from './engine/engine.ts';
import { Payments } from './engine/payments.ts';
import { type AttentionItem, type Store, StoreUnavailable, StoreUnusable } from './engine/store.ts';
import { expectNoNewerCharts } from './engine/versions.ts';
import { OperatorError, type Unwritten } from './errors.ts';
import type { Act } from './ops/acting.ts';
import { endReaders } from './reader/living.ts';
import { SpareTime } from './spare-time.ts';
import { type Access, type OpenStore, openStore } from './store/open.ts';
import { again } from './waiting.ts';

/** Commands decided in one turn where a database takes about as long for one as for hundreds. */
const IN_A_ROUND_FOR_DATABASE = 1_024;

/** The parts that the server and every command work with. */
export interface Core extends OpenStore {
  config: Config;
  incarnation: string;
  directory: Directory;
  accounts: Accounts;
  bank: Bank;
  /** What speaks to the bank; null with the sandbox. */
  connection: BankConnection | null;
  /** Tells ops about the bank; null with the sandbox. */
  bankNotes: Notes | null;
  engine: Engine;
  payments: Payments;
  /** About so many commands are decided in one turn. */
  together: number;
  /** The engine's thread's, beside its callers. */
  spareTime: SpareTime;
  /** Null: this process is no server, or hasn't opened its doors yet. */
  consoleAt: Promise<ConsoleAt> | null;
  /** Tells the log what ops did that is no message; a server has one. */
  acted(act: Act): void;
  /**
   * Resolves where the key is known to open what the store holds, and no newer build has served it; before, nothing may be
   * written. @throws OperatorError
   */
  checkWritable(): Promise<void>;
}

/** Where a server serves the console, or why it doesn't. */
export type ConsoleAt = ConsolePlace | { why: string };

export interface CoreOptions {
  /** `make` where nothing is said. */
  access?: Access;
  /** What an operator has to mend in the store isn't waited for, but thrown: a command. */
  endsAtLack?: boolean;
  /** Names this run of this process; a new one where nothing is said. */
  incarnation?: string;
  /** Aborted where the folder is to be given up before all is open. */
  signal?: AbortSignal;
  /** A write to the disk failed, as `LmdbStoreOptions` has it. */
  onFatal(error: Error, unwritten: Unwritten): void;
  /** Tells ops something that they should know, in a sentence. */
  onNotice?(text: string): void;
}

const LOOK_AGAIN_MS = 500;

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
  if (await accounts.isEmpty()) return new Sealer(openSecretsKey(config.dataDir));
  if (access === 'look') return new Sealer(null);
  throw keyIsMissing(config.dataDir);
}

/** Resolves once the store is known to be fit for this key and this build to write to. */
async function writableChecked(
  config: Config,
  opened: OpenStore,
  sealer: Sealer,
  endsAtLack: boolean,
): Promise<void> {
  const isLasting = (error: unknown): boolean => endsAtLack && error instanceof StoreUnusable;
  if (!sealer.hasKey) throw keyIsMissing(config.dataDir);
  await again(
    async () => {
      await expectNoNewerCharts(opened.store.marks);
      await checkSealer(sealer, opened.store);
    },
    (error) => (error instanceof StoreUnavailable && !isLasting(error) ? LOOK_AGAIN_MS : null),
  );
}

/** Waits for work that a store must be open for; it is closed again where that fails. */
async function orClosed(work: Promise<void>, close: () => Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await close();
    throw error;
  }
}

/** The sealer for a store. A folder's is known to open what it holds; of a database `ready` tells that. */
async function withKey(
  config: Config,
  { access = 'make', endsAtLack = false }: CoreOptions,
  opened: OpenStore,
): Promise<Pick<Core, 'ready' | 'checkWritable'> & { sealer: Sealer }> {
  try {
    const sealer = await openSealer(config, access, opened.store);
    let checked: Promise<void> | null = null;
    const checkWritable = (): Promise<void> =>
      (checked ??= writableChecked(config, opened, sealer, endsAtLack));
    const writes = access === 'write' || access === 'make';
    const ready = writes ? opened.ready.then(checkWritable) : opened.ready;
    if (opened.database === null) await ready;
    // A caller that waits hears of it; where nobody waits yet, nobody is to be surprised.
    ready.catch(() => {});
    return { sealer, ready, checkWritable };
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
  const { access = 'make', incarnation = newIncarnation(), signal, onFatal, onNotice = () => {} } = options;
  knownKey(config);
  const onUnprojectable = (item: AttentionItem): Promise<void> => engine.note([item]);
  const opened = await openStore(config, {
    ...{ incarnation, now, access, endsAtLack: options.endsAtLack, onFatal, onNotice, onUnprojectable },
    ...(signal === undefined ? {} : { signal }),
  });
  const { store, now: storeNow } = opened;
  const { sealer, ready, checkWritable } = await withKey(config, options, opened);
  const directory = new Directory(store.accounts, sealer, storeNow);
  const { bank, connection, bankNotes } = await openBank(config, {
    account: (id) => directory.account(id),
    transaction: (id) => store.journal.transaction(id),
    due: store.due,
    note: (items) => engine.note(items),
    withdraw: (keys) => engine.withdraw(keys),
    attention: store.attention,
    now: storeNow,
    clock: { now, elapsed },
  });
  const settings = (id: string) => directory.account(id);
  const together = opened.database === null ? IN_A_ROUND : IN_A_ROUND_FOR_DATABASE;
  const engine = new Engine({
    store,
    isShared: opened.database !== null,
    everyDoorSpeaks: bank.everyDoorSpeaks,
    firstWakeInMs: bank.firstWakeInMs?.bind(bank) ?? null,
    now: storeNow,
    newBatchId: batchIds(incarnation),
    stuckAfterMs: config.stuckAfterS * 1000,
    settings,
    together,
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
  const close = async (): Promise<void> => {
    await connection?.close();
    // What was told to stop may be left to itself; the folder isn't given up while a thread may still open it.
    await endReaders(opened.place);
    await opened.close();
  };
  const parts = {
    ...{ config, incarnation, directory, accounts, bank, connection, bankNotes, engine, payments },
    spareTime: new SpareTime(),
    together,
    consoleAt: null,
    acted: () => {},
  };
  const known = access === 'read' ? ready : ready.then(() => expectNotAnothers(config, store));
  known.catch(() => {});
  if (opened.database === null) await orClosed(known, close);
  return { ...opened, ...parts, ready: known, checkWritable, close };
}
