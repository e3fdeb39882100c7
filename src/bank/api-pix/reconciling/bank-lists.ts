/**
 * The bank's lists, held against the journal: what they show and we haven't booked is asked about; what no transaction
 * of ours explains, and what differs, is a person's.
 */
import type { ListedKind } from '../../../domain/sentences/item-codes.ts';
import type { TransactionRecord } from '../../../engine/journal.ts';
import { lookUp } from '../../../engine/lookups.ts';
import type { DueIndex, JournalReads } from '../../../engine/store.ts';
import { turn } from '../../../waiting.ts';
import { askAbout, type News, recordAt } from '../callbacks/incoming.ts';
import type { BankConnection } from '../connection.ts';
import { knownCharge } from '../known-charge.ts';
import { isPaymentOf, paymentMessages, sendingNews } from '../messages.ts';
import type { Notes } from '../notes.ts';
import type { Payment, UnreadPayment, Window } from '../payments.ts';
import type { Sending } from '../profile.ts';
import type { UnreadSending } from '../sendings.ts';
import { CallFailed } from '../wire/outcome.ts';
import { type Differing, noteDiffering, paymentDiffers, sendingDiffers } from './differing.ts';
import type { Booked } from './journal-side.ts';
import type { Unbooked } from './unbooked.ts';
import { type Walk, walk } from './windows.ts';

/** What differs between the bank and the journal. */
export interface Difference {
  kind: ListedKind | 'unread' | 'missing';
  endToEndId: string | null;
  transactionId: string | null;
  /** Cents. */
  amount: number | null;
  what: string;
}

/** What became known of a list's items, for whoever wants more than their being looked after. */
export interface Watcher {
  payment?(payment: Payment): void;
  sending?(sending: Sending): void;
  difference?(difference: Difference): void;
  unbooked?(unbooked: Unbooked): Promise<void>;
  /** A page was looked at; the next one waits. */
  page?(): Promise<void>;
}

/** Keeps until when a list was read, ms. */
export type Moved = Walk<unknown>['moved'];

export interface Reading {
  watcher?: Watcher;
  moved?: Moved;
}

export interface BankListsOptions {
  connection: Pick<BankConnection, 'payments' | 'sendings'>;
  journal: JournalReads;
  due: Pick<DueIndex, 'settle'>;
  notes: Notes;
  now(): number;
}

const LOOKED_UP_TOGETHER = 50;

async function notToBeKept(): Promise<void> {}

export class BankLists {
  readonly #options: BankListsOptions;

  constructor(options: BankListsOptions) {
    this.#options = options;
  }

  /** Whether the bank lists transfers. */
  get listsSendings(): boolean {
    return this.#options.connection.sendings?.lists === true;
  }

  /** Whether something that was booked should be in the bank's list, by these end-to-end ids, and isn't. */
  isMissing({ kind, endToEndId }: Booked, listed: ReadonlySet<string>): boolean {
    if (kind === 'return' || (kind === 'sending' && !this.listsSendings)) return false;
    return endToEndId === null || !listed.has(endToEndId);
  }

  /**
   * Whether the bank tells of something that was booked when it is asked about that alone: transfers are listed by when
   * they were ordered, and booked by when they were settled. What it doesn't answer isn't told of.
   */
  async isTold({ kind, endToEndId, transactionId }: Omit<Booked, 'amount'>): Promise<boolean> {
    if (kind === 'sending') return (await this.settled(transactionId)) !== null;
    return (
      endToEndId !== null &&
      (await answered(() => this.#options.connection.payments.ask(endToEndId))) !== null
    );
  }

  /** A transfer of ours that the bank has settled, as it answers the question about it; null: it doesn't say so. */
  async settled(id: string): Promise<Sending | null> {
    const { sendings } = this.#options.connection;
    const ref = { id, bankId: null };
    if (sendings?.canAsk(ref) !== true) return null;
    const sending = await answered(() => sendings.ask(ref));
    return sending?.state === 'settled' ? sending : null;
  }

  /** Walks through all that the bank lists of a span. @throws CallFailed */
  async walk(span: Window, watcher: Watcher = {}): Promise<void> {
    await this.payments(span, { watcher });
    await this.sendings(span, { watcher });
  }

  /** The payments of a span that have returns: returns come long after their payments. @throws CallFailed */
  async returns(span: Window, reading: Reading = {}): Promise<void> {
    await this.payments(span, { ...reading, withReturns: true });
  }

  async payments(
    span: Window,
    { watcher = {}, moved = notToBeKept, withReturns = false }: Reading & { withReturns?: boolean },
  ): Promise<void> {
    const { connection, now } = this.#options;
    const { payments } = connection;
    const askedAt = now();
    const seen = new Set<string>();
    await walk<Payment | UnreadPayment>(span, {
      list: (window) => payments.list(window, { withReturns }),
      look: async (items) => {
        for (let from = 0; from < items.length; from += LOOKED_UP_TOGETHER) {
          await turn();
          // A list that shifts is read again, and windows share their ends: what comes twice is one.
          const some = items.slice(from, from + LOOKED_UP_TOGETHER).filter((item) => !isSeen(seen, item));
          await this.#lookAtPayments(some, watcher, askedAt);
        }
        await watcher.page?.();
      },
      moved,
    });
  }

  async #lookAtPayments(
    items: readonly (Payment | UnreadPayment)[],
    watcher: Watcher,
    askedAt: number,
  ): Promise<void> {
    const records = await this.#records(items.map(({ txid }) => txid));
    const asked: News[] = [];
    for (const [index, item] of items.entries()) {
      const record = records[index] ?? null;
      if ('unread' in item) {
        if (record === null) await this.#options.notes.foreignUnread(item);
        else asked.push({ record, payment: item.endToEndId });
        watcher.difference?.(unreadDifference(item, record));
        continue;
      }
      watcher.payment?.(item);
      const isNews = await this.#isNews(item, record, watcher);
      if (record?.type !== 'pix-in') continue;
      if (isNews) asked.push({ record, payment: item.endToEndId });
      else if (isOlder(record, askedAt))
        await this.#tellOfDiffering(paymentDiffers(record, item), item, record, watcher);
    }
    await askAbout(this.#options, asked);
  }

  /** Whether the bank is to be asked about a payment of the list, since it hasn't been booked. */
  async #isNews(payment: Payment, record: TransactionRecord | null, watcher: Watcher): Promise<boolean> {
    const { endToEndId, amount } = payment;
    const known = record?.type === 'pix-in' ? knownCharge(record) : null;
    if (record === null || known === null || !isPaymentOf(payment, known)) {
      await this.#options.notes.foreign(payment);
      const what = 'the bank lists a payment that no charge of ours explains';
      watcher.difference?.({ kind: 'payment', endToEndId, transactionId: null, amount, what });
      return false;
    }
    const [message] = paymentMessages(payment, known);
    if (message === undefined || (await this.#isGivenBack(record, payment))) return false;
    const kind = message.type === 'PAY' ? 'payment' : 'return';
    await tellUnbooked(watcher, { kind, record, endToEndId, amount, message });
    return true;
  }

  /** Tells of what differs from what was booked. */
  async #tellOfDiffering(
    differing: readonly Differing[],
    { endToEndId, amount }: Pick<Payment | Sending, 'endToEndId' | 'amount'>,
    record: TransactionRecord,
    { difference }: Watcher,
  ): Promise<void> {
    await noteDiffering(this.#options.notes, record, { listed: `${endToEndId}`, amount }, differing);
    const kind = record.type === 'pix-in' ? 'payment' : 'sending';
    for (const { what } of differing)
      difference?.({ kind, endToEndId, transactionId: record.id, amount, what });
  }

  /** A payment that was given back was refused here: that isn't news, as long as nothing else is. */
  async #isGivenBack({ account }: TransactionRecord, { endToEndId }: Payment): Promise<boolean> {
    return (await lookUp(this.#options.journal, account, 'returned', endToEndId)) !== null;
  }

  async sendings(span: Window, { watcher = {}, moved = notToBeKept }: Reading = {}): Promise<void> {
    const { connection, now } = this.#options;
    const { sendings } = connection;
    if (sendings === null) return;
    const askedAt = now();
    await walk<Sending | UnreadSending>(span, {
      list: (window) => sendings.list(window),
      look: async (items) => {
        await this.#lookAtSendings(items, watcher, askedAt);
        await watcher.page?.();
      },
      moved,
    });
  }

  async #lookAtSendings(
    items: readonly (Sending | UnreadSending)[],
    watcher: Watcher,
    askedAt: number,
  ): Promise<void> {
    const unread = items.filter((item) => 'unread' in item);
    const read = items.filter((item): item is Sending => !('unread' in item));
    await this.#options.notes.sendingsUnread(unread);
    const records = await this.#records(read.map(({ id }) => id));
    const asked: News[] = [];
    for (const [index, item] of read.entries()) {
      const record = records[index] ?? null;
      watcher.sending?.(item);
      if (record?.type !== 'cashout') {
        const { endToEndId, amount } = item;
        const listed = `${item.id ?? endToEndId}`;
        const what = `the bank lists a transfer (${listed}) that no cashout of ours explains`;
        const { notes } = this.#options;
        await notes.difference('TRANSFER_UNEXPLAINED', `sent_${listed}`, { listed }, {}, amount);
        watcher.difference?.({ kind: 'sending', endToEndId, transactionId: null, amount, what });
        continue;
      }
      const [message] = sendingNews(record, item).filter(({ type }) => type !== 'START');
      if (message === undefined) {
        if (isOlder(record, askedAt))
          await this.#tellOfDiffering(sendingDiffers(record, item), item, record, watcher);
        continue;
      }
      asked.push({ record, payment: null });
      const { endToEndId, amount } = item;
      await tellUnbooked(watcher, { kind: 'sending', record, endToEndId, amount, message });
    }
    await askAbout(this.#options, asked);
  }

  /** In the order of our ids at the bank; null where there is no such transaction. */
  #records(ids: readonly (string | null)[]): Promise<(TransactionRecord | null)[]> {
    return Promise.all(ids.map((id) => recordAt(this.#options.journal, id)));
  }
}

/** An answer; null where there is none. */
async function answered<Item>(ask: () => Promise<Item | null>): Promise<Item | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CallFailed) return null;
    throw error;
  }
}

async function tellUnbooked({ difference, unbooked }: Watcher, found: Unbooked): Promise<void> {
  const { kind, record, endToEndId, amount, message } = found;
  const what = `the journal hasn't booked what the bank shows (${message.type})`;
  difference?.({ kind, endToEndId, transactionId: record.id, amount, what });
  await unbooked?.(found);
}

/** What changed since the bank was asked may differ from its answer. */
function isOlder({ updatedAt }: TransactionRecord, askedAt: number): boolean {
  return Date.parse(updatedAt) < askedAt;
}

function isSeen(seen: Set<string>, { endToEndId }: Payment | UnreadPayment): boolean {
  if (endToEndId === null) return false;
  if (seen.has(endToEndId)) return true;
  seen.add(endToEndId);
  return false;
}

function unreadDifference(
  { endToEndId, unread }: UnreadPayment,
  record: TransactionRecord | null,
): Difference {
  const what = `a payment can't be read: ${unread}`;
  return { kind: 'unread', endToEndId, transactionId: record?.id ?? null, amount: null, what };
}
