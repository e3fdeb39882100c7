/** Finds a transaction by what a merchant or a bank quotes. */
import { accountsIn } from '../audit/pages.ts';
import { parseEventOrDeliveryId } from '../domain/events.ts';
import { historyOf } from '../engine/history.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { lookupKey } from '../engine/lookups.ts';
import type { LookupName } from '../engine/store/lookups.ts';
import type { JournalReads } from '../engine/store.ts';
import { accountNotFound, Failure, transactionNotFound } from './failure.ts';
import { transactionId } from './options.ts';

/** The names that a transaction may be quoted by; `payment`, `reference` and `returned` are end-to-end ids. */
const QUOTED: readonly LookupName[] = ['idempotencyKey', 'externalRef', 'reference', 'payment', 'returned'];
/** Accounts that are looked through together. */
const TOGETHER = 500;
/** A longer text was never stored as a name. */
const MAX_TEXT = 1_024;

/** A transaction by its id. @throws Failure where there is none */
export async function findById(journal: JournalReads, given: string): Promise<TransactionRecord> {
  const id = transactionId(given);
  const record = id === null ? null : await journal.transaction(id);
  if (record === null) throw transactionNotFound(given);
  return record;
}

/** The transaction that an event's or a delivery's id names, where the journal knows that id. */
async function byEventOrDelivery(journal: JournalReads, given: string): Promise<TransactionRecord | null> {
  const parsed = parseEventOrDeliveryId(given);
  const record = parsed === null ? null : await journal.transaction(parsed.transaction);
  if (record === null) return null;
  const events = (await historyOf(journal, record)).flatMap(({ entry }) => entry.events);
  const isThere = events.some(
    ({ id, deliveries }) => id === given || deliveries.some((each) => each.id === given),
  );
  return isThere ? record : null;
}

/** The ids that some accounts know a text by. */
async function quotedIn(journal: JournalReads, accounts: readonly string[], text: string): Promise<string[]> {
  const wants = { transactions: [], lookups: QUOTED.map((name) => ({ name, key: lookupKey(text) })) };
  const reads = await Promise.all(accounts.map((account) => journal.read(account, wants)));
  return reads.flatMap(({ lookups }) => lookups.filter((id) => id !== null));
}

/** All transactions that a text is quoted for. */
async function quoted(
  journal: JournalReads,
  text: string,
  account: string | undefined,
): Promise<TransactionRecord[]> {
  if (text === '' || text.length > MAX_TEXT) return [];
  const accounts: string[] = [];
  for await (const id of accountsIn(journal)) accounts.push(id);
  if (account !== undefined && !accounts.includes(account)) throw accountNotFound(account);
  const searched = account === undefined ? accounts : [account];
  const ids = new Set<string>();
  for (let from = 0; from < searched.length; from += TOGETHER)
    for (const id of await quotedIn(journal, searched.slice(from, from + TOGETHER), text)) ids.add(id);
  const records = await Promise.all([...ids].map((id) => journal.transaction(id)));
  return records.filter((record) => record !== null);
}

/**
 * A transaction by its id, an event's or a delivery's, an end-to-end id, an externalRef or an idempotency key; in one
 * account, or in all.
 * @throws Failure where there is none, or several
 */
export async function findTransaction(
  journal: JournalReads,
  given: string,
  account: string | undefined,
): Promise<TransactionRecord> {
  const id = transactionId(given);
  const named =
    (id === null ? null : await journal.transaction(id)) ?? (await byEventOrDelivery(journal, given));
  const isOwn = named !== null && (account === undefined || named.account === account);
  const found = isOwn ? [named] : await quoted(journal, given, account);
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
