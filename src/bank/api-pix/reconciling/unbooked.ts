/** What the bank lists and the journal hasn't booked, though the bank was asked: items for ops. */
import { refundsOf } from '../../../domain/reversals/sums.ts';
import type { ItemData, ListedKind } from '../../../domain/sentences/item-codes.ts';
import type { BankMessage } from '../../../engine/bank.ts';
import type { ChargeRecord, TransactionRecord } from '../../../engine/journal.ts';
import { lookUp, refusalKey } from '../../../engine/lookups.ts';
import { DONE_AS } from '../../../engine/refunds/later-words.ts';
import { digestOf, sha256 } from '../../../engine/store/content.ts';
import type { JournalReads } from '../../../engine/store.ts';
import { knownCharge } from '../known-charge.ts';
import type { Notes } from '../notes.ts';
import { bare } from '../profile.ts';

/** What the bank lists of a transaction of ours. */
export interface Unbooked {
  kind: ListedKind;
  record: TransactionRecord;
  endToEndId: string | null;
  /** Cents. */
  amount: number | null;
  /** What would book it. */
  message: BankMessage;
}

/** An item of `attention` that such a listing became. */
export type UnbookedItem = ItemData['LISTING_UNBOOKED'] & { id: string; transaction: string };

/** What an item says of such a listing. */
function itemData({
  kind: listed,
  record: { type },
  endToEndId,
  message,
}: Unbooked): Required<ItemData['LISTING_UNBOOKED']> {
  return { type, listed, endToEndId, message: message.id, digest: digestOf(message.type, message.data) };
}

/** Notes what the bank lists, or takes its item off the list where it was handled. */
export async function noteUnbooked(
  notes: Pick<Notes, 'difference' | 'agreed'>,
  journal: Pick<JournalReads, 'read'>,
  unbooked: Unbooked,
): Promise<void> {
  const { record, amount, message } = unbooked;
  const { id: transaction, account } = record;
  const data = itemData(unbooked);
  const id = `unbooked_${sha256(`${transaction} ${message.id}`).slice(0, 24)}`;
  if (await isHandled(journal, record, data)) return notes.agreed(id);
  return notes.difference('LISTING_UNBOOKED', id, data, { account, transaction }, amount);
}

/** A return is booked once, as a refund or as a chargeback. */
const OF_RETURNS: Record<string, string> = { REFUND: 'CHARGEBACK', CHARGEBACK: 'REFUND' };

function otherName(message: string): string {
  return message.replace(/^(dev:.*:)(REFUND|CHARGEBACK)$/, (_, of, type) => `${of}${OF_RETURNS[type]}`);
}

/** Whether the message tells how a refund of ours ended, and so it has: ops may have said it. */
function isEndedSo({ snapshot }: ChargeRecord, message: string): boolean {
  const [, returnId, type = ''] = /^dev:[^:]+:([^:]+):(REFUND_DONE|REFUND_FAILED)$/.exec(message) ?? [];
  return refundsOf(snapshot.context).some(
    ({ id, refund }) => bare(id) === returnId && refund.status === DONE_AS[type as keyof typeof DONE_AS],
  );
}

/** Whether what the bank lists was booked, by whatever message, given back, or refused: ops have heard of that. */
export async function isHandled(
  journal: Pick<JournalReads, 'read'>,
  record: TransactionRecord,
  { listed, endToEndId, message, digest }: ItemData['LISTING_UNBOOKED'],
): Promise<boolean> {
  const isApplied =
    record.type === 'pix-in'
      ? knownCharge(record).isApplied
      : (id: string): boolean => Object.hasOwn(record.messages, id);
  if (isApplied(message) || isApplied(otherName(message))) return true;
  if (record.type === 'pix-in' && isEndedSo(record, message)) return true;
  const { id: transaction, account } = record;
  const isFound = async (name: 'refusal' | 'returned', key: string): Promise<boolean> =>
    (await lookUp(journal, account, name, key)) !== null;
  if (digest !== undefined && (await isFound('refusal', refusalKey(transaction, { id: message, digest }))))
    return true;
  return listed === 'payment' && endToEndId !== null && isFound('returned', endToEndId);
}

/** The items that are on the list, in pages. */
export async function* unbookedItems(notes: Pick<Notes, 'differences'>): AsyncGenerator<UnbookedItem[]> {
  for await (const items of notes.differences())
    yield items.flatMap(({ id, code, data, about: { transaction } }) =>
      code !== 'LISTING_UNBOOKED' || transaction === null
        ? []
        : [{ id, transaction, ...(data as ItemData['LISTING_UNBOOKED']) }],
    );
}
