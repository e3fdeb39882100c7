/** What lookups find among what is projected: in transactions' documents, or in documents of their own. */
import type { Lookup } from '../../engine/store/lookups.ts';
import type { AdjustmentDocument, LookupElement, RefusalDocument } from './documents.ts';
import type { Gathered } from './gathering.ts';
import type { MongoReads } from './reads.ts';

/** A lookup of one of many accounts. */
type AccountLookup = Lookup & { account: string };

/** Of the transactions that are found by one key, the one with the highest order. */
class Newest<Value> {
  readonly #found = new Map<string, { value: Value; order: number }>();

  offer(key: string, value: Value, order: number): void {
    if ((this.#found.get(key)?.order ?? -1) <= order) this.#found.set(key, { value, order });
  }

  get(key: string): Value | null {
    return this.#found.get(key)?.value ?? null;
  }
}

export class MongoLookups {
  readonly #reads: MongoReads;
  readonly #elements: Gathered<AccountLookup, string>;
  readonly #charges: Gathered<AccountLookup, string>;
  readonly #adjustments: Gathered<AccountLookup, string>;
  readonly #refusals: Gathered<AccountLookup, string>;

  constructor(reads: MongoReads) {
    this.#reads = reads;
    this.#elements = reads.gathered((wanted) => this.#readElements(wanted));
    this.#charges = reads.gathered((wanted) => this.#readNewestCharges(wanted));
    this.#adjustments = reads.gathered((wanted) => this.#readAdjustments(wanted));
    this.#refusals = reads.gathered((wanted) => this.#readRefusals(wanted));
  }

  /** Null where nothing is found. */
  async find(account: string, lookup: Lookup): Promise<string | null> {
    const { name, key } = lookup;
    const wanted = { account, name, key };
    switch (name) {
      case 'externalRef':
        return this.#charges.get(wanted);
      case 'adjustment':
        return this.#adjustments.get(wanted);
      case 'refusal':
      case 'returned': {
        // Former builds kept them in the transaction's document.
        const [own, former] = await Promise.all([this.#refusals.get(wanted), this.#elements.get(wanted)]);
        return own ?? former;
      }
      default:
        return this.#elements.get(wanted);
    }
  }

  async #newestCharge(account: string, externalRef: string): Promise<string | null> {
    const filter = { account, type: 'pix-in', externalRef };
    const options = { sort: { order: -1 }, limit: 1, projection: { _id: 1 } };
    return (await this.#reads.find<{ _id: string }>('transactions', filter, options))[0]?._id ?? null;
  }

  async #readNewestCharges(wanted: AccountLookup[]): Promise<(string | null)[]> {
    const references = new Map<string, Set<string>>();
    for (const { account, key } of wanted)
      references.set(account, (references.get(account) ?? new Set()).add(key));
    const newest = new Map<string, string | null>();
    const read = async ([account, distinct]: [string, Set<string>]): Promise<void> => {
      const keys = [...distinct];
      const [only = ''] = keys;
      // Alone it is one key of the index, on a sharded collection too.
      if (keys.length === 1) newest.set(`${account} ${only}`, await this.#newestCharge(account, only));
      else
        for (const [key, id] of await this.#newestCharges(account, keys)) newest.set(`${account} ${key}`, id);
    };
    await Promise.all([...references].map(read));
    return wanted.map(({ account, key }) => newest.get(`${account} ${key}`) ?? null);
  }

  /** The index skips from reference to reference, however many charges have one. */
  async #newestCharges(account: string, keys: string[]): Promise<[string, string][]> {
    const pipeline = [
      { $match: { account, type: 'pix-in', externalRef: { $in: keys } } },
      { $sort: { externalRef: -1, order: -1 } },
      { $group: { _id: '$externalRef', newest: { $first: '$_id' } } },
    ];
    type Found = { _id: string; newest: string };
    const found = await this.#reads.aggregate<Found>('transactions', pipeline);
    return found.map(({ _id, newest }) => [_id, newest]);
  }

  async #readElements(wanted: AccountLookup[]): Promise<(string | null)[]> {
    const keys = [...new Set(wanted.map(({ key }) => key))];
    const accounts = [...new Set(wanted.map(({ account }) => account))];
    const filter = { 'lookups.key': { $in: keys }, account: { $in: accounts } };
    const lookups = { $filter: { input: '$lookups', cond: { $in: ['$$this.key', { $literal: keys }] } } };
    const options = { projection: { account: 1, lookups } };
    type Found = { _id: string; account: string; lookups: LookupElement[] };
    const newest = new Newest<string>();
    for (const { _id, account, lookups } of await this.#reads.find<Found>('transactions', filter, options))
      for (const { name, key, order } of lookups) newest.offer(`${account} ${name} ${key}`, _id, order);
    return wanted.map(({ account, name, key }) => newest.get(`${account} ${name} ${key}`));
  }

  async #readAdjustments(wanted: AccountLookup[]): Promise<(string | null)[]> {
    const ids = wanted.map(({ account, key }) => `${account}:${key}`);
    const found = await this.#reads.byId<AdjustmentDocument>('adjustments', ids);
    return found.map((document) => document?.digest ?? null);
  }

  async #readRefusals(wanted: AccountLookup[]): Promise<(string | null)[]> {
    const ids = wanted.map(({ account, name, key }) => `${account}:${name}:${key}`);
    const found = await this.#reads.byId<RefusalDocument>('refusals', ids);
    return found.map((document) => document?.transaction ?? null);
  }
}
