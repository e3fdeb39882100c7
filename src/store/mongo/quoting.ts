/**
 * Looks through all accounts for what some text is known as, on MongoDB. Most lookups lie in an index whose first part
 * is the text, so that one question is enough; external references and payments given back are asked for by account.
 */
import type { Lookup, QuotedPage, QuotedRow } from '../../engine/store/lookups.ts';
import type { LookupElement, RefusalDocument } from './documents.ts';
import type { MongoReads } from './reads.ts';

/** Accounts that one command names. */
const A_COMMAND = 500;

type Element = { _id: string; lookups: LookupElement[] };

async function elements(reads: MongoReads, wanted: readonly Lookup[]): Promise<QuotedRow[]> {
  const keys = [...new Set(wanted.map(({ key }) => key))];
  const names = new Set(wanted.map(({ name, key }) => `${name} ${key}`));
  const own = { $filter: { input: '$lookups', cond: { $in: ['$$this.key', { $literal: keys }] } } };
  const found = await reads.find<Element>(
    'transactions',
    { 'lookups.key': { $in: keys } },
    { projection: { lookups: own } },
  );
  return found.flatMap(({ _id, lookups }) =>
    lookups
      .filter(({ name, key }) => names.has(`${name} ${key}`))
      .map(({ name }) => ({ name, transaction: _id })),
  );
}

/** Of each of these accounts the newest charge of a reference. */
async function charges(
  reads: MongoReads,
  accounts: readonly string[],
  { name, key }: Lookup,
): Promise<QuotedRow[]> {
  const match = { $match: { account: { $in: accounts }, type: 'pix-in', externalRef: key } };
  const sort = { $sort: { account: -1, order: -1 } };
  const group = { $group: { _id: '$account', newest: { $first: '$_id' } } };
  const found = await reads.aggregate<{ newest: string }>('transactions', [match, sort, group]);
  return found.map(({ newest }) => ({ name, transaction: newest }));
}

async function givenBack(
  reads: MongoReads,
  accounts: readonly string[],
  { name, key }: Lookup,
): Promise<QuotedRow[]> {
  const ids = accounts.map((account) => `${account}:${name}:${key}`);
  const found = await reads.find<RefusalDocument>('refusals', { _id: { $in: ids } });
  return found.map(({ transaction }) => ({ name, transaction }));
}

/** Asks so many accounts, those behind one. What needs no account is asked with the first page. */
export async function quotedBy(
  reads: MongoReads,
  wanted: readonly Lookup[],
  after: string,
  limit: number,
): Promise<QuotedPage> {
  const options = { projection: { _id: 1 }, sort: { _id: 1 }, limit };
  const found = await reads.find<{ _id: string }>('accounts', { _id: { $gt: after } }, options);
  const ids = found.map(({ _id }) => _id);
  const rows = after === '' && wanted.length > 0 ? await elements(reads, wanted) : [];
  for (let from = 0; from < ids.length; from += A_COMMAND) {
    const some = ids.slice(from, from + A_COMMAND);
    for (const lookup of wanted) {
      if (lookup.name === 'externalRef') rows.push(...(await charges(reads, some, lookup)));
      if (lookup.name === 'returned') rows.push(...(await givenBack(reads, some, lookup)));
    }
  }
  return { rows, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
}
