/** Finds the account and the transaction that a command is about. */
import { findNamed, findQuoted, transactionId } from '../engine/finding/find.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import type { JournalReads, Store } from '../engine/store.ts';
import { accountNotFound, Failure, transactionNotFound } from './failure.ts';

/** A transaction by its id. @throws Failure where there is none */
export async function findById(journal: JournalReads, given: string): Promise<TransactionRecord> {
  const id = transactionId(given);
  const record = id === null ? null : await journal.transaction(id);
  if (record === null) throw transactionNotFound(given);
  return record;
}

const LONGEST_ID = 200;

/** @throws Failure where neither settings nor a journal bear the id; undefined: no account was named */
export async function expectAccount(
  { accounts, journal }: Pick<Store, 'accounts' | 'journal'>,
  id: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  // No id of ours is longer, and the store's keys are bounded.
  if (id.length > LONGEST_ID) throw accountNotFound(id);
  if ((await accounts.get(id)) !== null) return;
  if ((await journal.batchesFrom(id, 1, 1)).length === 0) throw accountNotFound(id);
}

/** All transactions that a text is quoted for, in one account or in all. @throws Failure where there is no such account */
async function quoted(
  store: Pick<Store, 'accounts' | 'journal'>,
  text: string,
  account: string | undefined,
): Promise<TransactionRecord[]> {
  await expectAccount(store, account);
  const { found } = await findQuoted(store.journal, text, account ?? null);
  return found.map(({ record }) => record);
}

/**
 * A transaction by its id, an event's or a delivery's, an end-to-end id, an externalRef or an idempotency key; in one
 * account, or in all.
 * @throws Failure where there is none, or several
 */
export async function findTransaction(
  store: Pick<Store, 'accounts' | 'journal'>,
  given: string,
  account: string | undefined,
): Promise<TransactionRecord> {
  const named = (await findNamed(store.journal, given))?.record ?? null;
  const isOwn = named !== null && (account === undefined || named.account === account);
  const found = isOwn ? [named] : await quoted(store, given, account);
  const [record, ...others] = found;
  if (record === undefined) throw transactionNotFound(given);
  if (others.length === 0) return record;
  const transactions = found.map(({ id, type, account, snapshot }) => ({
    ...{ id, type, account, status: snapshot.value, amount: snapshot.context.amount },
  }));
  const lines = transactions.map(
    (each) => `\n  ${each.id}  ${each.type} of account ${each.account}, ${each.status}`,
  );
  const message = `${found.length} transactions fit ${given}: name one by its id, or the account by --account${lines.join('')}`;
  throw new Failure('SEVERAL_TRANSACTIONS', message, { transactions });
}
