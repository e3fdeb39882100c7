/** What was noted for a person to look at, on MongoDB: an item stays, marked, once somebody is done with it. */
import { type About, type Attention, type AttentionItem, itemOf } from '../../engine/store.ts';
import { MAJORITY, type MongoConnection } from './connection.ts';
import { type Plain, toBson, toIso } from './documents.ts';
import type { MongoReads } from './reads.ts';
import { updateAll } from './writes.ts';

export interface AttentionDocument extends Plain {
  /** Kind and id. */
  _id: string;
  kind: AttentionItem['kind'];
  id: string;
  what: string;
  next: string;
  since: Date | string;
  done: boolean;
  /** Absent in items of former builds. */
  amount?: number | null;
  about?: About;
}

function attentionDocument(item: AttentionItem): AttentionDocument {
  return toBson({ _id: `${item.kind}:${item.id}`, ...item, done: false }) as AttentionDocument;
}

function attentionFromDocument(document: AttentionDocument): AttentionItem {
  const { kind, id, what, next, since, about, amount = null } = document;
  return itemOf({ kind, id, what, next }, toIso(since), about, amount);
}

/** The statement that puts an item in the place of the one before, done or not: news again. */
export function attentionAnew(item: AttentionItem): object {
  const { _id, ...parts } = attentionDocument(item);
  return { q: { _id }, u: { $set: parts }, upsert: true };
}

/** Puts items on the list until that is known to be done; those that are known stay as they are. */
export async function noteAll(connection: MongoConnection, items: readonly AttentionItem[]): Promise<void> {
  const statements = items.map((item) => {
    const { _id, ...parts } = attentionDocument(item);
    return { q: { _id }, u: { $setOnInsert: parts }, upsert: true };
  });
  await updateAll(connection, 'attention', statements);
}

export class MongoAttention implements Attention {
  readonly #connection: MongoConnection;
  readonly #reads: MongoReads;

  constructor(connection: MongoConnection, reads: MongoReads) {
    this.#connection = connection;
    this.#reads = reads;
  }

  async list(): Promise<AttentionItem[]> {
    this.#connection.check();
    const options = { sort: { since: 1 } };
    const found = await this.#reads.find<AttentionDocument>('attention', { done: false }, options);
    return found.map(attentionFromDocument);
  }

  async note(items: AttentionItem[]): Promise<void> {
    this.#connection.check();
    await noteAll(this.#connection, items);
  }

  async dismiss(id: string): Promise<boolean> {
    this.#connection.check();
    const updates = [{ q: { id, done: false }, u: { $set: { done: true } }, multi: true }];
    const { n } = await this.#connection.command({ update: 'attention', updates, writeConcern: MAJORITY });
    return n > 0;
  }

  async dismissed(ids: readonly string[]): Promise<boolean[]> {
    this.#connection.check();
    if (ids.length === 0) return [];
    const found = await this.#reads.find<AttentionDocument>('attention', { id: { $in: ids } });
    const known = new Set(found.map(({ id }) => id));
    const open = new Set(found.filter(({ done }) => !done).map(({ id }) => id));
    return ids.map((id) => known.has(id) && !open.has(id));
  }
}
