/** What the bank lists and the journal hasn't booked, though the bank was asked: items for ops. */
import type { ItemData, ListedKind } from '../../../domain/sentences/item-codes.ts';
import type { BankMessage } from '../../../engine/bank.ts';
import { sha256, type TransactionRecord } from '../../../engine/journal.ts';
import type { Notes } from '../notes.ts';

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

export function noteUnbooked(
  notes: Pick<Notes, 'difference'>,
  { kind: listed, record, endToEndId, amount, message }: Unbooked,
): Promise<void> {
  const { id: transaction, account, type } = record;
  const data = { type, listed, endToEndId, message: message.id };
  const id = `unbooked_${sha256(`${transaction} ${message.id}`).slice(0, 24)}`;
  return notes.difference('LISTING_UNBOOKED', id, data, { account, transaction }, amount);
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
