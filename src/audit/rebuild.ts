/**
 * Makes projections again from the journals (I7) and puts them in the place of those that are stored, beside a
 * running server.
 *
 * 1. An account's journal is read once, in order, into a scratch; what serves meanwhile is what was there.
 * 2. What is put in place is as of the batch that was read last. What a newer batch changed stays, is read from
 *    that batch, and put in place again: a server may have decided it on what was wrong before.
 * 3. What is in progress is read by nobody here, and nothing is sent.
 * 4. A journal that isn't sound is followed nowhere: its account stays as it is.
 */

import { ZERO_HASH } from '../engine/journal.ts';
import type { LookupRow } from '../engine/store/lookups.ts';
import type { Rebuilt, Restoration } from '../engine/store/restoration.ts';
import { accountsIn } from '../engine/store/walks.ts';
import type { Journal } from '../engine/store.ts';
import { pause } from '../waiting.ts';
import { BrokenJournal } from './broken-journal.ts';
import { faultOf } from './compare.ts';
import { batchesIn, lookupsIn } from './pages.ts';
import { type AuditReads, patiently, patientReads } from './patience.ts';
import { eachRecord, isExplained } from './records.ts';
import { lookupKeyOf, Reprojection, recordKey, type Standing } from './reprojection.ts';
import type { Scratch, ScratchKey, ScratchRow } from './scratch.ts';

/** So long a batch that was decided on what was wrong may be on its way. */
const WRITE_MS = 5_000;
/** The same where nothing was written since the reading began. */
const SHORT_MS = 250;
/** So often what a server is at is put in place again, a short while between. */
const MOST_TRIES = 20;
const AT_ONCE = 200;

export interface RebuildOptions {
  scratch: Scratch;
  /** This account alone; all where there is none. */
  account?: string;
  /** Called after each page that was read. */
  onPage?(progress: { accounts: number; entries: number }): void;
  /** How long is waited for batches that are on their way, where a server writes; 5 s. */
  writeMs?: number;
}

export interface RebuildReport {
  /** False where a stored record can't be read and belongs to no journal; of one account: to none of another's. */
  ok: boolean;
  accounts: number;
  entries: number;
}

/** How an account was left: kept in the scratch until batches that were on their way are there. */
interface Left extends Standing {
  /** The last batch before anything was put in place. */
  from: number;
}

/** Where projections are put in place. */
export type RebuildTarget = Pick<Journal, 'restore' | 'mendPlaces'>;

class Rebuild {
  readonly report: RebuildReport = { ok: true, accounts: 0, entries: 0 };
  readonly #journal: AuditReads;
  readonly #target: RebuildTarget;
  readonly #options: RebuildOptions;
  #isMended = false;
  /** Whether a server wrote to an account that wasn't as it should be. */
  #isServed = false;
  /** Accounts whose journals can't be followed: they stay as they are. */
  readonly #broken = new Map<string, BrokenJournal>();

  constructor(journal: AuditReads & RebuildTarget, options: RebuildOptions) {
    this.#journal = patientReads(journal);
    this.#target = journal;
    this.#options = options;
  }

  async run(): Promise<RebuildReport> {
    // What the batches are found by comes first: all else is made of them.
    await this.#target.mendPlaces?.();
    for await (const account of this.#accounts()) {
      try {
        await this.#account(account);
      } catch (error) {
        if (!(error instanceof BrokenJournal)) throw error;
        this.#broken.set(account, error);
        continue;
      }
      this.report.accounts += 1;
    }
    if (this.#isMended) await pause(this.#isServed ? (this.#options.writeMs ?? WRITE_MS) : SHORT_MS);
    for await (const account of this.#accounts()) await this.#follow(account);
    await this.#removeRecords();
    for (const broken of this.#broken.values()) throw broken;
    return this.report;
  }

  #accounts(): AsyncIterable<string> | Iterable<string> {
    const { account } = this.#options;
    return account === undefined ? accountsIn(this.#journal) : [account];
  }

  #leave(account: string, left: Left): void {
    this.#options.scratch.put([{ key: ['account', account], value: JSON.stringify(left) }]);
  }

  /** Puts in place what differs; how much that was. */
  #restore(account: string, upTo: number, parts: Partial<Restoration>): Promise<number> {
    const nothing = { transactions: [], lookups: [], gone: { transactions: [], lookups: [] } };
    return patiently(() => this.#target.restore({ ...nothing, ...parts, account, upTo }));
  }

  /** Reads on, to the journal's present end. */
  async #read(account: string, reprojection: Reprojection): Promise<void> {
    const pages = batchesIn(this.#journal, account, reprojection.standing.seq + 1);
    for (;;) {
      const { value: batches } = await this.#readable(account, reprojection, () => pages.next());
      if (batches === undefined) return;
      const before = reprojection.entries;
      const first = reprojection.standing.seq + 1;
      const seqs = Array.from({ length: batches.length }, (_, index) => first + index);
      reprojection.page(batches, (await this.#journal.storedOtherwise?.(account, seqs)) ?? []);
      this.report.entries += reprojection.entries - before;
      this.#options.onPage?.({ accounts: this.report.accounts, entries: this.report.entries });
    }
  }

  async #account(account: string): Promise<void> {
    const reprojection = new Reprojection(account, this.#options.scratch, { seq: 0, hash: ZERO_HASH });
    await this.#read(account, reprojection);
    await this.#expectEnd(account, reprojection);
    const from = reprojection.standing.seq;
    const mended =
      (await this.#exchangeRecords(account, reprojection)) +
      (await this.#exchangeLookups(account, reprojection)) +
      (await this.#removeLookups(account, reprojection));
    if (mended === 0) return;
    this.#isMended = true;
    const [newer] = await this.#journal.batchesFrom(account, from + 1, 1);
    if (newer !== undefined) this.#isServed = true;
    this.#leave(account, { ...reprojection.standing, from });
  }

  /** What was read ends where the account's head is, or the log has lost what comes then. @throws BrokenJournal */
  async #expectEnd(account: string, reprojection: Reprojection): Promise<void> {
    const { seq } = await this.#readable(account, reprojection, () => this.#journal.head(account));
    await this.#read(account, reprojection);
    if (seq > reprojection.standing.seq)
      throw reprojection.broken(reprojection.standing.seq + 1, 'is missing');
  }

  /** @throws BrokenJournal where what is read of the journal is no batch */
  async #readable<Result>(
    account: string,
    reprojection: Reprojection,
    read: () => Promise<Result> | Result,
  ): Promise<Result> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof BrokenJournal) throw error;
      const fault = faultOf(error);
      for (let seq = reprojection.standing.seq + 1; ; seq++) {
        const found = await this.#journal.batches(account, [seq]).catch(faultOf);
        if (found.length === 0) throw reprojection.broken(seq, 'is missing');
        if (typeof found === 'string') throw reprojection.broken(seq, `can't be read (${fault})`);
      }
    }
  }

  /** Rows of the scratch in pages; before each one the journal is read to its present end. */
  async #eachPage(
    kind: 'record' | 'lookup',
    account: string,
    reprojection: Reprojection,
    restored: (rows: ScratchRow[]) => Partial<Restoration>,
  ): Promise<number> {
    const { scratch } = this.#options;
    let mended = 0;
    for (let last: ScratchKey | null = null; ; ) {
      await this.#read(account, reprojection);
      const rows = scratch.page(kind, account, last, AT_ONCE);
      if (rows.length === 0) return mended;
      mended += await this.#restore(account, reprojection.standing.seq, restored(rows));
      last = rows.at(-1)?.key ?? last;
    }
  }

  #exchangeRecords(account: string, reprojection: Reprojection): Promise<number> {
    return this.#eachPage('record', account, reprojection, (rows) => ({
      transactions: rows.map(({ value }): Rebuilt => JSON.parse(value)),
    }));
  }

  #exchangeLookups(account: string, reprojection: Reprojection): Promise<number> {
    return this.#eachPage('lookup', account, reprojection, (rows) => ({
      lookups: rows.map(({ value }): LookupRow => JSON.parse(value)),
    }));
  }

  /** Takes away lookups that no entry gives. */
  async #removeLookups(account: string, reprojection: Reprojection): Promise<number> {
    const { scratch } = this.#options;
    const isUnknown = (row: LookupRow): boolean => scratch.get(lookupKeyOf(account, row)) === null;
    let removed = 0;
    for await (const rows of lookupsIn(this.#journal, account)) {
      const unknown = rows.filter(isUnknown);
      if (unknown.length === 0) continue;
      // What was stored by now stands in the journal by now.
      await this.#read(account, reprojection);
      const lookups = unknown.filter(isUnknown);
      const gone = { transactions: [], lookups };
      removed += await this.#restore(account, reprojection.standing.seq, { gone });
    }
    return removed;
  }

  /**
   * Puts in place once more what was changed since the exchange began: until all of it is as it should be, since a server
   * may be ahead each time, and what it decides on a wrong record is wrong again.
   */
  async #follow(account: string): Promise<void> {
    for (let tries = 1; (await this.#putInPlaceAgain(account)) > 0 && tries < MOST_TRIES; tries++)
      await pause(SHORT_MS);
  }

  /** How much wasn't as it should be, or can't be told. */
  async #putInPlaceAgain(account: string): Promise<number> {
    const { scratch } = this.#options;
    const text = scratch.get(['account', account]);
    if (text === null) return 0;
    const left: Left = JSON.parse(text);
    const reprojection = new Reprojection(account, scratch, left);
    await this.#read(account, reprojection);
    const { seq } = reprojection.standing;
    this.#leave(account, { ...reprojection.standing, from: left.from });
    let mended = 0;
    for await (const batches of batchesIn(this.#journal, account, left.from + 1)) {
      const ids = new Set(
        batches.flatMap(({ entries }) => entries.flatMap(({ transaction }) => transaction ?? [])),
      );
      const transactions = [...ids].flatMap((id): Rebuilt[] => {
        const known = scratch.get(recordKey(account, id));
        return known === null ? [] : [JSON.parse(known)];
      });
      mended += await this.#restore(account, seq, { transactions });
      if ((batches.at(-1)?.seq ?? seq) >= seq) break;
    }
    return mended;
  }

  /** Takes away records that no journal explains. */
  async #removeRecords(): Promise<void> {
    const { scratch, account: only } = this.#options;
    let areOthers = true;
    const isWhole = await eachRecord(
      this.#journal,
      async (record) => {
        const { account, id } = record;
        if ((only !== undefined && account !== only) || this.#broken.has(account)) return;
        if (scratch.get(recordKey(`${account}`, id)) !== null) return;
        if (await isExplained(this.#journal, record)) return;
        const gone = { transactions: [id], lookups: [] };
        await this.#restore(`${account}`, Number.MAX_SAFE_INTEGER, { gone });
      },
      (account) => {
        areOthers &&= only !== undefined && account !== null && account !== only;
      },
    );
    this.report.ok = isWhole || areOthers;
  }
}

/**
 * Rebuilds the projections of all accounts, or of one.
 * @throws BrokenJournal, and StoreUnavailable where the store stays away: what was put in place until then is right
 */
export function rebuild(
  journal: AuditReads & RebuildTarget,
  options: RebuildOptions,
): Promise<RebuildReport> {
  return new Rebuild(journal, options).run();
}
