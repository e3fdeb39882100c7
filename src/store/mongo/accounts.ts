/** The settings of accounts on MongoDB: a document for each, replaced whole, version after version; and the store's own marks. */
import type { Document } from 'mongodb';
import type { Account } from '../../domain/account.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Marks } from '../../engine/store/marks.ts';
import type { AccountTable } from '../../engine/store.ts';
import { fromBson, type Plain, toBson } from './bson.ts';
import { MAJORITY, type MongoConnection } from './connection.ts';
import { isTaken } from './errors.ts';
import { Gathered } from './gathering.ts';
import type { MongoReads } from './reads.ts';
import { allTaken, insertAll, updateAll } from './writes/writes.ts';

export interface AccountDocument extends Plain {
  _id: string;
  version: number;
  clientId: string;
}

export function accountDocument({ id, ...settings }: Account): AccountDocument {
  return toBson({ _id: id, ...settings }) as AccountDocument;
}

export function accountFromDocument({ _id, ...settings }: AccountDocument): Account {
  return { id: _id, ...(fromBson(settings) as Omit<Account, 'id'>) };
}

/** Sends an update, once; null where another document has the key. @throws StoreUnavailable */
async function updateOnce(
  connection: MongoConnection,
  collection: string,
  statement: Document,
): Promise<Document | null> {
  try {
    return await connection.command({ update: collection, updates: [statement], writeConcern: MAJORITY });
  } catch (error) {
    if (isTaken(error)) return null;
    throw error;
  }
}

export class MongoAccounts implements AccountTable {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;
  readonly #byId: Gathered<string, AccountDocument>;
  /** Whether each was inserted; the reason where the database never takes it. */
  readonly #inserting = new Gathered<AccountDocument, boolean | Error>({ waiting: 0 }, (documents) =>
    this.#insert(documents),
  );

  constructor(connection: MongoConnection, reads: MongoReads) {
    this.#connection = connection;
    this.#reads = reads;
    this.#byId = reads.gathered((ids) => reads.byId<AccountDocument>('accounts', ids));
  }

  async get(id: string): Promise<Account | null> {
    this.#connection.check();
    const document = await this.#byId.get(id);
    return document === null ? null : accountFromDocument(document);
  }

  async byClientId(clientId: string): Promise<Account | null> {
    this.#connection.check();
    const [document] = await this.#reads.find<AccountDocument>('accounts', { clientId }, { limit: 1 });
    return document === undefined ? null : accountFromDocument(document);
  }

  async after(id: string, limit: number): Promise<Account[]> {
    this.#connection.check();
    const inOrder = { sort: { _id: 1 }, limit };
    const found = await this.#reads.find<AccountDocument>('accounts', { _id: { $gt: id } }, inOrder);
    return found.map(accountFromDocument);
  }

  async isEmpty(): Promise<boolean> {
    this.#connection.check();
    // By the index of ids: a look without an order would scan the collection, though only to its first document.
    const options = { projection: { _id: 1 }, sort: { _id: 1 }, limit: 1 };
    return (await this.#reads.find<AccountDocument>('accounts', {}, options)).length === 0;
  }

  async put(account: Account): Promise<boolean> {
    this.#connection.check();
    if (await this.#write(accountDocument(account))) return true;
    // Where an answer was lost on the way, what is stored is what was to be.
    const stored = await this.get(account.id);
    return stored !== null && canonicalJson(stored) === canonicalJson(account);
  }

  async #write(document: AccountDocument): Promise<boolean> {
    const { _id, version } = document;
    // New accounts come in thousands, for load tests: together.
    if (version === 1) {
      const outcome = await this.#inserting.get(document);
      if (outcome instanceof Error) throw outcome;
      return outcome === true;
    }
    const statement = { q: { _id, version: version - 1 }, u: document };
    return (await updateOnce(this.#connection, 'accounts', statement))?.n === 1;
  }

  async #insert(documents: AccountDocument[]): Promise<(boolean | Error)[]> {
    const { taken, refused } = await insertAll(this.#connection, 'accounts', documents);
    const others = new Set(taken);
    return documents.map((document) => refused.get(document) ?? !others.has(document));
  }
}

interface MarkDocument extends Plain {
  _id: string;
  text: string;
}

export class MongoMarks implements Marks {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;

  constructor(connection: MongoConnection, reads: MongoReads) {
    this.#connection = connection;
    this.#reads = reads;
  }

  async mark(name: string): Promise<string | null> {
    this.#connection.check();
    return (await this.#reads.find<MarkDocument>('marks', { _id: name }))[0]?.text ?? null;
  }

  async keepMark(name: string, text: string): Promise<void> {
    await this.#update(name, { $setOnInsert: { text } });
  }

  async putMark(name: string, text: string): Promise<void> {
    await this.#update(name, { $set: { text } });
  }

  async swapMark(name: string, before: string | null, text: string): Promise<boolean> {
    this.#connection.check();
    const q = before === null ? { _id: name } : { _id: name, text: before };
    const u = before === null ? { $setOnInsert: { text } } : { $set: { text } };
    const answer = await updateOnce(this.#connection, 'marks', { q, u, upsert: before === null });
    return before === null ? answer?.upserted?.length === 1 : answer?.n === 1;
  }

  async #update(name: string, u: object): Promise<void> {
    this.#connection.check();
    allTaken(await updateAll(this.#connection, 'marks', [{ q: { _id: name }, u, upsert: true }]));
  }
}
