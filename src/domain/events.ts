/** Events: their names, who wants them, and the ids of events and deliveries (contract, "Events"). */

/** The contract's 16 events, in its order. */
export const EVENT_NAMES = [
  'pix-in.waiting_payment',
  'pix-in.paid',
  'pix-in.refused',
  'pix-in.canceled',
  'pix-in.refunded',
  'pix-in.failed',
  'pix-in.expired',
  'pix-in.in_analysis',
  'pix-in.chargedback',
  'pix-in.in_protest',
  'cashout.pending',
  'cashout.processing',
  'cashout.completed',
  'cashout.failed',
  'cashout.rejected',
  'cashout.cancelled',
] as const;

/** Events of a transaction's parts: they go only to URLs whose filter names them (additions, "Events"). */
export const PART_EVENT_NAMES = [
  'refund.pending',
  'refund.completed',
  'refund.failed',
  'chargeback.booked',
  'return.booked',
] as const;

/** The entries of a URL's filter: event names, or all of one type. */
export const EVENT_FILTERS: readonly string[] = [
  ...EVENT_NAMES,
  ...PART_EVENT_NAMES,
  'pix-in.*',
  'cashout.*',
  'refund.*',
];

/** What an event of a part is about: a refund, or an amount that was booked; `total` is what is booked so far. */
export type EventSubject =
  | { refundId: string }
  | { amount: number; reason: string | null; returnId: string | null; total: number };

/** An event and the deliveries that it starts. `after` is the URL's delivery before this one. */
export interface JournalEvent {
  /** What it tells of, where that is a part of the transaction. */
  about?: EventSubject;
  id: string;
  name: string;
  deliveries: { id: string; url: string; after: string | null }[];
}

/** Whether a URL with this filter gets the event; null is no filter, which gets the contract's events alone. */
export function isWanted(filter: readonly string[] | null, event: string): boolean {
  if (filter === null) return event.startsWith('pix-in.') || event.startsWith('cashout.');
  return filter.includes(event) || filter.includes(`${event.slice(0, event.indexOf('.'))}.*`);
}

/** What an event tells of its subject: `paid` of `pix-in.paid`. */
export function statusOf(event: string): string {
  return event.slice(event.indexOf('.') + 1);
}

// Ids are made of the transaction's, so that whoever has one finds the transaction without an index.
const EVENT_ID = /^evt_([0-9a-f]{32})([0-9a-z]{2,})$/;
const DELIVERY_ID = /^dlv_([0-9a-f]{32})([0-9a-z]{2,})([0-9a-z])$/;

function ordinalText(ordinal: number): string {
  return ordinal.toString(36).padStart(2, '0');
}

function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The digits of a transaction's id: to look for its dashes takes twice as long as to know where they are. */
export function hexOf(uuid: string): string {
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`;
}

/** `evt_...` of a transaction's n-th event, counted from 0. */
export function eventId(transaction: string, ordinal: number): string {
  return `evt_${hexOf(transaction)}${ordinalText(ordinal)}`;
}

/** `dlv_...` of an event and the n-th URL that gets it. */
export function deliveryId(transaction: string, ordinal: number, position: number): string {
  return `dlv_${hexOf(transaction)}${ordinalText(ordinal)}${position.toString(36)}`;
}

/** The transaction that an event id or a delivery id belongs to, and for a delivery its event; null for neither. */
export function parseEventOrDeliveryId(id: string): { transaction: string; event: string } | null {
  const event = EVENT_ID.exec(id);
  if (event) return { transaction: toUuid(event[1] as string), event: id };
  const delivery = DELIVERY_ID.exec(id);
  if (!delivery) return null;
  return { transaction: toUuid(delivery[1] as string), event: `evt_${delivery[1]}${delivery[2]}` };
}
