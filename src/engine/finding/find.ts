/** Finds transactions by what a merchant or a bank quotes. */
import { parseEventOrDeliveryId } from '../../domain/events.ts';
import { turn } from '../../waiting.ts';
import { historyOf } from '../history.ts';
import type { TransactionRecord } from '../journal.ts';
import { lookupKey } from '../lookups.ts';
import type { Lookup, LookupName, QuotedPage, QuotedRow } from '../store/lookups.ts';
import type { JournalReads } from '../store.ts';

/**
 * The names that a transaction may be quoted by; `payment`, `reference` and `returned` are end-to-end ids,
 * `refund` is a refund's id, `return` the bank's id of money that came back.
 */
const QUOTED: readonly LookupName[] = [
  ...(['idempotencyKey', 'chargeKey', 'externalRef', 'reference', 'payment', 'returned'] as const),
  ...(['refund', 'refundKey', 'return'] as const),
];
/** Accounts that are asked together. */
const TOGETHER = 1_000;
/** A longer text was never stored as a name. */
const MAX_TEXT = 1_024;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A transaction, and what the text is to it. */
export interface FoundTransaction {
  record: TransactionRecord;
  matched: 'id' | 'event' | 'delivery' | LookupName;
}

/** What a text is quoted for. */
export interface Quoted {
  found: FoundTransaction[];
  /** All accounts were looked through. */
  complete: boolean;
}

/** A transaction's id in the form in which it is stored; null for what can't be one. */
export function transactionId(text: string): string | null {
  return UUID.test(text) ? text.toLowerCase() : null;
}

/** The transaction that an event's or a delivery's id names, where the journal knows that id. */
async function byEventOrDelivery(journal: JournalReads, given: string): Promise<FoundTransaction | null> {
  const parsed = parseEventOrDeliveryId(given);
  const record = parsed === null ? null : await journal.transaction(parsed.transaction);
  if (record === null) return null;
  const events = (await historyOf(journal, record)).flatMap(({ entry }) => entry.events);
  if (events.some(({ id }) => id === given)) return { record, matched: 'event' };
  const isThere = events.some(({ deliveries }) => deliveries.some(({ id }) => id === given));
  return isThere ? { record, matched: 'delivery' } : null;
}

/** The transaction that a text names by itself, whatever the account: by its id, an event's or a delivery's. */
export async function findNamed(journal: JournalReads, given: string): Promise<FoundTransaction | null> {
  const id = transactionId(given);
  const record = id === null ? null : await journal.transaction(id);
  return record === null ? byEventOrDelivery(journal, given) : { record, matched: 'id' };
}

const END_TO_END = /^[A-Za-z0-9]{32}$/;
const RETURN = /^[A-Za-z0-9]{1,35}( \d{1,16})?$/;

/** The lookups that a text may stand in: each costs a question to every account. */
function lookupsFor(text: string): Lookup[] {
  const fits: Partial<Record<LookupName, boolean>> = {
    ...{ payment: END_TO_END.test(text), reference: END_TO_END.test(text), returned: END_TO_END.test(text) },
    ...{ refund: UUID.test(text), return: RETURN.test(text) },
  };
  // A refund's id is kept in small letters.
  const keyFor = (name: LookupName): string => (name === 'refund' ? text.toLowerCase() : lookupKey(text));
  return QUOTED.filter((name) => fits[name] !== false).map((name) => ({ name, key: keyFor(name) }));
}

/** What all accounts find by lookups, so many accounts at a time. */
export async function* quotedRows(
  journal: Pick<JournalReads, 'quoted'>,
  lookups: readonly Lookup[],
): AsyncGenerator<QuotedRow[]> {
  for (let after: string | null = ''; after !== null; ) {
    const page: QuotedPage = await journal.quoted(lookups, after, TOGETHER);
    yield page.rows;
    after = page.next;
    // The process may be serving beside.
    await turn();
  }
}

/** What one account finds by a text, or all do, page by page. */
async function* rowsOf(
  journal: Pick<JournalReads, 'read' | 'quoted'>,
  text: string,
  account: string | null,
): AsyncGenerator<QuotedRow[]> {
  const lookups = lookupsFor(text);
  if (account === null) {
    yield* quotedRows(journal, lookups);
    return;
  }
  const read = await journal.read(account, { transactions: [], lookups });
  yield read.lookups.flatMap((transaction, index): QuotedRow[] => {
    const { name = 'externalRef' } = lookups[index] ?? {};
    return transaction === null ? [] : [{ name, transaction }];
  });
}

/** All transactions that a text is quoted for: in one account, or in all. `isOver`: no more accounts are asked. */
export async function findQuoted(
  journal: Pick<JournalReads, 'read' | 'quoted' | 'transaction'>,
  text: string,
  account: string | null,
  isOver: (found: number, asked: number) => boolean = () => false,
): Promise<Quoted> {
  if (text === '' || text.length > MAX_TEXT) return { found: [], complete: true };
  const names = new Map<string, LookupName>();
  let asked = 0;
  let complete = true;
  for await (const rows of rowsOf(journal, text, account)) {
    if (asked > 0 && isOver(names.size, asked)) {
      complete = false;
      break;
    }
    for (const { name, transaction } of rows) if (!names.has(transaction)) names.set(transaction, name);
    asked += TOGETHER;
  }
  const found = await Promise.all(
    [...names].map(async ([id, matched]): Promise<FoundTransaction | null> => {
      const record = await journal.transaction(id);
      return record === null ? null : { record, matched };
    }),
  );
  return { found: found.filter((each) => each !== null), complete };
}
