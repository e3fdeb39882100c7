/** Transactions that somebody looks at: whether their documents, or their deliveries', have changed. */
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { JournalDocument, TransactionDocument } from '../documents.ts';
import { type DeliveryDocument, deliveryFromDocument } from '../due/documents.ts';
import type { MongoReads } from '../reads.ts';

type Standing = Pick<TransactionDocument, '_id' | 'account' | 'seq' | 'seqs' | 'refusals'>;

const STANDING = { account: 1, seq: 1, seqs: 1, refusals: 1 };
/** Refused messages that are found together. */
const MOST_REFUSALS = 100;

/** What came since the look before. */
export interface Changed {
  changed: JournalDocument[];
  deliveries: DeliveryRecord[];
}

export class WatchedTransactions {
  readonly #reads: MongoReads;
  readonly #standings = new Map<string, Standing | null>();
  /** How far each transaction's deliveries have come, as a text. */
  readonly #progress = new Map<string, Map<string, string>>();

  constructor(reads: MongoReads) {
    this.#reads = reads;
  }

  /** What changed; of a transaction that wasn't watched before, nothing. */
  async look(ids: ReadonlySet<string>): Promise<Changed> {
    for (const known of [this.#standings, this.#progress])
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    if (ids.size === 0) return { changed: [], deliveries: [] };
    const wanted = { $in: [...ids] };
    const attempted = { transaction: wanted, failures: { $exists: true } };
    const [standings, deliveries] = await Promise.all([
      this.#reads.find<Standing>('transactions', { _id: wanted }, { projection: STANDING }),
      this.#reads.find<DeliveryDocument>('deliveries', attempted),
    ]);
    const changed = await Promise.all(standings.map((standing) => this.#since(standing)));
    // One that isn't there yet may come.
    for (const id of ids) if (!this.#standings.has(id)) this.#standings.set(id, null);
    return { changed: changed.flat(), deliveries: this.#further(ids, deliveries.map(deliveryFromDocument)) };
  }

  /** The batches that have changed a transaction, or refused it something, since it was looked at. */
  async #since(standing: Standing): Promise<JournalDocument[]> {
    const { _id, account, seq, seqs, refusals = 0 } = standing;
    const known = this.#standings.get(_id);
    if (known !== undefined && known !== null && known.seq === seq) return [];
    const { seq: after = 0, refusals: refused = 0 } = known ?? {};
    const numbers = new Set([...seqs.filter((each) => each > after), seq]);
    if (known !== undefined && refusals > refused)
      for (const each of await this.#reads.refusals(_id, after, MOST_REFUSALS)) numbers.add(each);
    const found =
      known === undefined
        ? []
        : await this.#reads.find<JournalDocument>('journal', { account, seq: { $in: [...numbers] } });
    this.#standings.set(_id, standing);
    return found;
  }

  /** The deliveries that have come further. */
  #further(ids: ReadonlySet<string>, records: readonly DeliveryRecord[]): DeliveryRecord[] {
    const further: DeliveryRecord[] = [];
    for (const id of ids) {
      const before = this.#progress.get(id);
      const now = new Map<string, string>();
      for (const record of records.filter(({ transaction }) => transaction === id)) {
        const { status, attempts, nextAttemptAt } = record;
        const text = `${status} ${attempts.length} ${nextAttemptAt}`;
        now.set(record.id, text);
        if (before !== undefined && before.get(record.id) !== text) further.push(record);
      }
      this.#progress.set(id, now);
    }
    return further;
  }
}
