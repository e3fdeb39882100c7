/**
 * Replays one account's journal up to the head that it had when the replay began, and compares what it gives
 * with what is stored. Owns the account's projected state; a record that equals the stored one is let go at
 * once, so that a long journal doesn't have to fit into memory.
 *
 * Rotten data is reported, never thrown: whatever a reader or projection throws becomes a difference, but for
 * StoreUnavailable, which ends the replay. A server may go on writing: what is newer than the head is judged by its own history.
 */

import { canonicalJson } from '../domain/canonical-json.ts';
import { applyPostings, type Balances, sumOfPostings, ZERO_BALANCES } from '../domain/money.ts';
import { deliveriesOf, historyOf } from '../engine/history.ts';
import {
  type Batch,
  contentOf,
  type Entry,
  type Head,
  sha256,
  type TransactionRecord,
  ZERO_HASH,
} from '../engine/journal.ts';
import { lookupsOf } from '../engine/lookups.ts';
import { project } from '../engine/project.ts';
import type { JournalReads, LookupName } from '../engine/store.ts';
import {
  compareDeliveries,
  compareLookups,
  compareRecord,
  compareRefusals,
  faultOf,
  type Stored,
} from './compare.ts';
import { decideAgain, isDecidable } from './redecide.ts';

const PAGE = 100;
/** A batch's parts: those that its hash covers, and the hash. */
const BATCH_PARTS = 8;

export interface ReplayOptions {
  journal: JournalReads;
  account: string;
  decide: boolean;
  everyDoorSpeaks: boolean;
  /** Called for each difference. */
  report(seq: number, what: string): void;
}

/** A transaction whose stored record hasn't been equal to the replay yet. */
interface Open {
  record: TransactionRecord;
  deliveries: string[];
  /** Batches of refused messages. */
  refused: number[];
}

export class Replay {
  batches = 0;
  entries = 0;
  /** Where the replay stands. */
  seq = 0;
  hash = ZERO_HASH;
  /** Transactions that the journal tells of. */
  readonly transactions = new Set<string>();
  readonly #options: ReplayOptions;
  readonly #open = new Map<string, Open>();
  /** Transactions that the present page tells of. */
  readonly #touched = new Set<string>();
  readonly #lookups = new Map<string, string>();
  #balances: Balances = { ...ZERO_BALANCES };
  #at = '';
  /** False after a gap: the next batch's `previous` can't be judged. */
  #chained = true;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  /** Replays all and compares all. */
  async run(): Promise<void> {
    const head = await this.#head();
    const last = head?.seq ?? Number.MAX_SAFE_INTEGER;
    for (let from = 1; from <= last; from += PAGE) {
      const found = await this.#page(from, Math.min(PAGE, last - from + 1));
      if (found === null) break;
      for (const batch of found) await this.#batch(batch);
      await this.#compareRecords([...this.#touched], false);
      this.#touched.clear();
    }
    if (head !== null) this.#compareHead(head);
    await this.#compareRecords([...this.#open.keys()], true);
    await compareLookups(this.#stored, this.#lookups);
  }

  get #stored(): Stored {
    const { journal, account, report } = this.#options;
    return { journal, account, seq: this.seq, report };
  }

  #report(seq: number, what: string): void {
    this.#options.report(seq, what);
  }

  async #head(): Promise<Head | null> {
    try {
      return await this.#options.journal.head(this.#options.account);
    } catch (error) {
      this.#report(0, `the head can't be read: ${faultOf(error)}`);
      return null;
    }
  }

  /** The batches from..from+length-1 that are there and can be read; null past the journal's end. */
  async #page(from: number, length: number): Promise<Batch[] | null> {
    const { journal, account } = this.#options;
    const seqs = Array.from({ length }, (_, index) => from + index);
    try {
      const found = await journal.batches(account, seqs);
      // A head that was tampered with may be far from where the journal ends.
      const atEnd = found.length === 0 && (await journal.batchesFrom(account, from, 1)).length === 0;
      return atEnd ? null : found;
    } catch {
      const readable: Batch[] = [];
      for (const seq of seqs) {
        try {
          readable.push(...(await journal.batches(account, [seq])));
        } catch (error) {
          this.#report(seq, `the batch can't be read: ${faultOf(error)}`);
        }
      }
      return readable;
    }
  }

  async #batch(batch: Batch): Promise<void> {
    this.batches += 1;
    try {
      this.#checkChain(batch);
      for (const entry of batch.entries) {
        await this.#entry(batch, entry).catch((error: unknown) => {
          this.#report(
            batch.seq,
            `${entry?.message?.type} to ${entry?.transaction} can't be replayed: ${faultOf(error)}`,
          );
        });
      }
      if (canonicalJson(batch.balances) !== canonicalJson(this.#balances)) {
        this.#report(
          batch.seq,
          `the balances are ${canonicalJson(batch.balances)}, the postings give ${canonicalJson(this.#balances)}`,
        );
        this.#balances = batch.balances;
      }
    } catch (error) {
      this.#report(this.seq, `the batch can't be replayed: ${faultOf(error)}`);
      this.#chained = false;
    }
  }

  #checkChain(batch: Batch): void {
    const { hash, seq } = batch;
    if (batch.account !== this.#options.account)
      this.#report(seq, `the batch says that it is of ${batch.account}`);
    if (seq > this.seq + 1) {
      this.#report(seq, `batches ${this.seq + 1} to ${seq - 1} are missing`);
      this.#chained = false;
    } else if (seq !== this.seq + 1) {
      this.#report(this.seq + 1, `the batch says that its number is ${seq}`);
    }
    if (this.#chained && batch.previous !== this.hash)
      this.#report(seq, 'it is not chained to the batch before');
    if (sha256(contentOf(batch)) !== hash) this.#report(seq, 'the content is not what its hash says');
    if (Object.keys(batch).length !== BATCH_PARTS)
      this.#report(seq, 'the batch holds what its hash does not cover');
    if (batch.at < this.#at) this.#report(seq, `its time is before that of the batch before`);
    this.#chained = true;
    this.seq = Math.max(seq, this.seq + 1);
    this.hash = hash;
    this.#at = batch.at;
  }

  async #entry(batch: Batch, entry: Entry): Promise<void> {
    this.entries += 1;
    const id = entry.transaction;
    const open = id === null ? null : await this.#openOf(id, batch.seq);
    if (this.#options.decide) this.#decide(batch, entry, open?.record ?? null);
    this.#post(batch.seq, entry);
    for (const { name, key, value } of lookupsOf(entry)) this.#lookups.set(`${name}:${key}`, value);
    if (id === null) return;
    this.transactions.add(id);
    this.#touched.add(id);
    const record = project(open?.record ?? null, this.#options.account, batch.seq, entry);
    const deliveries = entry.events.flatMap((event) => event.deliveries.map((delivery) => delivery.id));
    this.#open.set(id, {
      record,
      deliveries: [...(open?.deliveries ?? []), ...deliveries],
      refused: [...(open?.refused ?? []), ...(entry.refusal === null ? [] : [batch.seq])],
    });
  }

  #post(seq: number, entry: Entry): void {
    if (entry.postings.length === 0) return;
    const sum = sumOfPostings(entry.postings);
    if (sum === 0) this.#balances = applyPostings(this.#balances, entry.postings);
    else
      this.#report(
        seq,
        `the postings of ${entry.message.type} to ${entry.transaction ?? 'the account'} sum to ${sum}`,
      );
  }

  #decide(batch: Batch, entry: Entry, record: TransactionRecord | null): void {
    if (!isDecidable(record, entry)) return;
    const { account, everyDoorSpeaks } = this.#options;
    const lookup = (name: LookupName, key: string): string | null =>
      this.#lookups.get(`${name}:${key}`) ?? null;
    try {
      const before = { account, seq: batch.seq, balances: this.#balances, record, lookup };
      const different = decideAgain(before, entry, everyDoorSpeaks);
      if (different !== null) this.#report(batch.seq, `${entry.transaction ?? 'the account'}: ${different}`);
    } catch (error) {
      this.#report(
        batch.seq,
        `${entry.transaction ?? 'the account'} can't be decided again: ${faultOf(error)}`,
      );
    }
  }

  /** The transaction as the replay has it; one that was let go is projected again from its own batches. */
  async #openOf(id: string, seq: number): Promise<Open | null> {
    const open = this.#open.get(id);
    if (open !== undefined || !this.transactions.has(id)) return open ?? null;
    const { journal, account } = this.#options;
    const stored = (await journal.read(account, { transactions: [id], lookups: [] })).transactions[0] ?? null;
    if (stored === null) return null;
    const history = await historyOf(journal, stored, seq);
    const record = history.at(-1)?.record;
    if (record === undefined) return null;
    const refused = history.flatMap(({ entry, seq: own }) => (entry.refusal === null ? [] : [own]));
    return { record, deliveries: deliveriesOf(history).map((delivery) => delivery.id), refused };
  }

  #compareHead({ seq, at, balances, hash }: Head): void {
    if (seq === 0 && this.seq === 0) return;
    const replayed = { seq: this.seq, at: this.#at, balances: this.#balances, hash: this.hash };
    if (canonicalJson({ seq, at, balances, hash }) === canonicalJson(replayed)) return;
    this.#report(
      seq,
      `the head is ${canonicalJson({ at, balances, hash })}, the journal gives ${canonicalJson(replayed)}`,
    );
  }

  /** Lets go of what equals the stored record; at the end whatever is left is a difference, or newer. */
  async #compareRecords(ids: readonly string[], atEnd: boolean): Promise<void> {
    for (const id of ids) {
      const open = this.#open.get(id);
      if (open === undefined) continue;
      try {
        const different = await compareRecord(this.#stored, open.record, atEnd);
        if (different === null) {
          await compareDeliveries(this.#stored, open.record, open.deliveries);
          await compareRefusals(this.#stored, open.record, open.refused);
        } else if (!atEnd) continue;
        else this.#report(open.record.seqs.at(-1) ?? 0, `${id}: ${different}`);
      } catch (error) {
        if (!atEnd) continue;
        this.#report(open.record.seqs.at(-1) ?? 0, `${id} can't be read: ${faultOf(error)}`);
      }
      this.#open.delete(id);
    }
  }
}
