/** A delivery in hand: between its claim and the record of its attempt. */
import { textOfTime } from '../domain/time.ts';
import { itemFor } from '../engine/attention/item.ts';
import type { NamedDelivery } from '../engine/history.ts';
import type { DeliveryRecord } from '../engine/store/deliveries.ts';
import type { ClaimOf } from '../engine/store/due.ts';
import type { AttentionItem, Settlement } from '../engine/store.ts';
import { rejectedItem } from './rejected.ts';
import type { Send } from './sender/port.ts';
import type { TargetState } from './targets.ts';

export interface InHand {
  claim: ClaimOf<'delivery'>;
  record: DeliveryRecord;
  /** What is known of its account and URL. */
  state: TargetState;
  /** The delivery that must have been attempted before; null: none. */
  after: string | null;
  event: { id: string; name: string };
  body: string;
  /** It was taken from behind its URL. */
  isLook: boolean;
}

/** A claimed delivery, as the journal names it and as its record stands. */
export function inHand(
  claim: ClaimOf<'delivery'>,
  record: DeliveryRecord,
  state: TargetState,
  { after, event, payload }: Pick<NamedDelivery, 'after' | 'event' | 'payload'>,
  isLook: boolean,
): InHand {
  return { claim, record, state, after, event, body: JSON.stringify(payload), isLook };
}

/** The request that the sender gets; `ahead`: how far its clock is behind, ms. */
export function sendOf(
  { claim, state, event, body, isLook }: InHand,
  secrets: readonly string[],
  ahead: number,
): Send {
  const { delivery: token, transaction: transactionId } = claim.due;
  const { account, url } = state.target;
  const named = { event: event.name, eventId: event.id, transactionId };
  return { token, account, url, ...named, body, secrets, isLook, ahead };
}

/** The item for ops about a delivery whose last attempt has failed, or whose URL is gone; `now` is in ms. */
function deadLetter(
  { event, state, record: before }: InHand,
  record: DeliveryRecord,
  now: number,
): AttentionItem {
  const { id, account, transaction, attempts } = record;
  const { url } = state.target;
  // Where it died without another attempt, no attempt is why.
  const last = attempts.length > before.attempts.length ? attempts.at(-1) : undefined;
  const since = textOfTime(now);
  const about = { account, transaction, delivery: id, url };
  const data = { event: event.name, error: last?.error ?? null, status: last?.statusCode ?? null };
  return itemFor('DELIVERY_DEAD', { id, since, about, data });
}

/** The items for ops that come with the record of an attempt, or go with it. */
export type ToTell = Pick<Settlement, 'attention' | 'counted' | 'withdrawn'>;

/** What ops are told of with the record of an attempt; `now` is in ms. */
export function toTell(job: InHand, record: DeliveryRecord, now: number): ToTell {
  if (record.status === 'dead') return { attention: deadLetter(job, record, now) };
  if (record.status !== 'delivered' && record.status !== 'rejected') return {};
  const told: ToTell =
    record.status === 'rejected' ? { counted: rejectedItem(job.state.target, job.event.name, record) } : {};
  // Its item went with the retry, unless whoever began it anew was killed in between.
  return wasBegunAnew(record) ? { ...told, withdrawn: { kind: 'dead', id: record.id } } : told;
}

/** Whether a delivery that has ended well, or was rejected, had ended before: its failures are those since then. */
function wasBegunAnew({ attempts, failures }: DeliveryRecord): boolean {
  return attempts.length - 1 > failures;
}
