/** The accounts, in the order of their ids. A page is bounded by what it may read. */
import type { Account } from '../../../domain/account.ts';
import type { StoreReads } from '../../../engine/store.ts';
import { turn } from '../../../waiting.ts';
import type { AccountPage, AccountRow } from '../../shapes.ts';
import { mask } from '../masking.ts';
import { LIST_MS } from '../query.ts';

/** Accounts that are read together. */
const TOGETHER = 200;

function fits({ id, name, clientId }: Account, part: string): boolean {
  return id.startsWith(part) || clientId.startsWith(part) || name.toLowerCase().includes(part.toLowerCase());
}

/** The names of accounts, by their ids, without the documents that may stand in them. */
export async function accountNames(
  { accounts }: StoreReads,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const found = await Promise.all([...new Set(ids)].map((id) => accounts.get(id)));
  return new Map(found.flatMap((account) => (account === null ? [] : [[account.id, mask(account.name)]])));
}

async function rowOf({ journal }: StoreReads, account: Account): Promise<AccountRow> {
  const { id, name, clientId, status, createdAt } = account;
  const { balances } = await journal.head(id);
  return { id, name: mask(name), clientId, status, createdAt, balance: balances.available };
}

/** A page of accounts: all, or those that a text is a part of. Where time was up, it may be short, or empty. */
export async function listAccounts(
  reads: StoreReads,
  part: string,
  after: string,
  limit: number,
): Promise<AccountPage> {
  const endsAt = performance.now() + LIST_MS;
  const found: Account[] = [];
  let last = after;
  let isEnd = false;
  while (!isEnd && found.length < limit && performance.now() < endsAt) {
    const ids = await reads.journal.accountIds(last, TOGETHER);
    const accounts = await Promise.all(ids.map((id) => reads.accounts.get(id)));
    isEnd = ids.length < TOGETHER;
    for (const [index, account] of accounts.entries()) {
      last = ids[index] ?? last;
      if (account !== null && fits(account, part)) found.push(account);
      if (found.length < limit) continue;
      isEnd = isEnd && index === ids.length - 1;
      break;
    }
    await turn();
  }
  const rows = await Promise.all(found.map((account) => rowOf(reads, account)));
  return { rows, after: isEnd ? null : last };
}
