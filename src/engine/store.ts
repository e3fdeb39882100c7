/**
 * The store's port, named by what the engine needs and given in roles: each caller is handed the part that it uses.
 * Adapters are in `store/`; `test/store/contract/` is what each of them keeps.
 *
 * An append is one account's batch with its projections: all of it or nothing. Appends that wait together may travel
 * together, but each has its own outcome; nothing is promised across accounts.
 *
 * Due things (timers, bank orders, deliveries) are claimed by one process at a time, which keeps its claims by its
 * heartbeats. What it doesn't keep, since it died, froze or failed to end it, comes free by itself, and what it still
 * reports once another has it is turned down.
 *
 * Any method may throw StoreUnavailable: nothing is known then, and the caller may ask again. A failed write or flush
 * of the embedded store is fatal instead: the adapter's `onFatal` is called and no answer comes.
 */
import type { Account } from '../domain/account.ts';
import type { By } from '../domain/messages.ts';
import type { About } from '../domain/sentences/item-codes.ts';
import type { Soon } from '../waiting.ts';
import type { AttentionKind, AttentionNote, Batch, Entry, Head, TransactionRecord } from './journal.ts';
import type { Backlog } from './store/backlog.ts';
import type { DeliveryRecord, FailedFilter, FailedPage } from './store/deliveries.ts';
import type { Claim, ClaimOf, Due, DueKind, SetForward } from './store/due.ts';
import type { LogReads, NewestReads, StoredReads } from './store/log.ts';
import type { Lookup, LookupPage, LookupRow, QuotedPage } from './store/lookups.ts';
import type { Marks } from './store/marks.ts';
import type { Restoration } from './store/restoration.ts';

/** The store can't be reached, or is closed. */
export class StoreUnavailable extends Error {}

/** As long as an operator hasn't mended what the sentence tells, the store answers so: a right is lacking, or an index. */
export class StoreUnusable extends StoreUnavailable {}

/** The stored record of a transaction can't be read; `account` is null where whose it is can't be told. */
export class RecordUnreadable extends Error {
  readonly id: string;
  readonly account: string | null;

  constructor(fault: string, id: string, account: string | null) {
    super(fault);
    this.id = id;
    this.account = account;
  }
}

export interface AttentionItem extends AttentionNote {
  code: string | null;
  data: object | null;
  since: string;
  /** Cents; null where there is no amount. */
  amount: number | null;
  about: About;
}

/** An item of a note, for the list. */
export function itemOf(
  { kind, id, code = null, data = null, what, next }: AttentionNote,
  since: string,
  about: Partial<About> = {},
  amount: number | null = null,
): AttentionItem {
  const nothing = { account: null, transaction: null, delivery: null, url: null };
  return { kind, id, code, data, what, next, since, amount, about: { ...nothing, ...about } };
}

/** One account's batch and what it changes in the projections. */
export interface Append {
  batch: Batch;
  /** `contentOf(batch)`: made for the hash, so that no adapter writes it a second time. */
  content: string;
  /** Whole records after the batch. */
  records: TransactionRecord[];
  lookups: LookupRow[];
  /** What its entries make due, as `dueOf` has it: their places name them. Null: it needn't be carried out. */
  due: (Due | null)[];
  attention: AttentionItem[];
  /** Items whose cause is gone with the batch. */
  withdrawn: AttentionKey[];
  /** Claim at once what is due by this time (ms), as `isClaimed` has it; 0 claims nothing. */
  claimUntil: number;
  /** Claims on the bank's orders that may end in its write, as `settle` ends them with nothing due instead. */
  ends?: readonly ClaimOf<'bank'>[];
  /** It was moved here from another store; what is due of it is moved by itself. */
  imported?: true;
}

/**
 * `ended`: those of its `ends` that this process is done with: they ended, or are another's by now; the others are to be
 * settled. `stale`: another batch has this sequence number; read the head and decide again.
 */
export type AppendResult =
  | { outcome: 'appended'; claims: Claim[]; ended?: readonly Claim[] }
  | { outcome: 'stale' };

/** Ends a claim, and says what is due instead. With a record: a delivery's progress, stored with it. */
export interface Settlement {
  claim: Claim | null;
  next: Due | null;
  record?: DeliveryRecord | undefined;
  /** Replaces the item of its id and kind, done or not: what happens again is news again. */
  attention?: AttentionItem | undefined;
  /** An item of many of a kind (`data.count`): where it is known, done or not, its count grows by this one's. */
  counted?: AttentionItem | undefined;
  /** The item of what is begun anew goes with it; one that is noted from then on stays. */
  withdrawn?: AttentionKey | undefined;
  /** The clock by which `next` was reckoned, ms since 1970: it may be set before this is written. */
  clock?: number;
}

export interface Wants {
  transactions: readonly string[];
  lookups: readonly Lookup[];
}

/** In the order of what was wanted. */
export interface Reads {
  transactions: (TransactionRecord | null)[];
  lookups: (string | null)[];
}

/** What is waited for at the bank: the outcome of a cashout, of the analysis of a charge's payment, of its refunds. */
export type BankWait = 'cashout' | 'analysis' | 'refund';

/** What transactions wait for: the bank's word, or that ops decide on a protest (MED) against a charge. */
export type Wait = BankWait | 'protest';

/** A place among transactions in the order of their last changes. */
export type ChangePlace = Pick<TransactionRecord, 'updatedAt' | 'id'>;

/** An entry and the number of the batch that holds it. */
export interface NumberedEntry {
  seq: number;
  entry: Entry;
}

/** Journals and their projections, to read. Doors get this and no more. */
export interface JournalReads extends StoredReads, NewestReads {
  /** Where all batches lie in one log: to read that in its order. */
  readonly log?: LogReads;
  /** Sequence number 0 for an account without a batch. */
  head(account: string): Soon<Head>;
  /**
   * One round trip, whatever is wanted. `last`: the batch that what is decided on it follows, if only as the account's
   * next one: records may be as that batch left them.
   */
  read(account: string, wants: Wants, last?: number): Soon<Reads>;
  transaction(id: string): Promise<TransactionRecord | null>;
  /** Batches by sequence number, in order; those that aren't there are left out. */
  batches(account: string, seqs: readonly number[]): Promise<Batch[]>;
  /** A transaction's entries in batches by sequence number, in order; costs what they are, not what is beside them. */
  entries(account: string, transaction: string, seqs: readonly number[]): Promise<NumberedEntry[]>;
  /**
   * Batches after this number that hold refused messages to a transaction, in order and each once: at most `limit`,
   * none only where there are no more. Former builds' are among the record's `seqs` instead.
   */
  refusals(transaction: string, after: number, limit: number): Promise<number[]>;
  /** The journal from a sequence number on, at most `limit` batches. */
  batchesFrom(account: string, from: number, limit: number): Promise<Batch[]>;
  /** Accounts that have a journal or settings, in the order of their ids: those behind `after`. */
  accountIds(after: string, limit: number): Promise<string[]>;
  /** Records of all accounts in the order of their ids, those behind `after`, for verify. */
  records(after: string, limit: number): Promise<TransactionRecord[]>;
  /** A page of an account's lookups, for verify; the first one after null. */
  lookups(account: string, after: string | null, limit: number): Promise<LookupPage>;
  /** What accounts with settings find by these lookups: about `limit` of them are asked, those behind `after`. */
  quoted(lookups: readonly Lookup[], after: string, limit: number): Promise<QuotedPage>;
  /** Progress of a transaction's deliveries; one without an attempt has none. */
  deliveries(transaction: string): Promise<readonly DeliveryRecord[]>;
  /** Transactions that wait for that and changed last before this time (ISO), behind a place, oldest change first. */
  waiting(wait: Wait, after: ChangePlace | null, before: string, limit: number): Promise<TransactionRecord[]>;
  /** Where that costs little: how many charges wait for their payment, at most so many. */
  waitingCharges?(most: number): Promise<number>;
  /** Dead and rejected deliveries, behind a place (null: from the first); costs what the page does. */
  failedDeliveries(filter: FailedFilter, after: string | null, limit: number): Promise<FailedPage>;
}

export interface Journal extends JournalReads {
  /** Durable once it resolves. The same batch id again is answered `appended`; only the first answer has the claims. */
  append(append: Append): Promise<AppendResult>;
  /**
   * Puts projections in the place of those that stand there, each as a whole; how many were others, or not there, or
   * are being changed by somebody else, which keeps them as they are.
   * What is in progress (what is due, deliveries, items for ops) stays; a timer that its record lacked is due again.
   */
  restore(restoration: Restoration): Promise<number>;
  /** Finds out anew where batches lie in the log, where that is known wrongly; of how many accounts that was. */
  mendPlaces?(): Promise<number>;
}

/** The index of due things, and of who has each in hand. */
export interface DueIndex {
  /** Tells that this process lives, and keeps its claims: those that are neither settled nor parked. */
  beat(now: number): Promise<void>;
  /** Claims due things for this process, earliest first. */
  claim<Kind extends DueKind>(kind: Kind, now: number, limit: number): Promise<ClaimOf<Kind>[]>;
  /** When the earliest thing of each kind fell due that is due by now (ms); what is in hand may count. */
  oldest(now: number): Promise<Partial<Record<DueKind, number>>>;
  /** Whether each claim is still ours, so that its result would count. */
  holds(claims: readonly Claim[]): Promise<boolean[]>;
  /**
   * Ends claims; false for one that another has by now: its result doesn't count. So it is where a failed delivery is
   * to start anew, without a claim, and has come further since it was read, as far as another process can do that. One
   * that can't be ended is kept no longer.
   */
  settle(settlements: Settlement[]): Promise<boolean[]>;
  /** Takes claimed things out of the due index until `unpark`; as `settle`, where that fails. */
  park(claims: Claim[]): Promise<void>;
  /** Everything that was parked is due again now; how many. */
  unpark(now: number): Promise<number>;
  /**
   * The clock was set back: what a time that never came made due for later is due after as long from now. How many
   * things, at least; asked again, none.
   */
  rewind(now: number): Promise<number>;
  /** Set forward: what was brought back is put off by as much, up to its time of before. How many things. */
  unwind(forward: SetForward): Promise<number>;
  /** Drops what the adapter keeps only to find things and needs no longer. */
  tidy(now: number): Promise<void>;
}

/** Which items are meant; an option that is left out fits all. */
export interface AttentionFilter {
  kind?: AttentionKind;
  account?: string;
  transaction?: string;
  url?: string;
  /** Items of this time (ISO) or later. */
  since?: string;
}

/** Names an item. */
export type AttentionKey = Pick<AttentionItem, 'kind' | 'id'>;

/** A place in the list, which is in the order of time, then kind, then id. */
export type AttentionPlace = Pick<AttentionItem, 'since' | 'kind' | 'id'>;

/** Who was done with an item, and when (ISO). */
export interface DoneBy extends By {
  at: string;
}

/** The items noted for a person to look at. An item is on the list until somebody is done with it, or its cause is gone. */
export interface Attention {
  /** Items on the list behind a place (null: from its beginning), oldest first. */
  page(filter: AttentionFilter, after: AttentionPlace | null, limit: number): Promise<AttentionItem[]>;
  /** How many items on the list fit, behind a place. */
  count(filter: AttentionFilter, after: AttentionPlace | null): Promise<number>;
  /** How many items are on the list, by kind; costs the same however many there are. */
  counts(): Promise<Partial<Record<AttentionKind, number>>>;
  /** The items on the list that have an id: one of a kind. */
  find(id: string): Promise<AttentionItem[]>;
  /** Adds items; one that is known, done or not, stays as it is. */
  note(items: AttentionItem[]): Promise<void>;
  /** Takes items off the list. They stay known, with who was done with them: noted again they stay off. */
  dismiss(items: readonly AttentionKey[], by?: DoneBy): Promise<void>;
  /** Who was done with an item of this id, of that kind or of any; null where none was, or nobody said so. */
  doneBy(id: string, kind?: AttentionKind): Promise<DoneBy | null>;
  /** Takes so many off the count of an item; one that comes to none is forgotten. */
  discount(key: AttentionKey, by: number): Promise<void>;
  /** Forgets items, on the list or not, since their cause is gone. */
  withdraw(items: readonly AttentionKey[]): Promise<void>;
  /** In the order of the ids: whether its items were dismissed; false for one without items. */
  dismissed(ids: readonly string[]): Promise<boolean[]>;
}

/** The settings of accounts. */
export interface AccountTable {
  get(id: string): Promise<Account | null>;
  byClientId(clientId: string): Promise<Account | null>;
  /** Those behind an id, in the order of the ids. `walks.ts` goes through all of them. */
  after(id: string, limit: number): Promise<Account[]>;
  /** Whether there is no account at all; costs the same however many there are. */
  isEmpty(): Promise<boolean>;
  /** Inserts (version 1) or replaces the version before; false where somebody else was first. */
  put(account: Account): Promise<boolean>;
}

/** A store to be read, as it is at one look. */
export interface StoreReads {
  readonly journal: JournalReads;
  readonly accounts: Pick<AccountTable, 'get' | 'byClientId'>;
  readonly marks: Pick<Marks, 'mark'>;
  readonly attention: Pick<Attention, 'page' | 'counts'>;
}

/** All roles of one store; whoever is handed one role can't reach the others. */
export interface Store {
  readonly journal: Journal;
  readonly due: DueIndex;
  readonly backlog: Backlog;
  readonly attention: Attention;
  readonly accounts: AccountTable;
  readonly marks: Marks;
  /** Resolves when the store answers and takes writes. */
  ping(): Promise<void>;
  /** Writes what waits, then closes. */
  close(): Promise<void>;
}
