/**
 * The ground that a batch is decided on: the account's balances and the records and lookups that its commands need, with
 * what earlier commands of the same batch changed laid over them. Records are replaced, never changed.
 */
import { applyPostings, type Balances } from '../domain/money.ts';
import { timeOfText } from '../domain/time.ts';
import type { BatchText } from './actors/batch-text.ts';
import { stuckAfter, stuckKeys, waitOf, waitsSince } from './attention/stuck.ts';
import type { Bank } from './bank.ts';
import type { Command } from './commands.ts';
import type { Entry, Head, TransactionRecord } from './journal.ts';
import { lookupKey, lookupsOf, refusalKey, returnKey } from './lookups.ts';
import { attentionItems, dueOf, project } from './project.ts';
import { sha256 } from './store/content.ts';
import { type Due, wakeUp } from './store/due.ts';
import type { Lookup, LookupName, LookupRow } from './store/lookups.ts';
import type { Append, AttentionItem, AttentionKey, Reads, Wants } from './store.ts';

/**
 * A lookup that a decision asks for and that wasn't read: it is to be read, and all is decided again. So what hardly any
 * command asks for is read for those alone, such as whether a refused message was refused before.
 */
export class Unread extends Error {
  readonly lookup: Lookup;

  constructor(lookup: Lookup) {
    super(`the lookup ${lookup.name} was not read`);
    this.lookup = lookup;
  }
}

/** Adds the records and lookups that a command is most likely decided on. */
function wantsOf(command: Command, wants: { transactions: Set<string>; lookups: Lookup[] }): void {
  switch (command.kind) {
    case 'createTransfer':
      if (command.transfer.idempotencyKey !== null) {
        wants.lookups.push({ name: 'idempotencyKey', key: lookupKey(command.transfer.idempotencyKey) });
      }
      break;
    case 'message': {
      wants.transactions.add(command.transaction);
      const { endToEndId, returnId, amount = 0 } = command.data;
      if (command.type === 'RETURN' && returnId !== undefined) {
        wants.lookups.push(
          { name: 'return', key: returnId },
          { name: 'return', key: returnKey(returnId, amount) },
        );
      }
      if ((command.type === 'PAY' || command.type === 'HOLD') && endToEndId !== undefined) {
        wants.lookups.push({ name: 'payment', key: endToEndId }, { name: 'returned', key: endToEndId });
      }
      break;
    }
    case 'invalidMessage':
      wants.transactions.add(command.transaction);
      wants.lookups.push({ name: 'refusal', key: refusalKey(command.transaction, command) });
      break;
    case 'refund':
      wants.transactions.add(command.transaction);
      if (command.idempotencyKey !== null)
        wants.lookups.push({ name: 'refundKey', key: lookupKey(command.idempotencyKey) });
      if (command.ops !== undefined) wants.lookups.push({ name: 'refund', key: command.refundId });
      break;
    case 'timer':
    case 'submit':
    case 'returnAgain':
    case 'cancel':
      wants.transactions.add(command.transaction);
      break;
    case 'adjust':
    case 'act':
      wants.lookups.push({ name: 'adjustment', key: lookupKey(command.id) });
      break;
    case 'createCharge':
      if (command.charge.idempotencyKey !== undefined)
        wants.lookups.push({ name: 'chargeKey', key: lookupKey(command.charge.idempotencyKey) });
      break;
  }
}

/** What the commands of a batch are most likely decided on, in one read. */
export function wantsOfAll(commands: readonly Command[]): Wants {
  const wants = { transactions: new Set<string>(), lookups: [] as Lookup[] };
  for (const command of commands) wantsOf(command, wants);
  return { transactions: [...wants.transactions], lookups: wants.lookups };
}

/** An entry, and the record after it; null for an entry of the account itself. */
export interface Taken {
  entry: Entry;
  record: TransactionRecord | null;
}

/** What a batch has besides what was taken. */
interface AppendCircumstances {
  head: Head;
  /** To which its entries were added. */
  text: BatchText;
  /** The batch's. */
  id: string;
  /** Time of its entries, ISO 8601. */
  at: string;
  /** The same in ms since 1970. */
  now: number;
  /** The clock, ms since 1970. */
  clock: number;
  stuckAfterMs: number;
  /** The bank's. */
  firstWakeInMs: Bank['firstWakeInMs'];
}

export class Workspace {
  readonly account: string;
  readonly seq: number;
  balances: Balances;
  /** Records that the batch changed. */
  readonly changed = new Map<string, TransactionRecord>();
  readonly addedLookups: LookupRow[] = [];
  readonly #records = new Map<string, TransactionRecord>();
  readonly #read: TransactionRecord[];
  readonly #text: BatchText | null;
  /** Those that were read or put here; null: nothing has that key. */
  readonly #lookups = new Map<string, string | null>();

  /** `text`: of the batch that is decided on it; null where there will be none. */
  constructor(
    account: string,
    seq: number,
    balances: Balances,
    { wants, reads, text }: { wants: Wants; reads: Reads; text: BatchText | null },
  ) {
    this.account = account;
    this.seq = seq;
    this.balances = balances;
    this.#text = text;
    this.#read = reads.transactions.filter((record) => record !== null);
    for (const record of this.#read) this.#records.set(record.id, record);
    wants.lookups.forEach((lookup, index) => {
      this.#setLookup(lookup, reads.lookups[index] ?? null);
    });
  }

  record(id: string): TransactionRecord | null {
    return this.#records.get(id) ?? null;
  }

  /** @throws Unread */
  lookup(name: LookupName, key: string): string | null {
    const value = this.#lookups.get(`${name}:${key}`);
    if (value === undefined) throw new Unread({ name, key });
    return value;
  }

  #setLookup({ name, key }: Lookup, value: string | null): void {
    this.#lookups.set(`${name}:${key}`, value);
  }

  /** Applies an entry: balances, record and lookups are as after it. Gives the record. @throws NoRoom */
  apply(entry: Entry): TransactionRecord | null {
    // I1 holds here: postings that don't sum to zero throw, before anything has changed, as does what has no room.
    const balances = entry.postings.length > 0 ? applyPostings(this.balances, entry.postings) : this.balances;
    const id = entry.transaction;
    const record = id === null ? null : project(this.record(id), this.account, this.seq, entry);
    const rows = lookupsOf(entry);
    this.#text?.add(entry);
    this.balances = balances;
    for (const row of rows) {
      this.#setLookup(row, row.value);
      this.addedLookups.push(row);
    }
    if (record !== null) {
      this.#records.set(record.id, record);
      this.changed.set(record.id, record);
    }
    return record;
  }

  /** The append of what was taken. */
  append(taken: readonly Taken[], circumstances: AppendCircumstances): Append {
    const { head, text, id, at, now, clock, stuckAfterMs } = circumstances;
    const { account, seq, balances } = this;
    const { hash: previous } = head;
    const entries = taken.map(({ entry }) => entry);
    const content = text.content({ account, seq, id, at, entries, balances, previous });
    const ahead = now - clock;
    const due: Append['due'] = [];
    const attention: AttentionItem[] = [];
    const withdrawn: AttentionKey[] = [];
    for (const { entry, record } of taken) {
      for (const each of dueOf(account, entry, ahead)) due.push(this.#fresh(each, circumstances));
      attention.push(...attentionItems(account, entry, record));
    }
    for (const record of this.#read) withdrawn.push(...this.#noMoreStuck(record, clock, stuckAfterMs));
    return {
      // Node 20 takes many times as long to copy an object and add a part as to write all of its parts.
      batch: { account, seq, id, at, entries, balances, previous, hash: sha256(content) },
      content,
      records: [...this.changed.values()],
      lookups: this.addedLookups,
      due,
      attention,
      withdrawn,
      claimUntil: 0,
    };
  }

  /**
   * A bank that has a fresh payout already is woken about it, if it wants to, and needs no order. A batch that is read
   * again makes the order due: the same comes of it.
   */
  #fresh(due: Due, { firstWakeInMs }: AppendCircumstances): Due | null {
    if (firstWakeInMs === null || due.kind !== 'bank' || due.order.kind !== 'payout') return due;
    const payout = this.changed.get(due.transaction);
    if (payout === undefined) return due;
    const wakeInMs = firstWakeInMs(payout);
    return wakeInMs === null ? null : wakeUp(due, 0, due.at + wakeInMs);
  }

  /** The items about a transaction that may have been stuck, and changes now. */
  #noMoreStuck(record: TransactionRecord, clock: number, stuckAfterMs: number): AttentionKey[] {
    const wait = waitOf(record);
    const after = this.changed.get(record.id);
    if (wait === null || after === undefined || after.seqs.at(-1) === record.seqs.at(-1)) return [];
    const longest = stuckAfter(wait, stuckAfterMs);
    // A time that is still to come was a wrong clock's: how long it has lasted isn't known.
    const mayBeStuck = (since: number): boolean => since <= clock - longest || since > clock;
    return waitsSince(record).map(timeOfText).some(mayBeStuck) ? stuckKeys(record, after) : [];
  }
}
