/**
 * Owns the transactions that a replay has in hand, as of the entry that it came to. One is let go as soon as its
 * stored record is what the replay gave; where too many wait for that, the oldest are judged by their own histories.
 *
 * 1. At most `mostOpen` transactions are held between two pages, however many there are.
 * 2. Each transaction that the journal begins is compared with its stored record before it is let go.
 * 3. An entry of one that was let go stands among the batches that its record names, or that hold what it refused, or
 *    it is taken up again.
 */
import { type HistoryReads, historyOf } from '../engine/history.ts';
import type { Batch, Entry, TransactionRecord } from '../engine/journal.ts';
import { lookupsOf, nameOf } from '../engine/lookups.ts';
import { project } from '../engine/project.ts';
import type { LookupRow } from '../engine/store/lookups.ts';
import {
  compareDeliveries,
  compareRefusals,
  compareWaits,
  differenceOf,
  faultOf,
  isEqual,
  type Stored,
} from './compare.ts';
import { inGroups } from './pages.ts';
import type { AuditReads } from './patience.ts';

/** A transaction as the replay has it. */
export interface Open {
  record: TransactionRecord;
  deliveries: readonly string[];
  /** The lookups that its entries gave so far, as `name:key`. */
  given: readonly string[];
  /** Batches of refused messages. */
  refused: readonly number[];
}

export interface OpenOptions extends Stored {
  mostOpen: number;
  /** Also take up transactions that were let go: their entries are decided again. */
  takeUpAll: boolean;
}

/** Transactions that are judged side by side. */
const AT_ONCE = 100;
/** Batches that are remembered. */
const MOST_BATCHES = 8;

/** The transaction after an entry of it. */
export function after(
  open: Open | null,
  account: string,
  seq: number,
  entry: Entry,
  rows: readonly LookupRow[] = lookupsOf(entry),
): Open {
  const deliveries = entry.events.flatMap((event) => event.deliveries.map(({ id }) => id));
  return {
    record: project(open?.record ?? null, account, seq, entry),
    deliveries: [...(open?.deliveries ?? []), ...deliveries],
    given: [...(open?.given ?? []), ...rows.map(nameOf)],
    refused: [...(open?.refused ?? []), ...(entry.refusal === null ? [] : [seq])],
  };
}

/** A transaction as it was before a batch, from its own history; null where it has none before it. */
export async function takeUp(
  journal: HistoryReads,
  account: string,
  stored: TransactionRecord,
  seq: number,
): Promise<Open | null> {
  let open: Open | null = null;
  for (const past of await historyOf(journal, stored, seq)) open = after(open, account, past.seq, past.entry);
  return open;
}

/** Reads entries from whole batches, and remembers the last few: neighbours lie in the same ones, and those may be long. */
function rememberingBatches(journal: AuditReads): HistoryReads {
  const known = new Map<string, Promise<Batch[]>>();
  const read = (account: string, seq: number): Promise<Batch[]> => {
    const key = `${account} ${seq}`;
    const batch = known.get(key) ?? journal.batches(account, [seq]);
    known.delete(key);
    known.set(key, batch);
    for (const oldest of known.keys()) if (known.size > MOST_BATCHES) known.delete(oldest);
    return batch;
  };
  return {
    entries: async (account, transaction, seqs) => {
      // A long history shares most of its batches with nobody.
      if (seqs.length > MOST_BATCHES) return journal.entries(account, transaction, seqs);
      const batches = (await Promise.all(seqs.map((seq) => read(account, seq)))).flat();
      const isOwn = (entry: Entry): boolean => entry.transaction === transaction;
      return batches.flatMap(({ seq, entries }) => entries.filter(isOwn).map((entry) => ({ seq, entry })));
    },
    refusals: (transaction, after, limit) => journal.refusals(transaction, after, limit),
  };
}

export class OpenTransactions {
  /** Transactions that the journal begins and that have a record. */
  recorded = 0;
  readonly #options: OpenOptions;
  readonly #histories: HistoryReads;
  readonly #open = new Map<string, Open>();
  /** The stored records of the present page's transactions; one that can't be read is absent. */
  #stored = new Map<string, TransactionRecord | null>();

  constructor(options: OpenOptions) {
    this.#options = options;
    this.#histories = rememberingBatches(options.journal);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Reads the stored records of a page's transactions. */
  async load(ids: readonly string[]): Promise<void> {
    this.#stored = new Map();
    await inGroups(ids, (some) => this.#loadSome(some));
  }

  async #loadSome(ids: readonly string[]): Promise<void> {
    const { journal, account } = this.#options;
    try {
      const { transactions } = await journal.read(account, { transactions: ids, lookups: [] });
      for (const [index, id] of ids.entries()) this.#stored.set(id, transactions[index] ?? null);
    } catch (error) {
      faultOf(error);
      for (const id of ids) await this.#loadOne(id);
    }
  }

  async #loadOne(id: string): Promise<void> {
    const { journal, account } = this.#options;
    try {
      const { transactions } = await journal.read(account, { transactions: [id], lookups: [] });
      this.#stored.set(id, transactions[0] ?? null);
    } catch (error) {
      // What can't be read is told when the transaction is let go.
      faultOf(error);
    }
  }

  /** The transaction as it was before an entry; null before its first one, `settled` where it was let go. */
  async before(id: string, seq: number, entry: Entry): Promise<Open | null | 'settled'> {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const stored = this.#stored.get(id) ?? null;
    if (stored === null) {
      if (entry.from === null) return null;
      this.#options.report(seq, `${id} has no record that its later entries could be replayed on`);
      return 'settled';
    }
    if (!stored.seqs.some((known) => known < seq)) return null;
    if (!this.#options.takeUpAll && (await this.#isNamed(stored, seq, entry))) return 'settled';
    return takeUp(this.#histories, this.#options.account, stored, seq);
  }

  async #isNamed({ id, seqs }: TransactionRecord, seq: number, { refusal }: Entry): Promise<boolean> {
    if (refusal === null || seqs.includes(seq)) return seqs.includes(seq);
    const [refused] = await this.#options.journal.refusals(id, seq - 1, 1);
    return refused === seq;
  }

  /** Puts in hand what an entry made of its transaction. */
  put(before: Open | null, open: Open): void {
    if (before === null) this.recorded += 1;
    this.#open.set(open.record.id, open);
  }

  /** Lets go of what is as it is stored; above the bound, of the oldest too. The replay stands at `seq`. */
  async endPage(ids: readonly string[], seq: number): Promise<void> {
    const equal = ids.flatMap((id) => {
      const open = this.#open.get(id);
      return open !== undefined && isEqual(this.#stored.get(id), open.record) ? open : [];
    });
    await this.#each(equal, (open) => this.#compareBeside(open));
    const { mostOpen } = this.#options;
    if (this.#open.size <= mostOpen) return;
    // A tenth more than must be: else a few would go after each page.
    const oldest = [...this.#open.values()].slice(0, this.#open.size - Math.floor(0.9 * mostOpen));
    await this.#each(oldest, (open) => this.#judge(open, seq));
  }

  /** Lets go of all that is left. */
  async end(seq: number): Promise<void> {
    await this.#each([...this.#open.values()], (open) => this.#judge(open, seq));
  }

  async #each(all: readonly Open[], letGo: (open: Open) => Promise<void>): Promise<void> {
    const together = async (some: readonly Open[]): Promise<void> => {
      await Promise.all(some.map(letGo));
      for (const { record } of some) this.#open.delete(record.id);
    };
    await inGroups(all, together, AT_ONCE);
  }

  #report({ record }: Open, what: string): void {
    this.#options.report(record.seqs.at(-1) ?? 0, `${record.id}${what}`);
  }

  /** Compares what is stored beside the record. */
  async #compareBeside(open: Open): Promise<void> {
    try {
      await compareDeliveries(this.#options, open.record, open.deliveries);
      await compareRefusals(this.#options, open.record, open.refused);
      await compareWaits(this.#options, open.record);
    } catch (error) {
      this.#report(open, ` can't be read: ${faultOf(error)}`);
    }
  }

  async #judge(open: Open, seq: number): Promise<void> {
    try {
      const stored = await this.#options.journal.transaction(open.record.id);
      if (stored === null) {
        this.recorded -= 1;
        return this.#report(open, ': there is no record of it');
      }
      const different = await differenceOf(this.#histories, stored, open.record, seq);
      if (different === null) return await this.#compareBeside(open);
      this.#report(open, `: ${different}`);
    } catch (error) {
      this.#report(open, ` can't be read: ${faultOf(error)}`);
    }
  }
}
