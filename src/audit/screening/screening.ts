/**
 * Reads the log of all accounts once, in its order, and finds the accounts of which nothing is off. It tells no more
 * of the others: `Replay`, which reads an account's batches one by one, tells what it is.
 *
 * 1. Of an account it holds where it stands and a few counts; of transactions at most `mostHeld` between two pages,
 *    however many are open. One that was let go is made again from its history when its next entry comes.
 * 2. A transaction is compared with its record once: with the last batch that the record names. An account's records
 *    are in order where each entry's batch is named, and as many were compared as were begun. Of one that is kept as the
 *    batches that have made it nothing is read but which ones those are.
 * 3. A stored lookup is counted once: with the entry that first gave it to the transaction that has it. An account's
 *    are in order where as many were counted as are stored.
 */
import { isSameJson } from '../../domain/canonical-json.ts';
import { applyPostings, sumOfPostings } from '../../domain/money.ts';
import type { Batch, Entry } from '../../engine/journal.ts';
import { lookupsOf } from '../../engine/lookups.ts';
import { contentOf, sha256 } from '../../engine/store/content.ts';
import type { LoggedBatch, LogReads } from '../../engine/store/log.ts';
import type { LookupName, LookupRow } from '../../engine/store/lookups.ts';
import { turn } from '../../waiting.ts';
import { compareDeliveries, compareRefusals, compareWaits, faultOf, type Stored } from '../compare.ts';
import { isCounted } from '../given-lookups.ts';
import { after, takeUp } from '../open-transactions.ts';
import { lookupsIn } from '../pages.ts';
import type { AuditReads } from '../patience.ts';
import { decideAgain, isDecidable } from '../redecide.ts';
import type { Scratch } from '../scratch.ts';
import { type Share, WHOLE } from '../share.ts';
import { BatchLookups, type Counts } from './batch-lookups.ts';
import { type Held, InHand } from './in-hand.ts';
import { expect } from './sound.ts';
import { beginning, follow, type Standing } from './standing.ts';
import { StoredRecord } from './stored-record.ts';

const MOST_HELD = 20_000;
const ENTRIES_A_PAGE = 1_000;

export interface ScreeningOptions {
  journal: AuditReads;
  log: LogReads;
  decide: boolean;
  everyDoorSpeaks: boolean;
  /** All accounts where nothing is said. */
  share?: Share;
  /** Where transactions are kept that aren't in hand; without it they are read again. */
  scratch?: Scratch | null;
  /** How many transactions are held between two pages at the most. */
  mostHeld?: number;
  /** Called for what no account's replay would show. */
  report(account: string, seq: number, what: string): void;
  entriesAPage?: number;
  /** Called after each page: how many entries it had, accounts were met so far, and transactions are in hand. */
  onPage?(entries: number, accounts: number, held: number): void;
}

/** An account of which nothing is off. */
export interface Sound {
  seq: number;
  hash: string;
  batches: number;
  entries: number;
  /** Transactions that its journal begins; each has a record. */
  recorded: number;
}

/** What a batch's entries are judged by. */
interface Ground {
  standing: Standing;
  row: number;
  batch: Batch;
  lookups: BatchLookups;
}

export class Screening {
  readonly #options: ScreeningOptions;
  readonly #share: Share;
  readonly #standings = new Map<string, Standing>();
  readonly #suspects = new Set<string>();
  readonly #inHand: InHand;

  constructor(options: ScreeningOptions) {
    const { mostHeld = MOST_HELD, share = WHOLE, scratch = null } = options;
    this.#options = options;
    this.#share = share;
    this.#inHand = new InHand(Math.ceil(mostHeld / share.of), scratch);
  }

  /** Reads all. @throws StoreUnavailable */
  async run(): Promise<void> {
    const { log, entriesAPage = ENTRIES_A_PAGE, report, onPage } = this.#options;
    const { isOurs, isFirst } = this.#share;
    for (const { batches, unreadable } of log.pages(entriesAPage, 0, isOurs)) {
      const entries = await this.#page(batches);
      for (const { number, account, fault } of unreadable)
        if (account !== null || isFirst) report('', 0, `row ${number} of the log can't be read: ${fault}`);
      for (const { number, batch, isFound } of batches)
        if (!isFound)
          report(batch.account, batch.seq, `nothing leads to the batch in row ${number} of the log`);
      onPage?.(entries, this.#standings.size + this.#suspects.size, this.#inHand.size);
      // Timers and signals have their turn, also where the store answers at once.
      await turn();
    }
    // What was put back whole has no second entry by which it would have been read.
    for (const held of this.#inHand.all())
      await this.#guarded(held.account, async () => {
        held.stored ??= this.#storedOf(held.open.record.id);
        await this.#compare(held);
      });
  }

  /** Whether each stored record is one that was compared, by whichever share. */
  async explainsRecords(): Promise<boolean> {
    let compared = 0;
    for (const standing of this.#standings.values()) compared += standing.compared;
    return (await this.#share.comparedByAll(compared)) === this.#options.log.countRecords();
  }

  /** An account whose journal and projections are in order; null where they aren't. @throws StoreUnavailable */
  async sound(account: string): Promise<Sound | null> {
    if (this.#suspects.has(account)) return null;
    const standing = this.#standings.get(account) ?? beginning();
    const { seq, hash, at, balances, entries, begun: recorded } = standing;
    try {
      const { journal } = this.#options;
      const head = await journal.head(account);
      const isAtHead = seq === 0 ? head.seq === 0 : isSameJson(head, { seq, at, balances, hash });
      if (!isAtHead || recorded !== standing.compared) return null;
      const stored: Counts = { adjustment: 0, refusal: 0, other: 0 };
      for await (const rows of lookupsIn(journal, account))
        for (const row of rows) stored[isCounted(row) ? row.name : 'other'] += 1;
      return isSameJson(stored, standing.lookups) ? { seq, hash, batches: seq, entries, recorded } : null;
    } catch (error) {
      faultOf(error);
      return null;
    }
  }

  #suspect(account: string): void {
    this.#standings.delete(account);
    this.#suspects.add(account);
  }

  /** What can't be read or replayed is as good as off. @throws StoreUnavailable */
  async #guarded(account: string, work: () => Promise<void>): Promise<void> {
    if (this.#suspects.has(account)) return;
    try {
      await work();
    } catch (error) {
      faultOf(error);
      this.#suspect(account);
    }
  }

  /** How many entries there were. */
  async #page(batches: readonly LoggedBatch[]): Promise<number> {
    const touched = new Set<Held>();
    let entries = 0;
    for (const logged of batches) {
      entries += logged.batch.entries.length;
      await this.#guarded(logged.batch.account, () => this.#batch(logged, touched));
    }
    for (const held of touched) await this.#guarded(held.account, () => this.#compare(held));
    this.#inHand.endPage();
    return entries;
  }

  async #batch(logged: LoggedBatch, touched: Set<Held>): Promise<void> {
    const { batch } = logged;
    const { account, entries, balances } = batch;
    let standing = this.#standings.get(account);
    if (standing === undefined) {
      standing = beginning();
      this.#standings.set(account, standing);
    }
    follow(standing, logged);
    // Of a member that stands twice, and is hashed so, this decides on the last, and people may be shown the first.
    if (this.#options.decide) expect(sha256(contentOf(batch)) === batch.hash);
    const given = entries.map(lookupsOf);
    const ground = await this.#ground(standing, logged, given.flat());
    for (const [index, entry] of entries.entries()) {
      const held = await this.#entry(ground, entry, given[index] ?? []);
      if (held !== null) touched.add(held);
    }
    standing.entries += entries.length;
    expect(isSameJson(balances, standing.balances));
  }

  /** Reads what the batch's entries are judged by. */
  async #ground(standing: Standing, logged: LoggedBatch, rows: readonly LookupRow[]): Promise<Ground> {
    const { number: row, batch } = logged;
    const { journal } = this.#options;
    const { account, seq } = batch;
    const { lookups } = await journal.read(account, { transactions: [], lookups: rows });
    const lookedUp = new BatchLookups({ journal, account, seq }, rows, lookups);
    return { standing, row, batch, lookups: lookedUp };
  }

  #storedOf(id: string): StoredRecord | null {
    const text = this.#options.log.recordText(id);
    return text === null ? null : new StoredRecord(text);
  }

  /** Gives the entry's transaction as it is then; null where it has none. */
  async #entry(ground: Ground, entry: Entry, rows: readonly LookupRow[]): Promise<Held | null> {
    const { standing, row, batch } = ground;
    const { account, seq } = batch;
    const id = entry.transaction;
    const before = id === null ? null : await this.#before(ground, id, entry.from);
    if (this.#options.decide) await this.#decide(ground, entry, before);
    if (entry.postings.length > 0) {
      expect(sumOfPostings(entry.postings) === 0);
      standing.balances = applyPostings(standing.balances, entry.postings);
    }
    await ground.lookups.count(rows, before?.open ?? null, standing.lookups);
    if (id === null) return null;
    const open = after(before?.open ?? null, account, seq, entry, rows);
    if (before === null) standing.begun += 1;
    const held: Held = Object.assign(before ?? { account, rows: [], stored: null }, { open });
    if (held.rows !== null && held.rows.at(-1) !== row) held.rows.push(row);
    this.#inHand.put(id, held);
    return held;
  }

  /** The entry's transaction as it was before; null before its first entry. */
  async #before(ground: Ground, id: string, from: Entry['from']): Promise<Held | null> {
    const { account, seq } = ground.batch;
    const held = this.#inHand.get(id);
    if (held !== undefined) {
      expect(held.account === account);
      return held;
    }
    if (from === null) return null;
    const aside = this.#inHand.putAside(account, id);
    if (aside !== null) return { account, ...aside, stored: null };
    const stored = this.#storedOf(id);
    expect(stored !== null);
    const open = await takeUp(this.#options.journal, account, stored.record, seq);
    expect(open !== null);
    return { account, open, rows: null, stored };
  }

  async #decide(ground: Ground, entry: Entry, held: Held | null): Promise<void> {
    const record = held?.open.record ?? null;
    if (!isDecidable(record, entry)) return;
    const { account, seq } = ground.batch;
    const lookup = (name: LookupName, key: string): Promise<string | null> =>
      ground.lookups.before({ name, key }, entry, held?.open ?? null);
    const before = { account, seq, balances: ground.standing.balances, record, lookup };
    expect((await decideAgain(before, entry, this.#options.everyDoorSpeaks)) === null);
  }

  /** Whether it is what its record says; else it must be on its way there. */
  #isAsStored(held: Held): boolean {
    const { open, rows } = held;
    const { record } = open;
    if (held.stored === null && rows !== null) {
      const madeBy = this.#options.log.madeBy(record.id);
      if (madeBy !== 'whole') {
        expect(madeBy !== null && rows.every((row, place) => madeBy[place] === row));
        return rows.length === madeBy.length;
      }
      // What is kept whole was mostly changed since its first batch: it is read when that comes.
      if (rows.length === 1) return false;
    }
    const stored = held.stored ?? this.#storedOf(record.id);
    expect(stored !== null);
    held.stored = stored;
    if (stored.is(record)) return true;
    expect(stored.isAheadOf(record));
    return false;
  }

  /** Compares a transaction with its record once all that the record names was read. */
  async #compare(held: Held): Promise<void> {
    if (!this.#isAsStored(held)) return;
    const { account, open } = held;
    const { record, deliveries, refused } = open;
    const beside: Stored = { journal: this.#options.journal, account, report: () => expect(false) };
    await compareDeliveries(beside, record, deliveries);
    await compareRefusals(beside, record, refused);
    await compareWaits(beside, record);
    const standing = this.#standings.get(account);
    if (standing !== undefined) standing.compared += 1;
    this.#inHand.remove(record.id);
  }
}
