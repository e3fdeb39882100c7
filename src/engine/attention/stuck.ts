/** What waits for the bank too long: what each such transaction is told of to ops. */
import { refundsOf, reversalsOf } from '../../domain/reversals/sums.ts';
import { textOfTime } from '../../domain/time.ts';
import type { BankOrder, ChargeRecord, TransactionRecord } from '../journal.ts';
import { sha256 } from '../store/content.ts';
import type { AttentionItem, AttentionKey, BankWait, Wait } from '../store.ts';
import { itemFor } from './item.ts';

/** Precautionary blocks of payments last as long: 72 hours. */
const ANALYSIS_MS = 72 * 3_600_000;
const RETURNING = 'returning_';
const EXPIRING = 'expiring_';

/** Before this all changes are: who wants all that waits asks up to it. */
export const END_OF_TIME = '9999-12-31T23:59:59.999Z';

export const BANK_WAITS: readonly BankWait[] = ['cashout', 'analysis', 'refund'];

/** What a transaction waits for at the bank; null: nothing. */
export function waitOf({ type, final, snapshot }: TransactionRecord): BankWait | null {
  if (type === 'cashout') return final ? null : 'cashout';
  if (snapshot.value === 'in_analysis') return 'analysis';
  return reversalsOf(snapshot.context).pending > 0 ? 'refund' : null;
}

/** Whether ops have to decide on a protest (MED) against a charge; a refund of it may wait for the bank besides. */
export function isProtested({ snapshot }: TransactionRecord): boolean {
  return snapshot.value === 'in_protest';
}

/** Whether a transaction is listed among what waits for that. */
export function waitsFor(record: TransactionRecord, wait: Wait): boolean {
  return wait === 'protest' ? isProtested(record) : waitOf(record) === wait;
}

/** How long a wait may last, in ms, before it counts as stuck. */
export function stuckAfter(wait: BankWait, stuckAfterMs: number): number {
  return wait === 'analysis' ? Math.max(stuckAfterMs, ANALYSIS_MS) : stuckAfterMs;
}

/** The id under which ops are done with what is stuck. A transaction that has changed is another case; a refund stays one. */
export function stuckMark({ id, since }: Pick<AttentionItem, 'id' | 'since'>): string {
  return `${id}@${since}`;
}

/** The item of a return that hasn't ended: no record tells of one, so that it is noted by whoever asks the bank. */
export function returningId({ endToEndId, number = 1 }: BankOrder & { kind: 'return' }): string {
  return `${RETURNING}${sha256(endToEndId).slice(0, 24)}_${number}`;
}

/** The item of a charge whose time was over then (ms), and that the bank gives no answer about: noted by whoever asks. */
export function expiryStuck(
  { id, account, snapshot }: ChargeRecord,
  since: number,
  why: string,
): AttentionItem {
  const about = { account, transaction: id };
  const given = { id: `${EXPIRING}${id}`, since: textOfTime(since), about, data: { why } };
  return itemFor('EXPIRY_STUCK', given, snapshot.context.amount);
}

/** Whether an item is about a charge that can't expire. */
export function isExpiring({ kind, id }: AttentionKey): boolean {
  return kind === 'stuck' && id.startsWith(EXPIRING);
}

/** Whether an item is made anew of records whenever the list is read, whatever is stored of it. */
export function isMadeAnew(key: AttentionKey): boolean {
  return key.kind === 'stuck' && !key.id.startsWith(RETURNING) && !isExpiring(key);
}

/** The items about a stuck transaction that go with its change to `after`: not those of refunds that are pending still. */
export function stuckKeys(record: TransactionRecord, after: TransactionRecord): AttentionKey[] {
  const isOfRefunds = waitOf(record) === 'refund' && waitOf(after) === 'refund';
  const left = new Set(isOfRefunds ? stuckItems(after).map(({ id }) => id) : []);
  return stuckItems(record)
    .filter(({ id }) => !left.has(id))
    .flatMap((item) => [item.id, stuckMark(item)])
    .map((id) => ({ kind: 'stuck', id }));
}

/** The bank's own word for where an order stands, by its id; null where nobody has heard one. */
export type Says = (id: string) => string | null;

type NamedRefund = ReturnType<typeof refundsOf>[number];

function pendingOf({ snapshot }: ChargeRecord): NamedRefund[] {
  return refundsOf(snapshot.context).filter(({ refund }) => refund.status === 'pending');
}

/** Whether a refund of that id waits for the bank. */
export function isPending(record: TransactionRecord, id: string): boolean {
  return record.type === 'pix-in' && pendingOf(record).some((each) => each.id === id);
}

/** Since when it waits: each pending refund since it was ordered, whatever its charge goes through meanwhile. */
export function waitsSince(record: TransactionRecord): string[] {
  const isOfRefunds = record.type === 'pix-in' && waitOf(record) === 'refund';
  return isOfRefunds ? pendingOf(record).map(({ refund }) => refund.createdAt) : [record.updatedAt];
}

function stuckRefund(record: ChargeRecord, { id, refund }: NamedRefund, says: Says): AttentionItem {
  const about = { account: record.account, transaction: record.id };
  const data = { refundId: id, bank: says(id) };
  return itemFor('REFUND_STUCK', { id, since: refund.createdAt, about, data }, refund.amount);
}

/** The items about a transaction that waits, had it done so for too long: one, or one for each pending refund. */
export function stuckItems(record: TransactionRecord, says: Says = () => null): AttentionItem[] {
  if (record.type === 'pix-in' && waitOf(record) === 'refund') {
    return pendingOf(record).map((refund) => stuckRefund(record, refund, says));
  }
  const { id, account, type, snapshot, updatedAt } = record;
  const code = type === 'cashout' ? 'TRANSFER_STUCK' : 'ANALYSIS_STUCK';
  const about = { account, transaction: id };
  const data = { type, state: snapshot.value, bank: says(id) };
  return [itemFor(code, { id, since: updatedAt, about, data }, snapshot.context.amount)];
}

/** When a transaction is stuck: it waits for the bank, and has not changed for so many ms, or a refund of it is as old. */
export interface StuckRule {
  now: number;
  stuckAfterMs: number;
  /** What the bank says of an order, as far as whoever asks has heard. */
  says: Says;
}

/** What has waited since before this is stuck (ISO). */
function stuckBefore(wait: BankWait, { now, stuckAfterMs }: StuckRule): string {
  return textOfTime(now - stuckAfter(wait, stuckAfterMs));
}

/** What waits is listed by its last change: before when that of what is stuck was. A refund's charge may go on changing. */
export function changedBefore(wait: BankWait, rule: StuckRule): string {
  return wait === 'refund' ? END_OF_TIME : stuckBefore(wait, rule);
}

/** The items about those of some transactions that wait for that and are stuck. */
export function stuckAmong(
  records: readonly TransactionRecord[],
  wait: BankWait,
  rule: StuckRule,
): AttentionItem[] {
  const before = stuckBefore(wait, rule);
  return records.flatMap((record) => stuckItems(record, rule.says)).filter(({ since }) => since < before);
}
