/** Items for ops, made of their codes: each code has its kind, and its sentences. */
import type { About, Facts, ItemCode, ItemData } from '../../domain/sentences/item-codes.ts';
import { itemSentences } from '../../domain/sentences/items.ts';
import type { AttentionKind, AttentionNote } from '../journal.ts';
import { type AttentionItem, itemOf } from '../store.ts';

const KINDS: Readonly<Record<ItemCode, AttentionKind>> = {
  MESSAGE_REFUSED: 'refused',
  MESSAGE_INVALID: 'invalid',
  MESSAGE_UNDECIDED: 'invalid',
  TRANSACTION_UNKNOWN: 'unknown',
  REFUSALS_UNRECORDED: 'refused',
  PAYMENT_GIVEN_BACK: 'return',
  RETURN_FAILED: 'return',
  RETURN_STUCK: 'stuck',
  REFUNDED_TOO_MUCH: 'return',
  REFUND_STUCK: 'stuck',
  TRANSFER_STUCK: 'stuck',
  ANALYSIS_STUCK: 'stuck',
  EXPIRY_STUCK: 'stuck',
  SNAPSHOT_UNREADABLE: 'quarantined',
  CLOCK_BEHIND: 'clock',
  BATCH_UNPROJECTABLE: 'projection',
  BATCH_BROKEN: 'journal',
  LOG_UNREADABLE: 'journal',
  DELIVERY_DEAD: 'dead',
  DELIVERIES_REJECTED: 'rejected',
  URL_HANGS: 'hanging',
  BANK_CREDENTIALS: 'bank',
  BANK_SCOPE: 'bank',
  BANK_CERTIFICATE: 'bank',
  BANK_PATH: 'bank',
  BANK_KEY: 'bank',
  BANK_WEBHOOK: 'bank',
  BANK_LIMIT: 'bank',
  BANK_AWAY: 'bank',
  BANK_LISTS: 'bank',
  BANK_CERTIFICATE_EARLY: 'bank',
  BANK_CERTIFICATE_EXPIRED: 'bank',
  CHARGE_PAYMENT_UNREADABLE: 'invalid',
  CHARGE_UNKNOWN: 'difference',
  PAYMENT_UNEXPLAINED: 'payment',
  PAYMENT_UNREADABLE: 'payment',
  TRANSFER_UNEXPLAINED: 'difference',
  TRANSFER_UNREADABLE: 'difference',
  TRANSFERS_UNREADABLE: 'difference',
  AMOUNT_BOOKED_DIFFERS: 'difference',
  RETURN_AMOUNT_DIFFERS: 'difference',
  RETURN_UNLISTED: 'difference',
  RETURN_UNBOOKED: 'difference',
  LISTING_UNBOOKED: 'difference',
  BOOKING_UNLISTED: 'difference',
};

/** What an item is made of. */
export interface Given<Code extends ItemCode> {
  id: string;
  /** ISO 8601. */
  since: string;
  about?: Partial<About>;
  data: ItemData[Code];
}

function factsOf<Code extends ItemCode>({ id, since, about, data }: Given<Code>): Facts<Code> {
  const nothing = { account: null, transaction: null, delivery: null, url: null };
  return { id, since, about: { ...nothing, ...about }, data };
}

/** What an entry says to ops: the entry itself has the time, and what it is about. */
export function noteFor<Code extends ItemCode>(code: Code, given: Given<Code>): AttentionNote {
  const { id, data } = given;
  return { kind: KINDS[code], id, code, data, ...itemSentences(code, factsOf(given)) };
}

/** An item for the list; `amount` is cents. */
export function itemFor<Code extends ItemCode>(
  code: Code,
  given: Given<Code>,
  amount: number | null = null,
): AttentionItem {
  return itemOf(noteFor(code, given), given.since, given.about, amount);
}
