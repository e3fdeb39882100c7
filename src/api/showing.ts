/**
 * What merchants are shown of transactions, as the JSON text of the answer's body. It is made where the record is: an
 * HTTP thread hands the text on, and no record is written and read again on its way there.
 */
import type { TransactionType } from '../domain/transactions.ts';
import type { Answer } from '../engine/commands.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { findTransaction } from '../engine/lookups.ts';
import type { LookupName } from '../engine/store/lookups.ts';
import type { JournalReads } from '../engine/store.ts';
import { represent } from './representation.ts';

/** A transaction's representation as JSON. */
export type Shown = string;

/** Why nothing was created. */
export type NotCreated = Extract<Answer, { kind: 'duplicateKey' | 'insufficientBalance' }>;

/** Transactions as their accounts see them; null for what isn't the account's. */
export interface Showing {
  byId(account: string, type: TransactionType, id: string): Promise<Shown | null>;
  byName(account: string, name: LookupName, key: string): Promise<Shown | null>;
}

/** `now`: ms since 1970. */
export function showingOf(journal: Pick<JournalReads, 'read' | 'transaction'>, now: () => number): Showing {
  const shown = (record: TransactionRecord | null): Shown | null =>
    record === null ? null : JSON.stringify(represent(record, now()));
  return {
    byId: async (account, type, id) => {
      const record = await journal.transaction(id.toLowerCase());
      return record?.account === account && record.type === type ? shown(record) : null;
    },
    byName: async (account, name, key) => shown(await findTransaction(journal, account, name, key)),
  };
}
