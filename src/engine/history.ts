/** A transaction's entries, read from the journal, and the deliveries that they name. */
import type { KeptRefusal } from '../domain/sentences/kept.ts';
import { type TransactionThen, webhookPayload } from '../domain/webhook-payload.ts';
import { turn } from '../waiting.ts';
import type { Entry, TransactionRecord } from './journal.ts';
import { project } from './project.ts';
import type { DeliveryRecord } from './store/deliveries.ts';
import type { JournalReads, NumberedEntry } from './store.ts';

/** What histories are read from. */
export type HistoryReads = Pick<JournalReads, 'entries' | 'refusals'>;

const PAGE = 1_000;
/** About so many entries are read in one turn of the event loop: nothing bounds how many a transaction has. */
const A_TURN = 200;
/** Batches that are read first: most transactions have no more. */
const FIRST = 8;

/** Batches that hold refused messages to a transaction, but for those of former builds. */
export async function refusalsOf(
  journal: Pick<JournalReads, 'refusals'>,
  transaction: string,
): Promise<number[]> {
  const seqs: number[] = [];
  for (;;) {
    const page = await journal.refusals(transaction, seqs.at(-1) ?? 0, PAGE);
    if (page.length === 0) return seqs;
    seqs.push(...page);
  }
}

/** A transaction's entries in batches by sequence number, in order; others have their turn between pages. */
async function* pagesIn(
  journal: Pick<JournalReads, 'entries'>,
  { id, account }: TransactionRecord,
  seqs: readonly number[],
): AsyncGenerator<NumberedEntry[]> {
  let size = FIRST;
  for (let from = 0; from < seqs.length; ) {
    // An embedded store answers at once.
    if (from > 0) await turn();
    const page = await journal.entries(account, id, seqs.slice(from, from + size));
    from += size;
    yield page;
    // A batch may hold hundreds of its entries, or one.
    size = Math.min(A_TURN, Math.ceil((A_TURN * size) / Math.max(1, page.length)));
  }
}

async function entriesIn(
  journal: Pick<JournalReads, 'entries'>,
  transaction: TransactionRecord,
  seqs: readonly number[],
): Promise<NumberedEntry[]> {
  const all: NumberedEntry[] = [];
  for await (const page of pagesIn(journal, transaction, seqs)) all.push(...page);
  return all;
}

/** What a transaction took, in order: a refused message is among it only where its batch holds something else. */
export function takenBy(
  journal: Pick<JournalReads, 'entries'>,
  transaction: TransactionRecord,
): Promise<NumberedEntry[]> {
  return entriesIn(journal, transaction, transaction.seqs);
}

/** Why an entry's message wasn't taken; null where it was. What its sentence needs is kept with what ops are told. */
export function refusalOf({ refusal, code, attention }: Entry): KeptRefusal | null {
  if (refusal === null) return null;
  const { details = null } = (attention?.data ?? {}) as { details?: object };
  return { code, data: details, text: refusal };
}

/** All entries of a transaction in order, those before a batch where one is given. */
export async function historyOf(
  journal: HistoryReads,
  transaction: TransactionRecord,
  before = Number.POSITIVE_INFINITY,
): Promise<NumberedEntry[]> {
  const seqs = new Set([...transaction.seqs, ...(await refusalsOf(journal, transaction.id))]);
  const wanted = [...seqs].filter((seq) => seq < before).sort((a, b) => a - b);
  return entriesIn(journal, transaction, wanted);
}

/** A transaction's record as all of its entries make it; null where it has none. */
export async function recordFrom(
  journal: HistoryReads,
  transaction: TransactionRecord,
): Promise<TransactionRecord | null> {
  let record: TransactionRecord | null = null;
  for (const { seq, entry } of await historyOf(journal, transaction))
    record = project(record, transaction.account, seq, entry);
  return record;
}

/** One event's delivery as the journal names it. */
export interface NamedDelivery {
  id: string;
  url: string;
  after: string | null;
  event: { id: string; name: string };
  /** The event's time. */
  at: string;
  payload: object;
}

/**
 * A transaction as of one entry after the other. Payloads need no more of its record than this; what else that holds
 * grows with each entry, and to copy it for each makes a long history take the square of its length.
 */
class Then {
  readonly #transaction: TransactionThen;
  #hasBegun = false;

  constructor({ id, type }: TransactionRecord) {
    // The record's type says whose context it is: no type of ours can.
    this.#transaction = { id, type, snapshot: { context: {} } } as unknown as TransactionThen;
  }

  /** The transaction after its next entry, until the one after that. @throws Error where its first one has no snapshot */
  after({ snapshot }: Entry): TransactionThen {
    const { id, snapshot: then } = this.#transaction;
    if (snapshot === null && !this.#hasBegun) throw new Error(`the first entry of ${id} has no snapshot`);
    this.#hasBegun = true;
    // An entry's parts stay as they are: they take the places of those before them.
    Object.assign(then.context, snapshot?.context);
    return this.#transaction;
  }
}

function namedIn({ events, at }: Entry, then: TransactionThen): NamedDelivery[] {
  return events.flatMap((event) => {
    if (event.deliveries.length === 0) return [];
    const named = { id: event.id, name: event.name };
    const payload = webhookPayload(event, at, then);
    return event.deliveries.map(({ id, url, after }) => ({ id, url, after, event: named, at, payload }));
  });
}

/** The deliveries that a transaction's entries name, oldest first. */
export async function deliveriesOf(
  journal: Pick<JournalReads, 'entries'>,
  transaction: TransactionRecord,
): Promise<NamedDelivery[]> {
  const named: NamedDelivery[] = [];
  const then = new Then(transaction);
  for await (const page of pagesIn(journal, transaction, transaction.seqs))
    for (const { entry } of page) named.push(...namedIn(entry, then.after(entry)));
  return named;
}

function listed(named: NamedDelivery, record: DeliveryRecord | undefined): object {
  return {
    id: named.id,
    eventId: named.event.id,
    event: named.event.name,
    url: named.url,
    status: record?.status ?? 'pending',
    attempts: record?.attempts ?? [],
    nextAttemptAt: record?.nextAttemptAt ?? null,
    createdAt: named.at,
    deliveredAt: record?.deliveredAt ?? null,
    payload: named.payload,
  };
}

/** All deliveries of a transaction as merchants and ops see them (decisions, "GET /webhooks"), newest first. */
export async function deliveryList(
  journal: Pick<JournalReads, 'entries' | 'deliveries'>,
  record: TransactionRecord,
): Promise<object[]> {
  const [all, progress] = await Promise.all([deliveriesOf(journal, record), journal.deliveries(record.id)]);
  const byId = new Map(progress.map((delivery) => [delivery.id, delivery]));
  return all.map((named) => listed(named, byId.get(named.id))).reverse();
}
