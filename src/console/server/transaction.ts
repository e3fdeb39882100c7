/** One transaction with all that belongs to it, as the console shows it. What grows is read by pages. */
import { represent } from '../../api/representation.ts';
import { partsOf } from '../../domain/message-data.ts';
import { remainingOf } from '../../domain/reversals/sums.ts';
import { allowedTypes } from '../../engine/chart.ts';
import { deliveriesOf, refusalOf, refusalsOf } from '../../engine/history.ts';
import type { Batch, Entry as JournalEntry, TransactionRecord } from '../../engine/journal.ts';
import { allowedToOps } from '../../engine/refunds/later-words.ts';
import { balanceBefore, changeOf } from '../../engine/statement/rows.ts';
import type { DeliveryRecord } from '../../engine/store/deliveries.ts';
import type { JournalReads, StoreReads } from '../../engine/store.ts';
import { turn } from '../../waiting.ts';
import type { Delivery, Entry, Posting, SentPayload, TransactionDocument } from '../shapes.ts';
import { deliveriesIn } from './deliveries/entries.ts';
import { ConsoleError, noTransaction } from './errors.ts';
import { itemsAbout, shownItems } from './items.ts';
import { mask } from './masking.ts';

/** Entries on a page, as long as a batch doesn't hold more of one transaction. */
const PAGE = 50;
/** Batches whose entries are read in one turn of the event loop. */
const A_TURN = 100;

export interface DocumentWish {
  /** Only entries of batches before this one; null: the newest. */
  before: number | null;
  reveal: boolean;
  /** Ms since 1970. */
  now: number;
  /** No message is the bank's alone. */
  everyDoorSpeaks: boolean;
}

/** An entry of the page, with what its deliveries are made of. */
interface PageEntry {
  seq: number;
  entry: JournalEntry;
  balance: number;
}

/** A transaction's own entries in a batch, each with the balance after it. */
function ownEntries(batch: Batch, transaction: string): PageEntry[] {
  let balance = balanceBefore(batch);
  const own: PageEntry[] = [];
  for (const entry of batch.entries) {
    balance += changeOf(entry);
    if (entry.transaction === transaction) own.push({ seq: batch.seq, entry, balance });
  }
  return own;
}

/** The newest entries before a batch, oldest first, and the `before` of those before them. */
async function pageOf(
  journal: JournalReads,
  { id, account, seqs }: TransactionRecord,
  before: number | null,
): Promise<{ entries: PageEntry[]; next: number | null }> {
  const all = new Set([...seqs, ...(await refusalsOf(journal, id))]);
  const wanted = [...all].filter((seq) => before === null || seq < before).sort((a, b) => a - b);
  const batches = await journal.batches(account, wanted.slice(-PAGE));
  const pages = batches.map((batch) => ownEntries(batch, id));
  // Whole batches, the newest first, until the page is full.
  let count = 0;
  let from = pages.length;
  while (from > 0 && count < PAGE) {
    from -= 1;
    count += pages[from]?.length ?? 0;
  }
  const first = batches[from]?.seq ?? null;
  const isLast = first === null || wanted[0] === first;
  return { entries: pages.slice(from).flat(), next: isLast ? null : first };
}

function shownEntry({ seq, entry, balance }: PageEntry): Entry {
  const { at, from, to, postings, message, events } = entry;
  const { id, type, data, door, by = null } = message;
  return {
    ...{ seq, at, door, by, message: { id, type, data }, from, to: to ?? from ?? '' },
    refusal: refusalOf(entry),
    postings,
    events: events.map(({ id, name }) => ({ id, name })),
    balance,
  };
}

/** Each leg's sum over all entries. */
async function legsOf(
  journal: JournalReads,
  { id, account, seqs }: TransactionRecord,
  page: readonly PageEntry[],
  isWhole: boolean,
): Promise<Posting[]> {
  const sums = new Map<string, number>();
  const add = ({ postings }: JournalEntry): void => {
    for (const { leg, amount } of postings) sums.set(leg, (sums.get(leg) ?? 0) + amount);
  };
  if (isWhole) for (const { entry } of page) add(entry);
  for (let from = 0; !isWhole && from < seqs.length; from += A_TURN) {
    for (const { entry } of await journal.entries(account, id, seqs.slice(from, from + A_TURN))) add(entry);
    await turn();
  }
  return [...sums].map(([leg, amount]) => ({ leg, amount }));
}

function shownDeliveries(page: readonly PageEntry[], progress: readonly DeliveryRecord[]): Delivery[] {
  const byId = new Map(progress.map((record) => [record.id, record]));
  return page.flatMap(({ entry }) => deliveriesIn(entry, byId)).reverse();
}

const ORDER = 'REFUND_ORDER';

/** What can be done to it now, and what each message's data may have. */
function actsOn(
  record: TransactionRecord,
  everyDoorSpeaks: boolean,
): Pick<TransactionDocument, 'allowed' | 'needs' | 'refundable'> {
  const { type, snapshot } = record;
  const { machine, value } = snapshot;
  const takesOrder = type === 'pix-in' && allowedTypes(machine, value).includes(ORDER);
  const refundable = takesOrder ? remainingOf(record.snapshot.context) : 0;
  const types = allowedToOps(record, everyDoorSpeaks);
  const needs = Object.fromEntries(
    types.map((name) => {
      const { required, optional } = partsOf(type, name);
      return [name, { required: [...required], optional: [...optional] }];
    }),
  );
  return { allowed: refundable > 0 ? [...types, ORDER] : types, needs, refundable };
}

/** A transaction's record. @throws ConsoleError where there is none */
async function recordOf({ journal }: StoreReads, id: string): Promise<TransactionRecord> {
  const record = await journal.transaction(id.toLowerCase());
  if (record === null) throw noTransaction();
  return record;
}

/** @throws ConsoleError where there is no such transaction */
export async function transactionDocument(
  reads: StoreReads,
  id: string,
  { before, reveal, now, everyDoorSpeaks }: DocumentWish,
): Promise<TransactionDocument> {
  const { journal, accounts } = reads;
  const record = await recordOf(reads, id);
  const [account, { entries, next }, progress, items] = await Promise.all([
    accounts.get(record.account),
    pageOf(journal, record, before),
    journal.deliveries(record.id),
    itemsAbout(reads, record.id),
  ]);
  const { snapshot } = record;
  const { machine, version, value, context } = snapshot;
  const open = <Value>(text: Value): Value => (reveal ? text : mask(text));
  const shown = open({
    transaction: represent(record, now) as Record<string, unknown>,
    snapshot,
    entries: entries.map(shownEntry).reverse(),
  });
  return {
    ...{ id: record.id, account: record.account, accountName: mask(account?.name ?? ''), type: record.type },
    ...{ status: value, amount: context.amount, createdAt: context.createdAt, updatedAt: record.updatedAt },
    ...shown,
    machine: { id: machine, version: Number(version), state: value },
    ...actsOn(record, everyDoorSpeaks),
    timers: record.timers,
    legs: await legsOf(journal, record, entries, before === null && next === null),
    before: next,
    items: shownItems(items),
    deliveries: shownDeliveries(entries, progress),
  };
}

/** What was sent of an event. @throws ConsoleError where there is no such transaction or event */
export async function sentPayload(
  reads: StoreReads,
  id: string,
  eventId: string,
  reveal: boolean,
): Promise<SentPayload> {
  const record = await recordOf(reads, id);
  const sent = (await deliveriesOf(reads.journal, record)).find(({ event }) => event.id === eventId);
  if (sent === undefined) throw new ConsoleError('EVENT_NOT_FOUND', 'Nothing was sent of such an event.');
  const payload = sent.payload as Record<string, unknown>;
  return { eventId, payload: reveal ? payload : mask(payload, record.snapshot.context) };
}
