/** Finds transactions and accounts by any id or name that somebody may have. */
import { type FoundTransaction, findNamed, findQuoted } from '../../engine/finding/find.ts';
import type { StoreReads } from '../../engine/store.ts';
import type { Found, Hit } from '../shapes.ts';
import { mask } from './masking.ts';

const MOST_HITS = 20;
/** More accounts aren't asked for one text. */
const MOST_ACCOUNTS = 20_000;
const MOST_MS = 2_000;

type Accounts = StoreReads['accounts'];

async function transactionHit(accounts: Accounts, { record, matched }: FoundTransaction): Promise<Hit> {
  const { id, account, type, snapshot } = record;
  const { amount, createdAt } = snapshot.context;
  const accountName = mask((await accounts.get(account))?.name ?? '');
  const transaction = { type, status: snapshot.value, amount, createdAt };
  return { kind: 'transaction', id, account, accountName, matched, transaction };
}

/** An account by its id or its client id. */
async function accountHit(accounts: Accounts, text: string): Promise<Hit | null> {
  const byId = await accounts.get(text);
  const account = byId ?? (await accounts.byClientId(text));
  if (account === null) return null;
  const { id, name } = account;
  const matched = byId === null ? 'clientId' : 'id';
  return { kind: 'account', id, account: id, accountName: mask(name), matched, transaction: null };
}

/** What a text is found as; in one account, or in all. */
export async function find(reads: StoreReads, text: string, account: string | null): Promise<Found> {
  const given = text.trim();
  const named = await findNamed(reads.journal, given);
  const isOwn = named !== null && (account === null || named.record.account === account);
  if (isOwn) return { hits: [await transactionHit(reads.accounts, named)], complete: true };
  const found = account === null ? await accountHit(reads.accounts, given) : null;
  if (found !== null) return { hits: [found], complete: true };
  const endsAt = performance.now() + MOST_MS;
  const isOver = (count: number, asked: number): boolean =>
    count > MOST_HITS || asked >= MOST_ACCOUNTS || performance.now() > endsAt;
  const quoted = await findQuoted(reads.journal, given, account, isOver);
  const shown = quoted.found.slice(0, MOST_HITS);
  const hits = await Promise.all(shown.map((each) => transactionHit(reads.accounts, each)));
  return { hits, complete: quoted.complete && quoted.found.length <= MOST_HITS };
}
