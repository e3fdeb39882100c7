/**
 * A database that an older build left, as `older-build.ts` describes it: kept and restored. Apart, since it needs the
 * driver.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BSON, type Db, type Document, type IndexSpecification, MongoClient } from 'mongodb';
import { freshDatabase } from './mongodb.ts';
import { type Copy, copyEnv, keptIn, readAnswers } from './older-build.ts';
import { temporaryFolder } from './process.ts';

/** What a collection or a view is made of, beside its documents. */
interface Metadata {
  collectionName: string;
  type: 'collection' | 'view';
  options: Document;
  indexes: ({ key: IndexSpecification } & Document)[];
}

/** A collection, each document as its bytes. */
export interface KeptCollection {
  metadata: Metadata;
  documents: Buffer[];
}

const METADATA = '.metadata.json.gz';

/** Connects to the database of a connection string for one piece of work. */
export async function withDatabaseOf<Value>(uri: string, body: (db: Db) => Promise<Value>): Promise<Value> {
  const client = new MongoClient(uri);
  try {
    return await body(client.db());
  } finally {
    await client.close();
  }
}

/** All that a database holds, each document as the bytes that it has there, in the order of their ids. */
export function readDatabase(uri: string): Promise<KeptCollection[]> {
  return withDatabaseOf(uri, async (db) => {
    const found = await db.listCollections({}, { nameOnly: false }).toArray();
    const names = found
      .filter(({ name }) => !name.startsWith('system.'))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return Promise.all(
      names.map(async ({ name, type, options = {} }) => {
        const isView = type === 'view';
        const collection = db.collection(name);
        const indexes = isView ? [] : await collection.listIndexes().toArray();
        const raw = { raw: true, sort: { _id: 1 } } as const;
        const documents = isView ? [] : await collection.find({}, raw).toArray();
        const kind: Metadata['type'] = isView ? 'view' : 'collection';
        return {
          metadata: { collectionName: name, type: kind, options, indexes: indexes as Metadata['indexes'] },
          documents: documents as unknown as Buffer[],
        };
      }),
    );
  });
}

/** Writes all that a database holds into a folder. */
export async function keepDatabase(uri: string, kept: string): Promise<void> {
  for (const { metadata, documents } of await readDatabase(uri)) {
    const { collectionName: name, type } = metadata;
    const text = BSON.EJSON.stringify(metadata, { relaxed: false });
    await writeFile(join(kept, `${name}${METADATA}`), gzipSync(text, { level: 9 }));
    if (type === 'view') continue;
    await writeFile(join(kept, `${name}.bson.gz`), gzipSync(Buffer.concat(documents), { level: 9 }));
  }
}

/** The documents of a file of BSON, with the types that they have there. */
function documentsIn(bytes: Buffer): Document[] {
  const documents: Document[] = [];
  for (let start = 0; start < bytes.length; start += bytes.readInt32LE(start)) {
    const document = bytes.subarray(start, start + bytes.readInt32LE(start));
    documents.push(BSON.deserialize(document, { promoteValues: false }));
  }
  return documents;
}

async function restore(db: Db, kept: string, file: string): Promise<void> {
  const text = gunzipSync(await readFile(join(kept, file))).toString('utf8');
  const { collectionName: name, type, options, indexes } = BSON.EJSON.parse(text) as Metadata;
  await db.createCollection(name, options);
  if (type === 'view') return;
  const collection = db.collection(name);
  const documents = documentsIn(gunzipSync(await readFile(join(kept, `${name}.bson.gz`))));
  if (documents.length > 0) await collection.insertMany(documents);
  for (const { key, v: _, ...index } of indexes) await collection.createIndex(key, index);
}

/** Fills an empty database with what a folder keeps. */
export async function restoreDatabase(kept: string, uri: string): Promise<void> {
  const files = (await readdir(kept)).filter((file) => file.endsWith(METADATA)).sort();
  await withDatabaseOf(uri, async (db) => {
    for (const file of files) await restore(db, kept, file);
  });
}

/** A build's database, restored on the test server. */
export async function copyDatabase(build: string): Promise<Copy> {
  const place = keptIn(build, 'database');
  const kept = await readAnswers(place);
  const dataDir = await temporaryFolder();
  const { uri, drop } = await freshDatabase();
  await restoreDatabase(place, uri);
  return {
    kept,
    dataDir,
    env: { ...copyEnv(kept), MONGODB_URI: uri, SECRETS_KEY: kept.secretsKey },
    async remove() {
      await drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
