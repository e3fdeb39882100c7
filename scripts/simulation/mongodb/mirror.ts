/** What the processes of a simulation store in MongoDB, as it was at the last look. */
import { type Document, MongoClient } from 'mongodb';
import type { Account } from '../../../src/domain/account.ts';
import type { Batch } from '../../../src/engine/journal.ts';
import { contentOf } from '../../../src/engine/store/content.ts';
import type { LookupRow } from '../../../src/engine/store/lookups.ts';
import type { AttentionKey } from '../../../src/engine/store.ts';
import {
  type AccountDocument,
  accountDocument,
  accountFromDocument,
} from '../../../src/store/mongo/accounts.ts';
import { type AttentionDocument, attentionFromDocument } from '../../../src/store/mongo/attention.ts';
import { rowOfAdjustment, rowOfRefusal, rowsOf } from '../../../src/store/mongo/audit/lookup-pages.ts';
import {
  type AdjustmentDocument,
  batchFromDocument,
  type JournalDocument,
  type RefusalDocument,
  recordFromDocument,
  type TransactionDocument,
} from '../../../src/store/mongo/documents.ts';
import { type DeliveryDocument, deliveryFromDocument } from '../../../src/store/mongo/due/documents.ts';
import { MemoryState } from '../../../test/support/memory-store/state.ts';
import type { SettingsHistory } from '../settings.ts';
import type { Stored } from '../stored.ts';

/** Those that are read as a whole where something in them has changed. */
const WHOLE = ['transactions', 'deliveries', 'adjustments', 'refusals', 'attention', 'accounts'] as const;
type Whole = (typeof WHOLE)[number];

interface Due {
  due?: Date;
}

function dueAmong(held: readonly Due[]): number {
  return held.filter(({ due }) => due !== undefined).length;
}

export class Mirror implements Stored {
  readonly #client: MongoClient;
  readonly #history: SettingsHistory;
  readonly #changed = new Set<string>([...WHOLE, 'journal']);
  readonly #documents = new Map<Whole, Document[]>();
  readonly #batches = new Map<string, Batch[]>();
  /** The numbers of the accounts' last batches, as they are now. */
  readonly #seqs = new Map<string, number>();
  #state = new MemoryState();

  constructor(uri: string, history: SettingsHistory) {
    this.#client = new MongoClient(uri);
    this.#history = history;
  }

  #collection<Found extends Document>(name: Whole | 'journal') {
    return this.#client.db().collection<Found>(name);
  }

  #of<Found extends Document>(name: Whole): Found[] {
    return (this.#documents.get(name) ?? []) as Found[];
  }

  /** An account's. */
  #ownOf<Found extends Document & { account: string }>(name: Whole, account: string): Found[] {
    return this.#of<Found>(name).filter((document) => document.account === account);
  }

  /** A write took effect. Settings and heads are followed at once: who changed what, and when, is judged by them. */
  async changed(collection: string): Promise<void> {
    this.#changed.add(collection);
    if (collection === 'accounts') await this.#followSettings();
    if (collection === 'journal') await this.#followHeads();
  }

  async #followSettings(): Promise<void> {
    const before = new Map(this.#of<AccountDocument>('accounts').map(({ _id, version }) => [_id, version]));
    const found = await this.#collection<AccountDocument>('accounts').find().toArray();
    this.#documents.set('accounts', found);
    for (const document of found as AccountDocument[])
      if (before.get(document._id) !== document.version) this.#history.changed(accountFromDocument(document));
  }

  async #followHeads(): Promise<void> {
    for (const { _id: account } of this.#of<AccountDocument>('accounts')) {
      const options = { sort: { seq: -1 }, projection: { seq: 1 } } as const;
      const last = await this.#collection<JournalDocument>('journal').findOne({ account }, options);
      this.#seqs.set(account, last?.seq ?? 0);
    }
  }

  /** Reads what was written since the last look. */
  async refresh(): Promise<void> {
    if (this.#changed.size === 0) return;
    const changed = WHOLE.filter((name) => this.#changed.has(name));
    this.#changed.clear();
    for (const name of changed) this.#documents.set(name, await this.#collection(name).find().toArray());
    for (const { _id } of this.#of<AccountDocument>('accounts')) await this.#readBatches(_id);
    this.#state = this.#made();
  }

  async #readBatches(account: string): Promise<void> {
    const known = this.#batches.get(account) ?? [];
    this.#batches.set(account, known);
    const later = { account, seq: { $gt: known.length } };
    const found = await this.#collection<JournalDocument>('journal').find(later).sort({ seq: 1 }).toArray();
    for (const document of found) known.push(batchFromDocument(document as JournalDocument));
  }

  /** All of it in memory, by what the store in memory has to write it. */
  #made(): MemoryState {
    const state = new MemoryState();
    for (const [account, batches] of this.#batches) {
      const last = batches.at(-1);
      const own = {
        records: this.#ownOf<TransactionDocument>('transactions', account).map(recordFromDocument),
        lookups: this.#lookups(account),
      };
      const nothing = { due: [], attention: [], withdrawn: [], claimUntil: 0 };
      for (const batch of batches) {
        const projections = batch === last ? own : { records: [], lookups: [] };
        state.append({ batch, content: contentOf(batch), ...nothing, ...projections }, '', 0);
      }
    }
    // It has no progress until it was attempted.
    for (const document of this.#of<DeliveryDocument>('deliveries'))
      if (document.failures !== undefined)
        state.settle({ claim: null, next: null, record: deliveryFromDocument(document) }, 0);
    for (const document of this.#of<AttentionDocument>('attention')) {
      const item = attentionFromDocument(document);
      state.note([item]);
      if (document.done) state.dismiss([item]);
    }
    return state;
  }

  #lookups(account: string): LookupRow[] {
    // Of several charges with one key the newest is found.
    const transactions = this.#ownOf<TransactionDocument>('transactions', account);
    return [
      ...transactions.sort((one, other) => one.order - other.order).flatMap(rowsOf),
      ...this.#ownOf<AdjustmentDocument>('adjustments', account).map(rowOfAdjustment),
      ...this.#ownOf<RefusalDocument>('refusals', account).map(rowOfRefusal),
    ];
  }

  get left(): number {
    const deliveries = this.#of<DeliveryDocument>('deliveries');
    const behind = deliveries.filter((document) => document.behind !== undefined).length;
    const elements = this.#of<TransactionDocument>('transactions').flatMap(({ timers, orders = [] }) => [
      ...timers,
      ...orders,
    ]);
    return dueAmong(deliveries) + behind + dueAmong(elements);
  }

  head: Stored['head'] = (account) => {
    return { ...this.#state.head(account), seq: this.#seqs.get(account) ?? 0 };
  };
  account: Stored['account'] = (id) => {
    const found = this.#of<AccountDocument>('accounts').find(({ _id }) => _id === id);
    return found === undefined ? null : accountFromDocument(found);
  };
  journal: Stored['journal'] = (...page) => this.#state.journal(...page);
  transaction: Stored['transaction'] = (id) => this.#state.transaction(id);
  records: Stored['records'] = (...page) => this.#state.records(...page);
  lookups: Stored['lookups'] = (...page) => this.#state.lookups(...page);
  deliveries: Stored['deliveries'] = (transaction) => this.#state.deliveries(transaction);
  listed: Stored['listed'] = (...page) => this.#state.listed(...page);
  dismissed: Stored['dismissed'] = (ids) => this.#state.dismissed(ids);
  failedDeliveries: Stored['failedDeliveries'] = (...page) => this.#state.failedDeliveries(...page);

  async putAccount(account: Account): Promise<void> {
    const document = accountDocument(account);
    const { _id } = document;
    await this.#collection<AccountDocument>('accounts').replaceOne({ _id }, document, { upsert: true });
    await this.changed('accounts');
  }

  async withdraw(items: readonly AttentionKey[]): Promise<void> {
    for (const { kind, id } of items)
      await this.#collection<AttentionDocument>('attention').deleteOne({ kind, id });
    await this.changed('attention');
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
