/**
 * The journal of the embedded store and its projections. An append is a row of the log; it is issued with a group of
 * writes under the condition that it follows its account's last one, and waited for to its end.
 */
import { timeOfText } from '../../domain/time.ts';
import { type Batch, EMPTY_HEAD, type Head, headOf, type TransactionRecord } from '../../engine/journal.ts';
import type { DeliveryRecord, FailedFilter, FailedPage } from '../../engine/store/deliveries.ts';
import type { Claim } from '../../engine/store/due.ts';
import type { NewestPage } from '../../engine/store/log.ts';
import type { Lookup, LookupName, LookupPage, LookupRow, QuotedPage } from '../../engine/store/lookups.ts';
import type { Restoration } from '../../engine/store/restoration.ts';
import type {
  Append,
  AppendResult,
  ChangePlace,
  Journal,
  NumberedEntry,
  Reads,
  Wait,
  Wants,
} from '../../engine/store.ts';
import { Lately, Named } from '../../passing.ts';
import { type Ending, endingsIn, settled } from './due/settling.ts';
import type { Environment } from './environment.ts';
import { failedBehind } from './failed-deliveries.ts';
import { batchValue, parseBatch, parseHead } from './log/batch-value.ts';
import type { LogGroup } from './log/group.ts';
import { batchIn, batchRow } from './log/rows.ts';
import { LmdbLogReads } from './log-reads.ts';
import { applyAppended, type Projected } from './projections/apply.ts';
import { frozen } from './projections/frozen.ts';
import { ALL, endOf, fitsKey, keyOf, ordered } from './projections/keys.ts';
import { mendPlaces } from './projections/place-mending.ts';
import { restore } from './projections/restoration.ts';
import { quotedIn } from './quoting.ts';

const [, END] = ALL;
/** Heads that are kept in memory, at least. */
const HEADS = 25_000;

/** By how many ms an append's account was ahead of the clock. */
function aheadOf({ due }: Append): number {
  return due.find((each) => each?.ahead !== undefined)?.ahead ?? 0;
}

/** The row of an append that follows its account's last one; `stale`: it doesn't; `known`: it is there already. */
type Issued = Projected | 'stale' | 'known';

export class LmdbJournal implements Journal {
  readonly log: LmdbLogReads;
  readonly #environment: Environment;
  readonly #now: () => number;
  /** The durable heads of accounts that were asked for or written to lately. */
  readonly #heads = new Lately<Head>(HEADS);
  /** The last batch of accounts that is on its way to the disk. */
  readonly #underWay = new Named<Batch>();

  constructor(environment: Environment, now: () => number) {
    this.#environment = environment;
    this.log = new LmdbLogReads(environment);
    this.#now = now;
  }

  async restore(restoration: Restoration): Promise<number> {
    const { projections } = this.#environment.opened;
    const later = this.#from(restoration.account, restoration.upTo + 1, Number.POSITIVE_INFINITY);
    const count = restore(projections, restoration, later);
    // What is made again is in no row of the log.
    await projections.write();
    return count;
  }

  async mendPlaces(): Promise<number> {
    const { log, projections } = this.#environment.opened;
    const accounts = await mendPlaces(log, projections);
    for (const account of accounts) this.#heads.delete(account);
    return accounts.size;
  }

  async append(append: Append): Promise<AppendResult> {
    const appended = this.#environment.write(
      (group) => {
        const issued = this.#issue(append, group);
        const isNew = issued !== 'stale' && issued !== 'known';
        const { projections } = this.#environment;
        return { issued, endings: isNew ? endingsIn(group, projections, append, this.#now()) : [] };
      },
      ({ issued, endings }) => this.#applied(append, issued, endings),
    );
    return this.#environment.watch.follow(appended);
  }

  #issue(append: Append, group: LogGroup): Issued {
    const { account, seq, id, previous, entries } = append.batch;
    const tip: { seq: number; hash: string } = this.#underWay.get(account) ?? this.#head(account);
    if (seq <= tip.seq) return this.#idOf(account, seq) === id ? 'known' : 'stale';
    if (seq !== tip.seq + 1 || previous !== tip.hash) return 'stale';
    const ahead = aheadOf(append);
    const number = group.batch(batchRow(batchValue(append), ahead));
    this.#underWay.set(account, append.batch);
    // The clock may have been set back between the decision and this.
    const made = Math.max(this.#now(), timeOfText(append.batch.at) - ahead);
    const { records, lookups, due, attention, withdrawn } = append;
    return { number, account, seq, entries, made, records, lookups, due, attention, withdrawn };
  }

  #idOf(account: string, seq: number): string | null {
    const underWay = this.#underWay.get(account);
    return underWay?.seq === seq ? underWay.id : (this.#batch(account, seq)?.id ?? null);
  }

  #applied({ batch, claimUntil }: Append, issued: Issued, endings: readonly Ending[]): AppendResult {
    if (issued === 'stale') return { outcome: 'stale' };
    let claims: Claim[] = [];
    if (issued !== 'known') {
      claims = applyAppended(this.#environment.projections, issued, claimUntil);
      this.#heads.set(batch.account, headOf(batch));
      if (this.#underWay.get(batch.account) === batch) this.#underWay.delete(batch.account);
    }
    if (endings.length === 0) return { outcome: 'appended', claims };
    for (const { settling } of endings) settled(this.#environment.projections, settling);
    return { outcome: 'appended', claims, ended: endings.map(({ claim }) => claim) };
  }

  #head(account: string): Head {
    const known = this.#heads.get(account);
    if (known !== undefined) return known;
    const last = this.#environment.projections.places.last(account);
    if (last === null) return EMPTY_HEAD;
    const value = this.#bytesAt(last.number);
    // An account whose last batch is gone isn't an empty one: its journal must not begin anew.
    if (value === null) throw new Error(`batch ${last.seq} of ${account} is not in the log`);
    const head = parseHead(last.seq, value);
    this.#heads.set(account, head);
    return head;
  }

  #batchBytes(account: string, seq: number): Buffer | null {
    const number = this.#environment.projections.places.of(account, seq);
    return number === null ? null : this.#bytesAt(number);
  }

  #bytesAt(number: number): Buffer | null {
    const row = this.#environment.log.bytes(number);
    return row === undefined ? null : batchIn(row);
  }

  #batch(account: string, seq: number): Batch | null {
    const bytes = this.#batchBytes(account, seq);
    return bytes === null ? null : parseBatch(bytes.toString('utf8'));
  }

  #from(account: string, from: number, limit: number): Batch[] {
    const last = this.#environment.projections.places.last(account)?.seq ?? 0;
    const batches: Batch[] = [];
    for (let seq = from; seq <= last && batches.length < limit; seq++) {
      const batch = this.#batch(account, seq);
      if (batch !== null) batches.push(batch);
    }
    return batches;
  }

  head(account: string): Head {
    this.#environment.expectOpen();
    const head = this.#head(account);
    return { ...head, balances: { ...head.balances } };
  }

  read(account: string, wants: Wants): Reads {
    const { records, lookups } = this.#environment.opened.projections;
    return {
      transactions: wants.transactions.map((id) => {
        const record = records.get(id);
        return record?.account === account ? record : null;
      }),
      lookups: wants.lookups.map(({ name, key }) => lookups.get(keyOf(account, name, key))),
    };
  }

  async transaction(id: string): Promise<TransactionRecord | null> {
    const { records } = this.#environment.opened.projections;
    // What is kept is handed out to many: the engine's own reads, thousands a second, are held to it by their types alone.
    return fitsKey(id) ? frozen(records.get(id)) : null;
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    this.#environment.expectOpen();
    return seqs.map((seq) => this.#batch(account, seq)).filter((batch) => batch !== null);
  }

  async storedOtherwise(account: string, seqs: readonly number[]): Promise<number[]> {
    return this.log.storedOtherwise(account, seqs);
  }

  async entries(account: string, transaction: string, seqs: readonly number[]): Promise<NumberedEntry[]> {
    this.#environment.expectOpen();
    return [...seqs]
      .sort((a, b) => a - b)
      .flatMap((seq) => {
        const number = this.#environment.projections.places.of(account, seq);
        const batch = number === null ? null : this.#environment.log.batch(number);
        return batch === null ? [] : batch.entriesOf(transaction).map((entry) => ({ seq, entry }));
      });
  }

  async refusals(transaction: string, after: number, limit: number): Promise<number[]> {
    const { refusals } = this.#environment.opened.projections;
    const seqs: number[] = [];
    for (const [key] of refusals.range(keyOf(transaction, ordered(after + 1)), endOf(transaction))) {
      if (seqs.length >= limit) break;
      seqs.push(Number(key.slice(transaction.length + 1)));
    }
    return seqs;
  }

  async batchesFrom(account: string, from: number, limit: number): Promise<Batch[]> {
    this.#environment.expectOpen();
    return this.#from(account, from, limit);
  }

  async newest(from: string | null, limit: number): Promise<NewestPage> {
    return this.log.newest(from, limit);
  }

  placeUntil(time: number): Promise<string | null> {
    return this.log.placeUntil(time);
  }

  async accountIds(after: string, limit: number): Promise<string[]> {
    const { accounts, places } = this.#environment.opened.projections;
    const ids = new Set<string>();
    for (const id of accounts.keys(after, END)) {
      if (ids.size > limit) break;
      ids.add(id);
    }
    // Skips from account to account, whatever the length of their journals.
    let last: string | null = after;
    for (let found = 0; found < limit; found++) {
      last = places.accountAfter(last);
      if (last === null) break;
      ids.add(last);
    }
    ids.delete(after);
    return [...ids].sort().slice(0, limit);
  }

  async records(after: string, limit: number): Promise<TransactionRecord[]> {
    const { records } = this.#environment.opened.projections;
    const page: TransactionRecord[] = [];
    for (const record of records.behind(after)) {
      page.push(record);
      if (page.length === limit) break;
    }
    return page;
  }

  async lookups(account: string, after: string | null, limit: number): Promise<LookupPage> {
    const { lookups } = this.#environment.opened.projections;
    const rows: LookupRow[] = [];
    for (const [key, value] of lookups.range(after ?? keyOf(account, ''), endOf(account))) {
      if (key === after) continue;
      const end = key.indexOf(' ', account.length + 1);
      rows.push({ name: key.slice(account.length + 1, end) as LookupName, key: key.slice(end + 1), value });
      if (rows.length === limit) return { rows, next: key };
    }
    return { rows, next: null };
  }

  async quoted(lookups: readonly Lookup[], after: string, limit: number): Promise<QuotedPage> {
    return quotedIn(this.#environment.opened.projections, lookups, after, limit);
  }

  async deliveries(transaction: string): Promise<readonly DeliveryRecord[]> {
    return this.#environment.opened.projections.deliveries.of(transaction);
  }

  async waiting(
    wait: Wait,
    after: ChangePlace | null,
    before: string,
    limit: number,
  ): Promise<TransactionRecord[]> {
    const { waits, records } = this.#environment.opened.projections;
    const start = after === null ? '' : keyOf(ordered(timeOfText(after.updatedAt)), after.id);
    const end = keyOf(wait, ordered(timeOfText(before)));
    const found: TransactionRecord[] = [];
    for (const [key] of waits.range(keyOf(wait, start), end)) {
      if (found.length === limit) break;
      const id = key.slice(key.lastIndexOf(' ') + 1);
      const record = id === after?.id ? null : records.get(id);
      if (record !== null) found.push(record);
    }
    return found;
  }

  async failedDeliveries(filter: FailedFilter, after: string | null, limit: number): Promise<FailedPage> {
    return failedBehind(this.#environment.opened.projections, filter, after, limit);
  }
}
