/** A store to be filled: a data folder, or a database that a part was moved to from a data folder before. */
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BSON } from 'mongodb';
import { merchantOf } from '../../test/support/client.ts';
import { charge, told, transfer } from '../../test/support/flows.ts';
import { text } from '../../test/support/json.ts';
import { freshDatabase } from '../../test/support/mongodb.ts';
import { type KeptStore, restoreFolder } from '../../test/support/older-build.ts';
import { type KeptCollection, readDatabase, restoreDatabase } from '../../test/support/older-database.ts';
import { type Env, temporaryFolder } from '../../test/support/process.ts';
import type { ReceiverAddress } from '../../test/support/receiver.ts';
import { startServer } from '../../test/support/server.ts';
import { databasePlace, folderPlace, type Place } from './places.ts';
import { runCommand } from './stage.ts';

export interface Variant {
  readonly store: KeptStore;
  readonly place: Place;
  /** Of no other process on any machine, as far as one can know: a port that nobody is given on an address of loopback. */
  readonly receiver: ReceiverAddress;
  /** Also of a database's server, whose folder stays empty. */
  readonly dataDir: string;
  /** Which store a process works on. */
  readonly env: Env;
  secretsKey(): Promise<string>;
  /** Restores what was kept, to be asked; the environment of commands on it. */
  copy(kept: string): Promise<Env>;
  /** Removes all that was made beside what is kept. */
  remove(): Promise<void>;
}

const RECEIVER_PORT = 17_018;

export async function folderVariant(): Promise<Variant> {
  const dataDir = await temporaryFolder();
  const copied = await temporaryFolder();
  const secretsKey = async (): Promise<string> =>
    (await readFile(join(dataDir, 'secrets.key'), 'utf8')).trim();
  return {
    store: 'folder',
    place: folderPlace(dataDir),
    receiver: { host: '127.70.18.1', port: RECEIVER_PORT },
    dataDir,
    env: { MONGODB_URI: '' },
    secretsKey,
    async copy(kept) {
      await restoreFolder(kept, copied, await secretsKey());
      return { MONGODB_URI: '', DATA_DIR: copied };
    },
    async remove() {
      for (const folder of [dataDir, copied]) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** An account from a data folder: its batches are marked as imported. */
async function importAccount(build: string, env: Env): Promise<void> {
  const main = join(build, 'dist', 'src', 'main.js');
  const server = await startServer({ entry: [main], env: { MONGODB_URI: '' } });
  try {
    const command = ['account', 'create', '--name', 'Merchant moved', '--balance', '50000'];
    const client = merchantOf(server, await runCommand(build, server.env, command));
    await charge(client, 10_000, { expiresIn: 2_592_000, externalRef: 'before the move' });
    const id = text(await charge(client, 20_000, { metadata: { $ref: 'moved' } }), 'id');
    await told(client, id, 'PAY');
    await transfer(client, 1_107, { idempotencyKey: 'before the move' });
    await server.terminate();
    const target = env.MONGODB_URI ?? '';
    await runCommand(build, { ...server.env, ...env }, ['migrate-store', '--to', target]);
  } finally {
    await server.stop();
  }
}

/**
 * Each document must come back with its types. But for the order of a `$id` and a `$ref`, which the driver takes for a
 * reference and changes: where the order matters, the store has the exact text beside them.
 */
function expectSame(kept: readonly KeptCollection[], restored: readonly KeptCollection[]): void {
  const typed = ({ metadata, documents }: KeptCollection) => ({
    name: metadata.collectionName,
    indexes: metadata.indexes,
    documents: documents.map((document) => BSON.deserialize(document, { promoteValues: false })),
  });
  if (!isDeepStrictEqual(kept.map(typed), restored.map(typed)))
    throw new Error('what is restored is not what was kept');
}

export async function databaseVariant(build: string): Promise<Variant> {
  const [own, copied] = [await freshDatabase(), await freshDatabase()];
  const dataDir = await temporaryFolder();
  const secretsKey = randomBytes(32).toString('base64');
  const env: Env = { MONGODB_URI: own.uri, SECRETS_KEY: secretsKey };
  await importAccount(build, env);
  return {
    store: 'database',
    place: databasePlace(own.uri),
    receiver: { host: '127.70.18.2', port: RECEIVER_PORT },
    dataDir,
    env,
    secretsKey: async () => secretsKey,
    async copy(kept) {
      await restoreDatabase(kept, copied.uri);
      expectSame(await readDatabase(own.uri), await readDatabase(copied.uri));
      return { ...env, MONGODB_URI: copied.uri };
    },
    async remove() {
      await rm(dataDir, { recursive: true, force: true });
      for (const database of [own, copied]) await database.drop();
    },
  };
}
