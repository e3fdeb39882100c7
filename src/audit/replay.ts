/**
 * Replays one account's journal up to the head that it had when the replay began, and compares what it gives
 * with what is stored. Owns the chain and the balances; transactions and lookups in hand are bounded, so that a
 * long journal doesn't have to fit into memory.
 *
 * Rotten data is reported, never thrown: whatever a reader or projection throws becomes a difference, but for
 * StoreUnavailable, which ends the replay. A server may go on writing: what is newer than the head is judged by its own history.
 */

import { canonicalJson, isSameJson } from '../domain/canonical-json.ts';
import { applyPostings, type Balances, sumOfPostings, ZERO_BALANCES } from '../domain/money.ts';
import { type Batch, type Entry, type Head, ZERO_HASH } from '../engine/journal.ts';
import { contentOf, sha256 } from '../engine/store/content.ts';
import type { LookupName } from '../engine/store/lookups.ts';
import { turn } from '../waiting.ts';
import { faultOf } from './compare.ts';
import { GivenLookups } from './given-lookups.ts';
import { after, type Open, OpenTransactions } from './open-transactions.ts';
import { inGroups, PageLength } from './pages.ts';
import type { AuditReads } from './patience.ts';
import { decideAgain, isDecidable } from './redecide.ts';

/** A batch's parts: those that its hash covers, and the hash. */
export const BATCH_PARTS = 8;
const MOST_HELD = 5_000;
/** Where the head can't be read either, and so many batches in a row can't be, nothing tells where the journal ends. */
const MOST_UNREADABLE = 500;

export interface ReplayOptions {
  journal: AuditReads;
  account: string;
  decide: boolean;
  everyDoorSpeaks: boolean;
  /** How many transactions, and how many lookups, are held between two pages at the most. */
  mostHeld?: number;
  /** Called for each difference. */
  report(seq: number, what: string): void;
  /** Called after each page with how many entries it had, and what is held now. */
  onPage?(entries: number, held: number): void;
}

export class Replay {
  batches = 0;
  entries = 0;
  /** Where the replay stands. */
  seq = 0;
  hash = ZERO_HASH;
  readonly #options: ReplayOptions;
  readonly #open: OpenTransactions;
  readonly #lookups: GivenLookups;
  /** What the present page's entries are decided on again once all of them were read. */
  readonly #again: (() => Promise<void>)[] = [];
  /** The present page's batches that are stored otherwise than their hashes say. */
  #otherwise: ReadonlySet<number> = new Set();
  #balances: Balances = { ...ZERO_BALANCES };
  #at = '';
  /** How many batches before the present one, in a row, can't be read. */
  #unreadable = 0;
  /** False after a gap: the next batch's `previous` can't be judged. */
  #chained = true;

  constructor(options: ReplayOptions) {
    const { journal, account, report, decide, mostHeld = MOST_HELD } = options;
    const stored = { journal, account, report };
    this.#options = options;
    this.#open = new OpenTransactions({ ...stored, mostOpen: mostHeld, takeUpAll: decide });
    this.#lookups = new GivenLookups({ ...stored, mostWaiting: mostHeld });
  }

  /** Transactions that the journal begins and that have a record. */
  get recorded(): number {
    return this.#open.recorded;
  }

  /** Replays all and compares all. */
  async run(): Promise<void> {
    const head = await this.#head();
    const last = head?.seq ?? Number.MAX_SAFE_INTEGER;
    const length = new PageLength();
    for (let from = 1; from <= last; ) {
      const to = Math.min(last, from + length.batches - 1);
      const found = await this.#read(from, to);
      if (found === null || (head === null && this.#unreadable >= MOST_UNREADABLE)) break;
      length.learn(found);
      this.#otherwise = await this.#otherwiseIn(from, to);
      await this.#page(from, found);
      from = to + 1;
    }
    if (head !== null) this.#compareHead(head);
    await this.#open.end(this.seq);
    await this.#lookups.end(this.seq);
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

  /** The batches from..to that are there and can be read; null past the journal's end. */
  async #read(from: number, to: number): Promise<Batch[] | null> {
    const { journal, account } = this.#options;
    const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    try {
      const found = await journal.batches(account, seqs);
      // A head that was tampered with may be far from where the journal ends.
      const atEnd = found.length === 0 && (await journal.batchesFrom(account, from, 1)).length === 0;
      this.#unreadable = 0;
      return atEnd ? null : found;
    } catch (error) {
      faultOf(error);
      const readable: Batch[] = [];
      for (const seq of seqs) {
        try {
          readable.push(...(await journal.batches(account, [seq])));
          this.#unreadable = 0;
        } catch (fault) {
          this.#unreadable += 1;
          this.#report(seq, `the batch can't be read: ${faultOf(fault)}`);
        }
      }
      return readable;
    }
  }

  async #otherwiseIn(from: number, to: number): Promise<ReadonlySet<number>> {
    const { journal, account } = this.#options;
    const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    return new Set(await journal.storedOtherwise?.(account, seqs));
  }

  async #page(from: number, batches: readonly Batch[]): Promise<void> {
    const entries = batches.flatMap((batch) => (Array.isArray(batch.entries) ? batch.entries : []));
    const ids = [...new Set(entries.flatMap((entry) => entry?.transaction ?? []))];
    await this.#open.load(ids);
    this.#lookups.startPage(from);
    for (const batch of batches) await this.#batch(batch);
    await inGroups(this.#again.splice(0), async (some) => {
      await Promise.all(some.map((decide) => decide()));
    });
    await this.#lookups.endPage(this.seq);
    await this.#open.endPage(ids, this.seq);
    this.#options.onPage?.(entries.length, this.#open.size + this.#lookups.waiting);
    // Timers and signals have their turn, also where the store answers at once.
    await turn();
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
      if (!isSameJson(batch.balances, this.#balances)) {
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
    // Of a member that stands twice this has the last, and people may be shown the first.
    else if (this.#otherwise.has(seq)) this.#report(seq, 'it is not stored as its hash says');
    if (Object.keys(batch).length !== BATCH_PARTS)
      this.#report(seq, 'the batch holds what its hash does not cover');
    if (batch.at < this.#at) this.#report(seq, `its time is before that of the batch before`);
    this.#chained = true;
    this.seq = Math.max(seq, this.seq + 1);
    this.hash = hash;
    this.#at = batch.at;
  }

  async #entry({ seq }: Batch, entry: Entry): Promise<void> {
    this.entries += 1;
    const id = entry.transaction;
    const before = id === null ? null : await this.#open.before(id, seq, entry);
    if (this.#options.decide && before !== 'settled') this.#decideLater(seq, entry, before);
    this.#post(seq, entry);
    this.#lookups.note(seq, entry);
    if (id === null || before === 'settled') return;
    this.#open.put(before, after(before, this.#options.account, seq, entry));
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

  /** Keeps the account as it is before the entry; what the entry looked up is read for the whole page together. */
  #decideLater(seq: number, entry: Entry, open: Open | null): void {
    const record = open?.record ?? null;
    if (!isDecidable(record, entry)) return;
    const { account, everyDoorSpeaks } = this.#options;
    const position = this.#lookups.noted;
    const lookup = (name: LookupName, key: string): Promise<string | null> =>
      this.#lookups.before(name, key, position, entry, open);
    const before = { account, seq, balances: this.#balances, record, lookup };
    const what = entry.transaction ?? 'the account';
    this.#again.push(async () => {
      try {
        const different = await decideAgain(before, entry, everyDoorSpeaks);
        if (different !== null) this.#report(seq, `${what}: ${different}`);
      } catch (error) {
        this.#report(seq, `${what} can't be decided again: ${faultOf(error)}`);
      }
    });
  }

  #compareHead({ seq, at, balances, hash }: Head): void {
    if (seq === 0 && this.seq === 0) return;
    const replayed = { seq: this.seq, at: this.#at, balances: this.#balances, hash: this.hash };
    if (isSameJson({ seq, at, balances, hash }, replayed)) return;
    this.#report(
      seq,
      `the head is ${canonicalJson({ at, balances, hash })}, the journal gives ${canonicalJson(replayed)}`,
    );
  }
}
