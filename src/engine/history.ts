/** A transaction's entries, read from the journal, each with the record as of it. */
import { webhookPayload } from '../domain/webhook-payload.ts';
import type { Batch, Entry, TransactionRecord } from './journal.ts';
import { project } from './project.ts';
import type { DeliveryRecord, JournalReads } from './store.ts';

export interface HistoryEntry {
  seq: number;
  entry: Entry;
  record: TransactionRecord;
}

/** Reads batches, each once: neighbours in a batch share what it costs to read. */
export class BatchReader {
  readonly #journal: JournalReads;
  readonly #read = new Map<string, Promise<Batch[]>>();

  constructor(journal: JournalReads) {
    this.#journal = journal;
  }

  async batches(account: string, seqs: readonly number[]): Promise<Batch[]> {
    const read = (seq: number): Promise<Batch[]> => {
      const key = `${account} ${seq}`;
      const known = this.#read.get(key) ?? this.#journal.batches(account, [seq]);
      this.#read.set(key, known);
      return known;
    };
    return (await Promise.all(seqs.map(read))).flat();
  }
}

/** All entries of a transaction in order. */
export async function historyOf(
  journal: Pick<JournalReads, 'batches'>,
  transaction: TransactionRecord,
): Promise<HistoryEntry[]> {
  const history: HistoryEntry[] = [];
  let record: TransactionRecord | null = null;
  for (const batch of await journal.batches(transaction.account, transaction.seqs)) {
    for (const entry of batch.entries) {
      if (entry.transaction !== transaction.id) continue;
      record = project(record, transaction.account, batch.seq, entry);
      history.push({ seq: batch.seq, entry, record });
    }
  }
  return history;
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
      const payload = webhookPayload(named, entry.at, record);
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
export async function deliveryList(journal: JournalReads, record: TransactionRecord): Promise<object[]> {
  const [history, progress] = await Promise.all([historyOf(journal, record), journal.deliveries(record.id)]);
  const byId = new Map(progress.map((delivery) => [delivery.id, delivery]));
  return deliveriesOf(history)
    .map((named) => listed(named, byId.get(named.id)))
    .reverse();
}
