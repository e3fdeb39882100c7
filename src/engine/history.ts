/** A transaction's entries, read from the journal, each with the record as of it. */
import type { KeptRefusal } from '../domain/sentences/kept.ts';
import { webhookPayload } from '../domain/webhook-payload.ts';
import type { Entry, TransactionRecord } from './journal.ts';
import { project } from './project.ts';
import type { DeliveryRecord } from './store/deliveries.ts';
import type { JournalReads, NumberedEntry } from './store.ts';

export interface HistoryEntry extends NumberedEntry {
  record: TransactionRecord;
}

/** What histories are read from. */
export type HistoryReads = Pick<JournalReads, 'entries' | 'refusals'>;

const PAGE = 1_000;

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

async function historyIn(
  journal: Pick<JournalReads, 'entries'>,
  { id, account }: TransactionRecord,
  seqs: readonly number[],
): Promise<HistoryEntry[]> {
  let record: TransactionRecord | null = null;
  return (await journal.entries(account, id, seqs)).map(({ seq, entry }) => {
    const after: TransactionRecord = project(record, account, seq, entry);
    record = after;
    return { seq, entry, record: after };
  });
}

/** What a transaction took, in order: a refused message is among it only where its batch holds something else. */
export function takenBy(
  journal: Pick<JournalReads, 'entries'>,
  transaction: TransactionRecord,
): Promise<HistoryEntry[]> {
  return historyIn(journal, transaction, transaction.seqs);
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
): Promise<HistoryEntry[]> {
  const seqs = new Set([...transaction.seqs, ...(await refusalsOf(journal, transaction.id))]);
  const wanted = [...seqs].filter((seq) => seq < before).sort((a, b) => a - b);
  return historyIn(journal, transaction, wanted);
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

/** The deliveries that a transaction's entries name, oldest first. */
export function deliveriesOf(history: readonly HistoryEntry[]): NamedDelivery[] {
  return history.flatMap(({ entry, record }) =>
    entry.events.flatMap((event) => {
      if (event.deliveries.length === 0) return [];
      const named = { id: event.id, name: event.name };
      const payload = webhookPayload(event, entry.at, record);
      return event.deliveries.map(({ id, url, after }) => ({
        id,
        url,
        after,
        event: named,
        at: entry.at,
        payload,
      }));
    }),
  );
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
  const [history, progress] = await Promise.all([takenBy(journal, record), journal.deliveries(record.id)]);
  const byId = new Map(progress.map((delivery) => [delivery.id, delivery]));
  return deliveriesOf(history)
    .map((named) => listed(named, byId.get(named.id)))
    .reverse();
}
