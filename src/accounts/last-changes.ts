/**
 * What an account keeps of ops' last changes: their ids, so that each is made once. Of an id that isn't kept it is told
 * by one that is whether it was never there or is kept no more.
 */
import type { Account } from '../domain/account.ts';

/** What was asked for was done before, under the same id; nothing was changed. */
export class DoneBefore extends Error {
  /** As it is. */
  readonly account: Account;

  constructor(account: Account) {
    super('it was done before, under this id: nothing was changed');
    this.account = account;
  }
}

/** The account isn't any more what a change was made for; nothing was changed. */
export class AccountMoved extends Error {
  /** As it is. */
  readonly account: Account;

  constructor(
    account: Account,
    how = `the account was changed meanwhile, and has version ${account.version}: nothing was changed`,
  ) {
    super(how);
    this.account = account;
  }
}

/** Whether a change was made before is known no more, since so many others were made; nothing was changed now. */
export class ChangeForgotten extends AccountMoved {
  constructor(account: Account) {
    const since =
      'whether it was done before, under this id, is known no more: the account has changed too often since';
    super(account, `${since}. Nothing was changed now; look at the account, and use another id`);
  }
}

/** The action of ops that a change is made by. */
export interface ChangeBy {
  id: string;
  /** The id of a change that was made before this one, if this one was; null where none is known. */
  after: string | null;
  /** The version of the account that it is made for; null or absent: whichever there is. */
  version?: number | null;
}

/** So many ids of its last changes an account keeps. */
const KEPT_CHANGES = 20;

/** Whether the change that an action asks for was made, as far as the account keeps its id. */
export function wasMade({ lastChanges = [] }: Account, id: string): boolean {
  return lastChanges.includes(id);
}

/** Whether the account keeps the ids of all its changes. */
export function keepsAll({ lastChanges = [] }: Account): boolean {
  return lastChanges.length < KEPT_CHANGES;
}

/** Whether an action's id may be among those that are kept no more: what came after one that is kept is kept. */
export function isForgotten(account: Account, { after }: ChangeBy): boolean {
  return !keepsAll(account) && (after === null || !wasMade(account, after));
}

/** The account with an action's change, as the last one. */
export function withChange(account: Account, { id }: ChangeBy): Account {
  return { ...account, lastChanges: [...(account.lastChanges ?? []), id].slice(-KEPT_CHANGES) };
}

/** Whether it is another version than the one that was wanted, where one was. */
export function isMoved(account: Account, version: number | null = null): boolean {
  return version !== null && account.version !== version;
}
