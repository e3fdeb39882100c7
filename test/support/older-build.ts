/**
 * What older builds left behind, kept in `test/older-builds/<build>/`: a data folder and a database, each as a
 * `kill -9` of its server left it, and beside it what that build answered about it. The tests of this build start
 * from there: what was stored once is served for ever.
 *
 * - `folder/pixstate.lmdb.gz`: the embedded store's file. Its key is in `answers.json`.
 * - `database/`: as `mongodump --gzip` writes a database, so that `mongorestore --gzip` reads it too: of each
 *   collection its documents in BSON, and its options and indexes in canonical Extended JSON.
 * - `answers.json`, in both: `KeptAnswers` but for the long documents, which `documents.json.gz` has: each
 *   transaction's body by its id, and each whole `inspect` by its story.
 *
 * `scripts/older-build.ts` makes all of it; its head says how.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { at, type Json, object } from './json.ts';
import { type Env, packageRoot, temporaryFolder } from './process.ts';
import { type Receiver, type ReceiverAddress, startReceiver } from './receiver.ts';
import { callbackSecret } from './signature.ts';
import { until } from './wait.ts';

/** The two stores that each build is kept in. */
export type KeptStore = 'folder' | 'database';

/** An account with its secrets, as `account create` printed it; the secrets are the newest ones. */
export interface KeptMerchant {
  accountId: string;
  clientId: string;
  clientSecret: string;
  webhooks: { url: string; secret: string }[];
}

/** A transaction as the older build showed it after the crash. */
export interface KeptTransaction {
  /** What it is there for, unique within its store; those that the last flood left are all called `flood`. */
  story: string;
  /** Its name among the merchants; null where no secret is known. */
  merchant: string | null;
  id: string;
  type: 'pix-in' | 'cashout';
  status: string;
  /** Something of it is due: it goes on as soon as it is served. */
  moves: boolean;
  /** How many deliveries it has, by their status. */
  deliveries: Record<string, number>;
}

/** A message of the bank that was applied. */
export interface KeptMessage {
  id: string;
  transactionId: string;
  type: string;
  data: Json;
}

/** What an older build answered about what it left. */
export interface KeptAnswers {
  /** The commit that it was built from. */
  build: string;
  /** When its server was killed. */
  killedAt: string;
  /** Where its webhooks go: deliveries keep their URL, so whoever receives them listens there. */
  receiver: ReceiverAddress;
  /** Seals the webhook secrets: 32 bytes in base64. */
  secretsKey: string;
  /** `STUCK_AFTER_S`, which `attention` was asked with. */
  stuckAfterS: number;
  merchants: ({ name: string } & KeptMerchant)[];
  /** The credentials of one merchant before they were rotated. */
  retired: { clientId: string; clientSecret: string };
  transactions: KeptTransaction[];
  /** A message that was applied, to be told again. */
  message: KeptMessage;
  /** `verify --heads --decide --json`, but for the heads. */
  verified: Json;
  /** Its heads. */
  heads: Json[];
  /** The accounts of `account list --json`. */
  accounts: Json[];
  /** The items of `attention --json`. */
  attention: Json[];
}

/** The long ones of a build's answers. */
export interface KeptDocuments {
  /** The body of each transaction's GET, by its id. */
  bodies: Record<string, Json>;
  /** `inspect --json` of some, by their story. */
  inspected: Record<string, Json>;
}

/** All that a build answered. */
export type Kept = KeptAnswers & KeptDocuments;

/** The folder of one store that a build left. */
export function keptIn(build: string, store: KeptStore): string {
  return join(packageRoot, 'test', 'older-builds', build, store);
}

const ANSWERS = 'answers.json';
const DOCUMENTS = 'documents.json.gz';

const REFUNDABLE_MS = 90 * 24 * 3_600_000;

/** A transaction as that build showed it, with what is shown since: it took money back as a whole or not at all. */
function shownSince(body: Json): Json {
  const shown = object(body);
  const { type, status, amount = null, paidAt } = shown;
  if (type === 'cashout') return { ...shown, returnedAmount: 0 };
  const isRefundable = status === 'paid' && Date.now() - Date.parse(String(paidAt)) < REFUNDABLE_MS;
  return {
    ...shown,
    idempotencyKey: null,
    refundedAmount: status === 'refunded' ? amount : 0,
    chargedbackAmount: status === 'chargedback' ? amount : 0,
    refundableAmount: isRefundable ? amount : 0,
  };
}

/** What the build answered, as it is answered since. */
export async function readAnswers(kept: string): Promise<Kept> {
  const answers: KeptAnswers = JSON.parse(await readFile(join(kept, ANSWERS), 'utf8'));
  const packed = await readFile(join(kept, DOCUMENTS));
  const documents: KeptDocuments = JSON.parse(gunzipSync(packed).toString('utf8'));
  const bodies = Object.entries(documents.bodies).map(([id, body]) => [id, shownSince(body)]);
  const inspected = Object.entries(documents.inspected).map(([story, document]) => [
    story,
    { ...object(document), transaction: shownSince(at(document, 'transaction')) },
  ]);
  return { ...answers, bodies: Object.fromEntries(bodies), inspected: Object.fromEntries(inspected) };
}

/** Each member on a line of its own, those of lists too: what is kept is read, and compared with what comes later. */
function lines(answers: KeptAnswers): string {
  const value = (member: unknown): string =>
    Array.isArray(member)
      ? `[\n${member.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`
      : JSON.stringify(member);
  const members = Object.entries(answers).map(
    ([name, member]) => `  ${JSON.stringify(name)}: ${value(member)}`,
  );
  return `{\n${members.join(',\n')}\n}\n`;
}

/** Keeps what a build answered. */
export async function writeAnswers(kept: string, { bodies, inspected, ...answers }: Kept): Promise<void> {
  const documents: KeptDocuments = { bodies, inspected };
  await writeFile(join(kept, ANSWERS), lines(answers));
  await writeFile(join(kept, DOCUMENTS), gzipSync(JSON.stringify(documents), { level: 9 }));
}

/** Puts the kept store and its key into an empty folder, which is a data folder then. */
export async function restoreFolder(kept: string, dataDir: string, secretsKey: string): Promise<void> {
  const packed = await readFile(join(kept, 'pixstate.lmdb.gz'));
  await writeFile(join(dataDir, 'pixstate.lmdb'), gunzipSync(packed));
  await writeFile(join(dataDir, 'secrets.key'), secretsKey, { mode: 0o600 });
}

/** A store that an older build left, restored for one suite. */
export interface Copy {
  readonly kept: Kept;
  readonly dataDir: string;
  /** What a server and commands on it are started with. */
  readonly env: Env;
  /** Removes it. */
  remove(): Promise<void>;
}

/** The configuration that both stores share. */
export function copyEnv({ stuckAfterS }: Kept): Env {
  return { BANK_CALLBACK_SECRET: callbackSecret, STUCK_AFTER_S: String(stuckAfterS) };
}

/** A build's data folder, restored. */
export async function copyFolder(build: string): Promise<Copy> {
  const place = keptIn(build, 'folder');
  const kept = await readAnswers(place);
  const dataDir = await temporaryFolder();
  await restoreFolder(place, dataDir, kept.secretsKey);
  return {
    kept,
    dataDir,
    env: { ...copyEnv(kept), MONGODB_URI: '' },
    remove: () => rm(dataDir, { recursive: true, force: true }),
  };
}

const ADDRESS_FREE_MS = 300_000;

/**
 * A receiver where the kept webhooks go. Two runs of these tests on one machine take turns: whoever has the address
 * keeps it until its server has ended, so that no webhook of one reaches the other.
 */
export async function receiverOf({ receiver }: Pick<KeptAnswers, 'receiver'>): Promise<Receiver> {
  const listening = async (): Promise<Receiver | null> => {
    try {
      return await startReceiver(receiver);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
      throw error;
    }
  };
  return until(listening, ADDRESS_FREE_MS, `a free port ${receiver.port} on ${receiver.host}`);
}

/** The kept merchant of a name. */
export function keptMerchant({ merchants }: KeptAnswers, wanted: string): KeptMerchant {
  const found = merchants.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no merchant ${wanted} was kept`);
  return found;
}

/** The kept transaction of a story. */
export function keptOf({ transactions }: KeptAnswers, story: string): KeptTransaction {
  const found = transactions.find((transaction) => transaction.story === story);
  if (found === undefined) throw new Error(`no transaction of the story '${story}' was kept`);
  return found;
}

/** Deliveries by their status, as `inspect` or `GET /webhooks` lists them. */
export function countDeliveries(deliveries: readonly Json[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const delivery of deliveries) {
    const { status } = object(delivery);
    if (typeof status !== 'string')
      throw new Error(`a delivery without a status: ${JSON.stringify(delivery)}`);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
