/**
 * Lists of deliveries, those of the newest events first: the entries that named them, and how far each has come. Those
 * that have failed are read by their index.
 */
import type { Context } from 'koa';
import type { Batch } from '../../../engine/journal.ts';
import type { DeliveryRecord, DeliveryStatus } from '../../../engine/store/deliveries.ts';
import type { StoreReads } from '../../../engine/store.ts';
import type { DeliveryPage } from '../../shapes/deliveries.ts';
import type { Delivery } from '../../shapes.ts';
import { accountNames } from '../account/list.ts';
import { cursorIn, type Taker, type Walked, walkBack } from '../backwards.ts';
import { limitOf, oneOf, textOf } from '../query.ts';
import { deliveriesIn } from './entries.ts';
import { listFailed, type Row } from './failed.ts';

const DELIVERY_STATUSES: readonly DeliveryStatus[] = [
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

/** What a request asks for. @throws ConsoleError */
export function deliveryWish(ctx: Context): DeliveryWish {
  const [account, url, after] = [textOf(ctx, 'account'), textOf(ctx, 'url'), textOf(ctx, 'after')];
  return { account, status: oneOf(ctx, 'status', DELIVERY_STATUSES), url, after, limit: limitOf(ctx) };
}

/** Transactions of which a batch's entries name deliveries. */
function toldOf({ entries }: Batch): string[] {
  return entries.flatMap(({ transaction, events }) =>
    transaction !== null && events.some(({ deliveries }) => deliveries.length > 0) ? [transaction] : [],
  );
}

interface Listed extends Walked {
  rows: Row[];
}

class Page implements Taker {
  readonly rows: Row[] = [];
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

/** A page of dead or rejected ones, which lie in an index of their own. @throws ConsoleError */
async function failed(
  reads: StoreReads,
  status: 'dead' | 'rejected',
  { account, url, after, limit }: DeliveryWish,
): Promise<Listed> {
  const filter = { status, ...(account === null ? {} : { account }), ...(url === null ? {} : { url }) };
  return { lookedBackTo: null, ...(await listFailed(reads, filter, after, limit)) };
}

/** A page of any, from the journal backwards. @throws ConsoleError */
async function newest(reads: StoreReads, wish: DeliveryWish): Promise<Listed> {
  const page = new Page(reads, wish);
  const walked = await walkBack(reads, wish.account, cursorIn('after', wish.after), page);
  return { rows: page.rows, ...walked };
}

/** A page of deliveries. @throws ConsoleError */
export async function listDeliveries(reads: StoreReads, wish: DeliveryWish): Promise<DeliveryPage> {
  const { status } = wish;
  const hasIndex = status === 'dead' || status === 'rejected';
  const { next, ...page } = await (hasIndex ? failed(reads, status, wish) : newest(reads, wish));
  const names = await accountNames(
    reads,
    page.rows.map(({ account }) => account),
  );
  const rows = page.rows.map((row) => ({ ...row, accountName: names.get(row.account) ?? '' }));
  return { ...page, rows, after: next };
}
