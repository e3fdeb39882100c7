/**
 * Orders, and what becomes of their charges. A webhook says that something has happened; how things stand then is asked
 * of the API: so events may come twice, late or in another order, and the order is right all the same.
 *
 * In real life orders lie in a database: an order is written down before its charge is created, and its id is the
 * charge's idempotency key, so that a shop that dies in between goes on where it was.
 */
import { randomUUID } from 'node:crypto';
import { type PixIn, type Pixstate, PixstateError, type Refund, type WebhookEvent } from 'pixstate/client';
import { toString as drawn } from 'qrcode';
import { type Cart, totalOf } from './catalogue.ts';

/** An order as the page gets it. */
export interface ShownOrder {
  id: string;
  /** The buyer's name, as given. */
  name: string;
  /** Cents. */
  total: number;
  qrcode: string;
  status: PixIn['status'];
  paidAt: string | null;
  endToEndId: string | null;
  refund: Refund['status'] | null;
  /** The webhooks that came, oldest first. */
  events: { id: string; event: string; at: string }[];
}

interface Order {
  id: string;
  name: string;
  charge: PixIn;
  refund: Refund | null;
  events: ShownOrder['events'];
  /** Those who watch it. */
  watchers: Set<(shown: ShownOrder) => void>;
}

function shown({ id, name, charge, refund, events }: Order): ShownOrder {
  const { status, amount: total, paidAt, pix } = charge;
  return {
    ...{ id, name, total, status, paidAt, events },
    ...{ qrcode: pix.qrcode, endToEndId: pix.endToEndId, refund: refund?.status ?? null },
  };
}

export class Orders {
  readonly #pixstate: Pixstate;
  readonly #orders = new Map<string, Order>();
  /** Webhooks that overtook the answer to their charge's creation. */
  readonly #early = new Map<string, WebhookEvent[]>();

  constructor(pixstate: Pixstate) {
    this.#pixstate = pixstate;
  }

  /** Creates the order and its charge. @throws PixstateError */
  async place(cart: Cart, name: string): Promise<ShownOrder> {
    const id = randomUUID();
    this.#early.set(id, []);
    try {
      const charge = await this.#pixstate.pixIn.create({
        amount: totalOf(cart),
        externalRef: id,
        idempotencyKey: id,
        description: [...cart].map(([product, pieces]) => `${pieces} × ${product.name}`).join(', '),
        expiresIn: 900,
        ...(name === '' ? {} : { customer: { name } }),
      });
      const events = (this.#early.get(id) ?? []).map(eventOf);
      const order = { id, name, charge, refund: null, events, watchers: new Set<never>() };
      this.#orders.set(id, order);
      if (events.length > 0) await this.#look(order, null);
      return shown(order);
    } finally {
      this.#early.delete(id);
    }
  }

  get(id: string): ShownOrder | null {
    const order = this.#orders.get(id);
    return order === undefined ? null : shown(order);
  }

  /** The QR code as SVG; null where there is no such order. */
  async qrCode(id: string): Promise<string | null> {
    const order = this.#orders.get(id);
    return order === undefined ? null : drawn(order.charge.pix.qrcode, { type: 'svg', margin: 4 });
  }

  /** Calls with the order as it is now, and at each change; returns what ends that. Null: there is no such order. */
  watch(id: string, watcher: (shown: ShownOrder) => void): (() => void) | null {
    const order = this.#orders.get(id);
    if (order === undefined) return null;
    order.watchers.add(watcher);
    watcher(shown(order));
    return () => order.watchers.delete(watcher);
  }

  /** A webhook that was verified. @throws PixstateError: then it isn't confirmed, and comes again */
  async take(event: WebhookEvent): Promise<void> {
    const id = event.data.external_ref ?? '';
    this.#early.get(id)?.push(event);
    const order = this.#orders.get(id);
    if (order === undefined) return;
    if (!order.events.some((known) => known.id === event.id)) order.events.push(eventOf(event));
    if (event.type === 'refund') await this.#look(order, event.data.id);
    else await this.#look(order, order.refund?.id ?? null);
  }

  /** Gives all of an order back, once, however often it is asked for. @throws PixstateError */
  async refund(id: string): Promise<ShownOrder | null> {
    const order = this.#orders.get(id);
    if (order === undefined) return null;
    if (order.refund === null) this.#keep(order, order.charge, await this.#refundOnce(order));
    return shown(order);
  }

  /** The refund that has this order's key, whoever was first. */
  async #refundOnce({ id, charge }: Order): Promise<Refund> {
    const request = { reason: 'returned goods', idempotencyKey: `refund of ${id}` };
    try {
      return await this.#pixstate.refunds.create(charge.id, request);
    } catch (error) {
      const isThere = error instanceof PixstateError && error.code === 'DUPLICATE_REQUEST';
      if (!isThere || error.refundId === undefined) throw error;
      return this.#pixstate.refunds.get({ id: error.refundId });
    }
  }

  /** Plays the buyer's bank, as only a sandbox can. @throws PixstateError */
  async payInSandbox(id: string): Promise<ShownOrder | null> {
    const order = this.#orders.get(id);
    if (order === undefined) return null;
    await this.#pixstate.sandbox.pay(order.charge.id);
    return shown(order);
  }

  /** Asks how things stand. */
  async #look(order: Order, refundId: string | null): Promise<void> {
    const charge = await this.#pixstate.pixIn.get({ id: order.charge.id });
    const refund = refundId === null ? null : await this.#pixstate.refunds.get({ id: refundId });
    this.#keep(order, charge, refund);
  }

  /** Keeps what is newer than what is known: answers may overtake each other. */
  #keep(order: Order, charge: PixIn, refund: Refund | null): void {
    if (charge.updatedAt >= order.charge.updatedAt) order.charge = charge;
    if (refund !== null && refund.updatedAt >= (order.refund?.updatedAt ?? '')) order.refund = refund;
    this.#tell(order);
  }

  #tell(order: Order): void {
    for (const watcher of order.watchers) watcher(shown(order));
  }
}

function eventOf({ id, event, created_at: at }: WebhookEvent): ShownOrder['events'][number] {
  return { id, event, at };
}
