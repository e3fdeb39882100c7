/** Decides what ops do to an account itself: an adjustment of its balance, and what is no message at all. */
import type { Posting } from '../../domain/money.ts';
import type { Command } from '../commands.ts';
import { answered, type Circumstances, type Decision, signed } from '../decision.ts';
import type { Entry, JournalMessage } from '../journal.ts';
import { actionMark, lookupKey } from '../lookups.ts';
import { usual } from '../store/content.ts';
import type { Workspace } from '../workspace.ts';

/** An entry of the account itself. */
function accountEntry(message: JournalMessage, at: string, postings: Posting[]): Entry {
  return { ...usual(), at, message, postings };
}

export function decideAdjust(
  workspace: Workspace,
  command: Command & { kind: 'adjust' },
  c: Circumstances,
): Decision {
  const balance = workspace.balances.available;
  const applied = workspace.lookup('adjustment', lookupKey(command.id));
  if (applied === command.digest) return answered({ kind: 'adjusted', balance, applied: false });
  if (applied !== null) {
    return answered({ kind: 'notAdjusted', balance, reason: 'this id was applied with another amount' });
  }
  const { id, amount, reason, digest, by } = command;
  if (amount < 0 && balance + amount < 0 && !command.allowNegative) {
    return answered({
      kind: 'notAdjusted',
      balance,
      reason: `the balance is ${balance}: it would go below zero`,
    });
  }
  const message: JournalMessage = {
    ...{ ...signed(by), data: { amount, reason }, digest, door: 'ops', id, type: 'ADJUST' },
  };
  const entry = accountEntry(message, c.at, [
    { leg: 'bank', amount: -amount },
    { leg: 'available', amount },
  ]);
  workspace.apply(entry);
  return {
    answer: { kind: 'adjusted', balance: balance + amount, applied: true },
    taken: { entry, record: null },
  };
}

/** The entry comes before what it tells of; whoever asks again under its id is told when that was. */
export function decideAct(
  workspace: Workspace,
  { id, action, data, digest, by }: Command & { kind: 'act' },
  c: Circumstances,
): Decision {
  const known = workspace.lookup('adjustment', lookupKey(id));
  if (known !== null) {
    const at = known.slice(digest.length + 1);
    return answered(
      known === actionMark(digest, at)
        ? { kind: 'acted', at, applied: false }
        : { kind: 'notActed', reason: 'this id was applied with something else' },
    );
  }
  const message: JournalMessage = {
    ...{ ...signed(by), data: { action, data }, digest, door: 'ops', id, type: 'OPS' },
  };
  const entry = accountEntry(message, c.at, []);
  workspace.apply(entry);
  return { answer: { kind: 'acted', at: c.at, applied: true }, taken: { entry, record: null } };
}
