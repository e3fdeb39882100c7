/** What `migrate-store` does: it moves accounts from the embedded store to MongoDB. */
import { isKeyOf, Sealer } from '../accounts/sealing.ts';
import { findSecretsKey } from '../accounts/secrets-key.ts';
import { newIncarnation, now } from '../clock.ts';
import { type Config, ConfigError } from '../config.ts';
import { StoreUnavailable } from '../engine/store.ts';
import { type Unwritten, writeFailure } from '../errors.ts';
import { type FolderHold, takeWithPrecedence } from '../holder/hold.ts';
import { Busy } from '../holder/works.ts';
import { type MovedAccount, migrate, type Progress } from '../migration/migrate.ts';
import { MigrationRefused } from '../migration/refused.ts';
import { FolderHeld } from '../store/folder.ts';
import { dataFolder, type OpenStore, openFolderStore } from '../store/open.ts';
import { packageVersion } from '../version.ts';
import { Failure } from './failure.ts';
import { checkTarget, openTarget } from './migrate-target.ts';
import type { Outcome } from './output.ts';
import { behind } from './running/behind.ts';
import type { ProcessShell } from './running/process.ts';

export interface MigrateStoreOptions {
  to: string;
  account?: string[];
}

const NAME = 'migrate-store';
const BEAT_MS = 1_000;
const TOLD_EVERY_MS = 2_000;

/** The key that the target's secrets are sealed under: a folder's own would be gone with the folder. */
function targetKey(config: Config): Buffer {
  if (config.secretsKey === null) {
    throw new ConfigError(['SECRETS_KEY is required: with MongoDB the webhook secrets are sealed under it']);
  }
  return config.secretsKey;
}

/** Opens a secret with SECRETS_KEY or the folder's own key, whichever it was sealed with, and seals it anew. */
function resealer(key: Buffer, dataDir: string): (sealed: string) => string {
  const target = new Sealer(key);
  const folderKey = findSecretsKey(dataDir);
  const own = folderKey === null ? null : new Sealer(folderKey);
  return (sealed) => {
    try {
      return target.seal(target.open(sealed));
    } catch (error) {
      if (own === null) throw error;
      return target.seal(own.open(sealed));
    }
  };
}

/** @throws Failure where those who are served from the target couldn't open what would be sealed for it */
async function expectTargetsKey(key: Buffer, { store }: OpenStore): Promise<void> {
  if (await isKeyOf(new Sealer(key), store)) return;
  throw new Failure(
    'SECRET_NOT_OPENED',
    'SECRETS_KEY is not the key that the secrets in the database of --to are sealed with: set that one; no account was moved',
  );
}

/** What commands are answered meanwhile. */
async function refuse(): Promise<never> {
  throw new Busy(NAME);
}

/** The data folder, held: no server starts on it meanwhile, and commands are told what goes on. */
async function holdSource(config: Config, incarnation: string): Promise<FolderHold> {
  const since = new Date(now()).toISOString();
  const self = { incarnation, pid: process.pid, since, version: packageVersion(), what: NAME };
  try {
    const folder = dataFolder(config.dataDir, 'write');
    return await takeWithPrecedence(folder, self, Promise.resolve(refuse));
  } catch (error) {
    if (!(error instanceof FolderHeld)) throw error;
    throw new Failure('STORE_IN_USE', `${error.message}; stop it before its accounts are moved`);
  }
}

/** A line on stderr now and then: a long journal takes its time. */
function teller(): (progress: Progress) => void {
  let toldAt = now();
  return ({ step, account, done, of }) => {
    if (now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = now();
    process.stderr.write(`${step} ${account}: ${done} of ${of} batches\n`);
  };
}

const AGAIN = 'nothing is lost: the same command again goes on from here';

function failureFor(error: unknown): unknown {
  if (error instanceof StoreUnavailable)
    return new Failure('SERVICE_UNAVAILABLE', `${error.message}; ${AGAIN}`);
  if (!(error instanceof MigrationRefused)) return error;
  const { code, message, differences } = error;
  return new Failure(code, message, differences.length === 0 ? {} : { differences });
}

function reportOf(accounts: readonly MovedAccount[], dataDir: string): string {
  if (accounts.length === 0) return `There is no account in ${dataDir}: nothing to move.`;
  const lines = accounts.map(({ accountId, moved, batches, entries, seq, hash }) =>
    moved
      ? `${accountId}  moved: ${batches} batches, ${entries} entries\n  head ${seq}  ${hash}`
      : `${accountId}  was moved before: nothing to do`,
  );
  if (accounts.some(({ moved }) => moved)) {
    lines.push(
      `What was moved is inactive in ${dataDir} from now on; a server with MONGODB_URI and the same SECRETS_KEY serves it.`,
    );
  }
  return lines.join('\n');
}

async function migrateFrom(
  source: OpenStore,
  key: Buffer,
  incarnation: string,
  { to, account }: MigrateStoreOptions,
): Promise<Outcome> {
  const dataDir = source.place;
  const reseal = resealer(key, dataDir);
  const target = await openTarget(to, incarnation);
  // A process without a heartbeat is taken for dead, and others go on with its work.
  const beat = setInterval(() => {
    source.store.due.beat(now()).catch(() => {});
    target.store.due.beat(target.now()).catch(() => {});
  }, BEAT_MS);
  try {
    await expectTargetsKey(key, target);
    const options = { source: source.store, target: target.store, reseal, accounts: account ?? null, now };
    const accounts = await migrate({ ...options, report: teller() });
    return { document: { accounts }, text: reportOf(accounts, dataDir) };
  } finally {
    clearInterval(beat);
    await target.close();
  }
}

export async function migrateStore(shell: ProcessShell, options: MigrateStoreOptions): Promise<Outcome> {
  const config = shell.config();
  checkTarget(options.to);
  const key = targetKey(config);
  const incarnation = newIncarnation();
  const hold = await holdSource(config, incarnation);
  try {
    const onFatal = (error: Error, unwritten: Unwritten): void => {
      if (unwritten === 'log') shell.end(failureFor(new StoreUnavailable(writeFailure(error))));
    };
    const source = await openFolderStore(config.dataDir, { incarnation, now, access: 'write', onFatal });
    const work = (): Promise<Outcome> => migrateFrom(source, key, incarnation, options);
    return await hold.works
      .run({ kind: 'alone', name: NAME }, work)
      .finally(() => behind(shell.output, () => source.close()));
  } catch (error) {
    throw failureFor(error);
  } finally {
    await hold.release();
  }
}
