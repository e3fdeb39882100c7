/**
 * What must be true of an account's journal, written from the contract and the decisions: an independent model
 * that reads the entries one by one and throws at the first that it can't explain. It knows no statechart and
 * calls nothing of the engine.
 */
import { createHash } from 'node:crypto';
import type { Account, Webhook } from '../../src/domain/account.ts';
import type { Batch, Entry } from '../../src/engine/journal.ts';
import { must } from './must.ts';
import { isOfPart, Parts } from './parts.ts';
import { CREDITED, DEBITED, FIRST, MOVES } from './rules.ts';

/** What is known of true time, ms since 1970: the times of entries are those of clocks that may be wrong. */
export interface Timeline {
  decidedAt(batch: Batch): number;
  /** By how many ms, in all, clocks were set forward between two times. */
  forwardBetween(from: number, to: number): number;
  /** For so long after its time a charge waits for payments that are on their way, ms. */
  graceMs: number;
  /** The webhooks that whoever decided a batch may have gone by; those that the account had at first where nothing is said. */
  webhooksAt?(account: string, decidedAt: number): (readonly Webhook[])[];
}

/** Clocks that are always right. */
const RIGHT: Timeline = {
  decidedAt: ({ at }) => Date.parse(at),
  forwardBetween: () => 0,
  graceMs: 0,
};
/** Clocks that are right differ by less. */
const SKEW_MS = 2_000;

/** A transaction as the model has it. */
export interface Known {
  id: string;
  kind: string;
  status: string;
  tag: string | null;
  key: string | null;
  amount: number;
  totalFee: number;
  /** How long after its creation it may expire, ms. */
  lifeMs: number;
  /** When it was created, by the timeline. */
  createdAt: number;
  /** Applied message ids with what they said. */
  applied: Map<string, string>;
  /** What was refused, by id and digest. */
  refused: Set<string>;
  /** End-to-end ids whose payment it took. */
  payments: Set<string>;
  events: number;
  last: Map<string, string>;
  startImplied: boolean;
  /** Its sending has begun: with a bank that must not get an order twice. */
  isSubmitted: boolean;
  parts: Parts;
}

/** JSON with sorted names: written here once more, since the one that made the hashes is under test. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`).join(',')}}`;
}

/** An entry without what is as usual: so it is hashed. */
function unusual(entry: Entry, batchAt: string): object {
  const members = Object.entries(entry).filter(([name, value]) => {
    if (name === 'at') return value !== batchAt;
    // No timers and timers that stay as they were are two things.
    return value !== null && !(Array.isArray(value) && value.length === 0 && name !== 'timers');
  });
  return Object.fromEntries(members);
}

/** What a transaction in this status has done to the balance, all in all. */
function worth({ kind, amount, totalFee }: Known, status: string): number {
  if (kind === 'pix-in') return CREDITED.has(status) ? amount - totalFee : 0;
  return DEBITED.has(status) ? -amount - totalFee : 0;
}

export class Model {
  seq = 0;
  readonly transactions = new Map<string, Known>();
  /** Transactions by their kind and key: charges have keys of their own. */
  readonly keys = new Map<string, string>();
  /** Charges by their refunds' keys. */
  readonly refundKeys = new Map<string, string>();
  /** Amounts of returns by their ids. */
  readonly returns = new Map<string, number>();
  readonly adjustments = new Map<string, number>();
  /** What ops asked for that is no message, by its id. */
  readonly actions = new Map<string, number | null>();
  /** By sequence number: the balance after a batch, and the lowest while it was decided, from the one before on. */
  readonly balances: { after: number; lowest: number }[] = [{ after: 0, lowest: 0 }];
  readonly legs: Record<string, number> = { available: 0, clearing: 0, fees: 0, bank: 0 };
  /** With the delivery that must have been attempted before each; null: none. */
  readonly deliveries = new Map<string, string | null>();
  readonly #account: Account;
  readonly #mayBeNegative: (id: string) => boolean;
  readonly #timeline: Timeline;
  readonly #ids = new Set<string>();
  readonly #credited = new Map<string, string>();
  readonly #returned = new Set<string>();
  #hash = '0'.repeat(64);
  #at = '';
  /** When the present batch was decided, by the timeline. */
  #decidedAt = 0;

  /** `mayBeNegative`: whether an adjustment with this id was ever asked to go below zero. */
  constructor(account: Account, mayBeNegative: (id: string) => boolean, timeline: Timeline = RIGHT) {
    this.#timeline = timeline;
    this.#account = account;
    this.#mayBeNegative = mayBeNegative;
  }

  /** I3: no gaps, and each batch on the hash of the one before. */
  take(batch: Batch): void {
    const { hash, ...rest } = batch;
    const content = { ...rest, entries: batch.entries.map((entry) => unusual(entry, batch.at)) };
    must(batch.seq === this.seq + 1, `batch ${batch.seq} follows ${this.seq}`);
    must(batch.previous === this.#hash, `batch ${batch.seq} builds on another hash`);
    must(
      createHash('sha256').update(sorted(content)).digest('hex') === hash,
      `the hash of ${batch.seq} is wrong`,
    );
    must(batch.at >= this.#at, `batch ${batch.seq} goes back in time`);
    must(batch.entries.length > 0, `batch ${batch.seq} is empty`);
    this.#decidedAt = this.#timeline.decidedAt(batch);
    let lowest = this.#available;
    for (const entry of batch.entries) {
      must(entry.at === batch.at, `an entry of ${batch.seq} has a time of its own`);
      this.#entry(entry);
      lowest = Math.min(lowest, this.#available);
    }
    this.balances.push({ after: this.#available, lowest });
    must(sorted(this.legs) === sorted(batch.balances), `the balances of ${batch.seq} are wrong`);
    this.seq = batch.seq;
    this.#hash = hash;
    this.#at = batch.at;
  }

  get #available(): number {
    return this.legs.available ?? 0;
  }

  #entry(entry: Entry): void {
    const before = this.#available;
    let sum = 0;
    for (const { leg, amount } of entry.postings) {
      must(Number.isSafeInteger(amount), 'a posting is no whole number of cents');
      sum += amount;
      this.legs[leg] = (this.legs[leg] ?? 0) + amount;
    }
    must(sum === 0, `the postings of ${entry.message.type} sum to ${sum}`);
    const moved = this.#available - before;
    if (entry.transaction === null) this.#adjusted(entry, moved);
    else if (entry.message.type === 'CREATE') this.#created(entry, moved);
    else this.#changed(entry, entry.transaction, moved);
  }

  #changed(entry: Entry, id: string, moved: number): void {
    const known = this.transactions.get(id);
    must(known !== undefined, `${entry.message.type} to a transaction that was never created`);
    must(entry.from === known.status, `${known.id} is ${known.status}, the entry says ${entry.from}`);
    this.#orders(entry, known);
    if (isOfPart(entry)) this.#ofPart(entry, known, moved);
    else if (entry.from === entry.to) this.#unmoved(entry, known);
    else this.#moved(entry, known, moved);
  }

  #adjusted({ message }: Entry, moved: number): void {
    if (message.type === 'OPS') {
      must(moved === 0, `the action ${message.id} moved ${moved}`);
      must(!this.actions.has(message.id), `the action ${message.id} has two entries`);
      this.actions.set(message.id, (message.data as { data: { asked?: number } }).data.asked ?? null);
      return;
    }
    must(!this.adjustments.has(message.id), `the adjustment ${message.id} was applied twice`);
    must(
      (message.data as { amount: number }).amount === moved,
      `the adjustment ${message.id} moved ${moved}`,
    );
    const isCovered = moved >= 0 || this.#available >= 0 || this.#mayBeNegative(message.id);
    must(isCovered, `the adjustment ${message.id} went below zero`);
    this.adjustments.set(message.id, moved);
  }

  #created(entry: Entry, moved: number): void {
    const { transaction: id, type: kind, to } = entry;
    must(id !== null && kind !== null && !this.transactions.has(id), `${id} was created twice`);
    const context = entry.snapshot?.context as Record<string, unknown> & { fee: { totalFee: number } };
    const known: Known = {
      id,
      kind,
      status: String(to),
      tag: context.externalRef as string | null,
      key: (context.idempotencyKey as string | null | undefined) ?? null,
      amount: context.amount as number,
      totalFee: context.fee.totalFee,
      lifeMs: Date.parse(String(context.expiresAt)) - Date.parse(String(context.createdAt)),
      createdAt: this.#decidedAt,
      applied: new Map(),
      refused: new Set(),
      payments: new Set(),
      events: 0,
      last: new Map(),
      startImplied: false,
      isSubmitted: false,
      parts: new Parts(context.amount as number, context.fee.totalFee),
    };
    must(entry.from === null && to === FIRST[kind], `a ${kind} began as ${to}`);
    must(moved === worth(known, known.status), `the creation of ${id} moved ${moved}`);
    // I2: a cashout never takes the balance below zero.
    if (kind === 'cashout') must(this.#available >= 0, `${id} took the balance below zero`);
    if (known.key !== null) {
      const key = `${kind} ${known.key}`;
      must(!this.keys.has(key), `the key ${known.key} belongs to ${this.keys.get(key)}`);
      this.keys.set(key, id);
    }
    this.transactions.set(id, known);
    this.#events(entry, known, [`${known.kind}.${known.status}`]);
  }

  #remember({ message, refusal, orders }: Entry, known: Known): void {
    if (message.door === 'clock' || message.door === 'api') return;
    if (refusal !== null) {
      const said = `${message.id} ${message.digest}`;
      // A payment that was refused without a return before may call for one now: that is news.
      const isGivenBack = orders.some(({ kind }) => kind === 'return');
      must(isGivenBack || !known.refused.has(said), `the refusal ${said} was recorded twice`);
      known.refused.add(said);
      return;
    }
    // I9: a message id is applied once.
    must(!known.applied.has(message.id), `the message ${message.id} was applied twice`);
    known.applied.set(message.id, message.digest);
  }

  /**
   * Something was said that changes no state: no money, no event; a late START may bring the reference, an outcome that
   * is told again the bank's id.
   */
  #unmoved(entry: Entry, known: Known): void {
    const isReturn = entry.message.type === 'RETURN_AGAIN';
    if (!isReturn) this.#remember(entry, known);
    must(
      entry.postings.length === 0 && entry.events.length === 0,
      `a remark on ${known.id} has consequences`,
    );
    if (entry.message.type === 'SUBMIT') {
      must(known.status === 'pending' && !known.isSubmitted, `${known.id} was submitted twice, or too late`);
      known.isSubmitted = true;
      return;
    }
    if (entry.refusal !== null || isReturn) must(entry.snapshot === null, `a refusal changed ${known.id}`);
    else {
      const isLateStart = entry.message.type === 'START' && known.startImplied;
      must(isLateStart || known.parts.learns(entry), `${entry.message.type} changed nothing`);
    }
  }

  /** A refund, a booked part or a return: what it does is what its sums say. */
  #ofPart(entry: Entry, known: Known, moved: number): void {
    this.#remember(entry, known);
    this.#onceInTheAccount(entry);
    const expected = known.parts.take(entry);
    must(moved === expected.moved, `${entry.message.type} on ${known.id} moved ${moved}`);
    must(entry.to === expected.status, `${entry.message.type} took ${known.id} to ${entry.to}`);
    known.status = expected.status;
    this.#events(entry, known, expected.events);
  }

  /** A refund's key belongs to one refund for ever, and a return's id counts once. */
  #onceInTheAccount({ message, transaction }: Entry): void {
    const { idempotencyKey, returnId, amount } = message.data as Record<string, unknown>;
    if (message.type === 'REFUND_ORDER' && typeof idempotencyKey === 'string') {
      must(!this.refundKeys.has(idempotencyKey), `the key ${idempotencyKey} made two refunds`);
      this.refundKeys.set(idempotencyKey, String(transaction));
    }
    if (message.type !== 'RETURN') return;
    must(!this.returns.has(String(returnId)), `the return ${returnId} was booked twice`);
    this.returns.set(String(returnId), Number(amount));
  }

  #moved(entry: Entry, known: Known, moved: number): void {
    const { message, to } = entry;
    must(entry.refusal === null, `a refused ${message.type} moved ${known.id}`);
    this.#remember(entry, known);
    const allowed = MOVES[known.kind]?.[`${known.status} ${message.type}`];
    must(allowed === to && to !== null, `${message.type} took ${known.id} from ${known.status} to ${to}`);
    must(
      moved === worth(known, to) - worth(known, known.status),
      `${message.type} on ${known.id} moved ${moved}`,
    );
    if (message.type === 'EXPIRE' && message.door === 'clock') {
      this.#expiredInTime(known);
    }
    if (message.type === 'PAY' || message.type === 'HOLD') this.#credits(entry, known);
    const implied = known.status === 'pending' && (to === 'completed' || to === 'failed');
    known.startImplied ||= implied;
    known.status = to;
    const statuses = implied ? ['processing', to] : [to];
    this.#events(
      entry,
      known,
      statuses.map((status) => `${known.kind}.${status}`),
    );
  }

  /** A clock that is set forward makes due what isn't; nothing else does. */
  #expiredInTime({ id, createdAt, lifeMs }: Known): void {
    const lasted = this.#decidedAt - createdAt;
    const shown = lasted + this.#timeline.forwardBetween(createdAt, this.#decidedAt) + SKEW_MS;
    must(
      shown >= lifeMs + this.#timeline.graceMs,
      `${id} expired before its time: after ${lasted} ms of ${lifeMs}`,
    );
  }

  /** Within an account an end-to-end id credits one charge, and never one that was given back. */
  #credits({ message }: Entry, known: Known): void {
    const { endToEndId, amount } = message.data as { endToEndId: string; amount: number };
    must(amount === known.amount, `${known.id} took a payment of ${amount}`);
    must(
      !this.#credited.has(endToEndId),
      `${endToEndId} pays ${this.#credited.get(endToEndId)} and ${known.id}`,
    );
    must(!this.#returned.has(endToEndId), `${endToEndId} was given back before it paid ${known.id}`);
    this.#credited.set(endToEndId, known.id);
    known.payments.add(endToEndId);
  }

  #orders({ orders, refusal, message }: Entry, known: Known): void {
    for (const order of orders) {
      if (order.kind !== 'return') continue;
      if (message.type === 'RETURN_AGAIN') {
        must(this.#returned.has(order.endToEndId), `${order.endToEndId} is given back again, and never was`);
        continue;
      }
      must(
        refusal !== null && known.kind === 'pix-in',
        `${order.endToEndId} is given back by what was taken`,
      );
      must(!this.#returned.has(order.endToEndId), `${order.endToEndId} is given back twice`);
      this.#returned.add(order.endToEndId);
    }
  }

  /** I6: exactly one event for each change, and one delivery for each URL that wants it. */
  #events(entry: Entry, known: Known, names: readonly string[]): void {
    must(
      sorted(entry.events.map(({ name }) => name)) === sorted(names),
      `${known.id}: events ${sorted(entry.events)}`,
    );
    for (const { id, name, deliveries } of entry.events) {
      must(!this.#ids.has(id), `the event ${id} happened twice`);
      this.#ids.add(id);
      known.events += 1;
      const type = name.slice(0, name.indexOf('.'));
      const { webhooksAt = () => [this.#account.webhooks] } = this.#timeline;
      // A URL without a filter gets the contract's events, and none of parts.
      const isRight = webhooksAt(this.#account.id, this.#decidedAt).some((webhooks) => {
        const wanted = webhooks.filter(({ events }) =>
          events === null
            ? type === known.kind
            : events.some((each) => each === name || each === `${type}.*`),
        );
        return sorted(deliveries.map(({ url }) => url)) === sorted(wanted.map(({ url }) => url));
      });
      must(isRight, `${id}: its URLs`);
      for (const delivery of deliveries) {
        must(!this.deliveries.has(delivery.id), `the delivery ${delivery.id} is there twice`);
        must(delivery.after === (known.last.get(delivery.url) ?? null), `${delivery.id} comes after another`);
        this.deliveries.set(delivery.id, delivery.after);
        known.last.set(delivery.url, delivery.id);
      }
    }
  }
}
