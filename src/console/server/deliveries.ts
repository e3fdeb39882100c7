/** Lists of deliveries, those of the newest events first: the entries that named them, and how far each has come. */
import type { Batch, Entry as JournalEntry } from '../../engine/journal.ts';
import type { DeliveryRecord, DeliveryStatus } from '../../engine/store/deliveries.ts';
import type { StoreReads } from '../../engine/store.ts';
import type { DeliveryPage, DeliveryRow } from '../shapes/deliveries.ts';
import type { Delivery } from '../shapes.ts';
import { accountNames } from './account/list.ts';
import { cursorIn, type Taker, walkBack } from './backwards.ts';

export const DELIVERY_STATUSES: readonly DeliveryStatus[] = [
  ...(['pending', 'retrying', 'delivered', 'dead', 'rejected'] as const),
];

export interface DeliveryWish {
  account: string | null;
  status: DeliveryStatus | null;
  url: string | null;
  /** Where the page before ended. */
  after: string | null;
  limit: number;
}

/** The deliveries that an entry names, as far as each has come; one without a record was not attempted yet. */
export function deliveriesIn(
  { events }: JournalEntry,
  progress: ReadonlyMap<string, DeliveryRecord>,
): Delivery[] {
  return events.flatMap((event) =>
    event.deliveries.map(({ id, url }) => {
      const record = progress.get(id);
      return {
        ...{ id, url, event: event.name, eventId: event.id, status: record?.status ?? 'pending' },
        nextAttemptAt: record?.nextAttemptAt ?? null,
        attempts: record?.attempts ?? [],
      };
    }),
  );
}

/** Transactions of which a batch's entries name deliveries. */
function toldOf({ entries }: Batch): string[] {
  return entries.flatMap(({ transaction, events }) =>
    transaction !== null && events.some(({ deliveries }) => deliveries.length > 0) ? [transaction] : [],
  );
}

class Page implements Taker {
  readonly rows: Omit<DeliveryRow, 'accountName'>[] = [];
  readonly #reads: StoreReads;
  readonly #wish: DeliveryWish;
  #progress: ReadonlyMap<string, DeliveryRecord> = new Map();

  constructor(reads: StoreReads, wish: DeliveryWish) {
    this.#reads = reads;
    this.#wish = wish;
  }

  async prepare(batches: readonly Batch[]): Promise<void> {
    const ids = [...new Set(batches.flatMap(toldOf))];
    const found = await Promise.all(ids.map((id) => this.#reads.journal.deliveries(id)));
    this.#progress = new Map(found.flat().map((record) => [record.id, record]));
  }

  /** The deliveries of one entry stay together: a page may have a few more than its limit. */
  async take({ account, entries }: Batch, before: number): Promise<number | null> {
    for (const [index, entry] of [...entries.entries()].slice(0, before).reverse()) {
      const { transaction, type, at } = entry;
      const own =
        transaction === null ? [] : deliveriesIn(entry, this.#progress).filter((each) => this.#fits(each));
      if (transaction === null || type === null || own.length === 0) continue;
      if (this.rows.length >= this.#wish.limit) return index + 1;
      this.rows.push(
        ...own.reverse().map((each) => ({ ...each, account, transaction, type, createdAt: at })),
      );
    }
    return null;
  }

  #fits({ status, url }: Delivery): boolean {
    const { status: wanted, url: wantedUrl } = this.#wish;
    return (wanted === null || status === wanted) && (wantedUrl === null || url === wantedUrl);
  }
}

/** A page of deliveries. @throws ConsoleError */
export async function listDeliveries(reads: StoreReads, wish: DeliveryWish): Promise<DeliveryPage> {
  const page = new Page(reads, wish);
  const { lookedBackTo, next } = await walkBack(reads, wish.account, cursorIn('after', wish.after), page);
  const names = await accountNames(
    reads,
    page.rows.map(({ account }) => account),
  );
  const rows = page.rows.map((row) => ({ ...row, accountName: names.get(row.account) ?? '' }));
  return { rows, lookedBackTo, after: next };
}
