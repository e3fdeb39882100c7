/** The ports of the API in an HTTP thread: all that they are asked goes over its line to the engine's. */
import { type AccountReads, Directory } from '../../accounts/directory.ts';
import { Sealer } from '../../accounts/sealing.ts';
import type { Acts, ApiReads, ReadPage } from '../../api/context.ts';
import type { Showing } from '../../api/showing.ts';
import type { StatementEnd } from '../../engine/statement/end.ts';
import type { Line } from './line.ts';
import type { Account, Known } from './protocol.ts';

/** Reads of journals. */
export function remoteReads(line: Line): ApiReads {
  return {
    head: (account) => line.ask('head', account),
    read: (account, wants) => line.ask('read', account, wants),
    transaction: (id) => line.ask('transaction', id),
    entries: (account, transaction, seqs) => line.ask('entries', account, transaction, seqs),
    deliveries: (transaction) => line.ask('deliveries', transaction),
  };
}

/** Transactions as merchants see them. */
export function remoteShowing(line: Line): Showing {
  return {
    byId: (account, type, id) => line.ask('shownById', account, type, id),
    byName: (account, name, key) => line.ask('shownByName', account, name, key),
  };
}

/** Statements: a page is put together by the engine's thread, since its rows are far less than the batches they are of. */
export function remoteStatements(line: Line): ReadPage {
  return (account, wish, options) => line.send('statement', [account, wish], options);
}

/** Where statements end: the engine's thread knows what isn't durable yet. */
export function remoteStatementEnd(line: Line): StatementEnd {
  return (account, from) => line.ask('statementEnd', account, from);
}

/** What merchants and the bank can have done. */
export function remoteActs(line: Line): Acts {
  return {
    createCharge: ({ id }, request, options) => line.send('createCharge', [id, request], options),
    createTransfer: ({ id }, request, options) => line.send('createTransfer', [id, request], options),
    refund: ({ id }, request, options) => line.send('refund', [id, request], options),
    cancel: ({ id }, request, options) => line.send('cancel', [id, request], options),
    tell: (record, incoming, door, options) => line.send('tell', [record, incoming, door], options),
    recordInvalid: (record, incoming, problem, options) =>
      line.send('recordInvalid', [record, incoming, problem], options),
    noteUnknown: (message) => line.ask('noteUnknown', message),
    noteUndecided: (message, reason) => line.ask('noteUndecided', message, reason),
  };
}

/** Settings of accounts and the places of their buckets, which come together. */
export class RemoteAccounts implements AccountReads {
  readonly #line: Line;
  readonly #places = new WeakMap<Account, number>();

  constructor(line: Line) {
    this.#line = line;
  }

  async get(id: string): Promise<Account | null> {
    return this.#kept(await this.#line.ask('account', id));
  }

  async byClientId(clientId: string): Promise<Account | null> {
    return this.#kept(await this.#line.ask('client', clientId));
  }

  #kept(known: Known | null): Account | null {
    if (known === null) return null;
    this.#places.set(known.account, known.place);
    return known.account;
  }

  /** The place of the bucket of an account that was got here. */
  placeOf(account: Account): number {
    const place = this.#places.get(account);
    if (place === undefined) throw new Error(`account ${account.id} is not from the engine`);
    return place;
  }
}

/**
 * Accounts by the rules of the engine's own directory, read from the store and not from that one: a thread's view is
 * not older than the engine's. Webhook secrets stay sealed.
 */
export function remoteDirectory(accounts: RemoteAccounts, now: () => number): Pick<Directory, 'client'> {
  return new Directory(accounts, new Sealer(null), now);
}
