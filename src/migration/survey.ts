/**
 * Looks at everything before anything is written: the source is verified, its secrets open, and the target has
 * nothing that is in the way.
 */

import { Replay } from '../audit/replay.ts';
import { auditAccounts, type Difference, keeperOf, type Verified } from '../audit/verify.ts';
import type { Account } from '../domain/account.ts';
import type { JournalReads, Store } from '../engine/store.ts';
import { otherJournal } from './copy.ts';
import { MigrationRefused, notVerified } from './refused.ts';
import type { Stores } from './stores.ts';

/**
 * `absent`: nobody could have acted on the account in the target. `closed`: it was handed over, but not to its
 * end: nobody gets in there yet. `open`: the target has it.
 */
export type Stage = 'absent' | 'closed' | 'open';

export interface Plan extends Verified {
  stage: Stage;
  /** The target has all of it, and the source is off. */
  done: boolean;
}

/**
 * Replays an account's journal as `verify` does; what is off goes to the differences.
 * @throws StoreUnavailable
 */
export async function verifyAccount(
  journal: JournalReads,
  account: string,
  differences: Difference[],
): Promise<Verified> {
  const keep = keeperOf(differences);
  const report = (seq: number, what: string): void => keep({ account, seq, what });
  const replay = new Replay({ journal, account, decide: false, everyDoorSpeaks: true, report });
  await replay.run();
  const { batches, entries, seq, hash } = replay;
  return { account, batches, entries, seq, hash };
}

/** @throws MigrationRefused SOURCE_NOT_VERIFIED */
export async function verifySource(
  source: Store,
  accounts: readonly string[],
  onAccount: (account: string) => void,
): Promise<Verified[]> {
  const all: Verified[] = [];
  const differences: Difference[] = [];
  await auditAccounts(source.journal, accounts, {
    decide: false,
    everyDoorSpeaks: true,
    isAll: false,
    onDifference: keeperOf(differences),
    onAccount: (verified) => {
      all.push(verified);
      onAccount(verified.account);
    },
  });
  if (differences.length > 0) throw notVerified('SOURCE_NOT_VERIFIED', 'the data folder', differences);
  return all;
}

/**
 * Whether one journal begins with the other.
 * @throws MigrationRefused TARGET_CONFLICT
 */
export async function expectSameJournal({ source, target }: Stores, account: string): Promise<void> {
  const [here, there] = await Promise.all([source.journal.head(account), target.journal.head(account)]);
  const seq = Math.min(here.seq, there.seq);
  if (seq === 0) return;
  const [[ours], [theirs]] = await Promise.all([
    source.journal.batches(account, [seq]),
    target.journal.batches(account, [seq]),
  ]);
  // A batch's hash covers all before it, so two journals that agree here have never differed.
  if (ours === undefined || ours.hash !== theirs?.hash) throw otherJournal(account, seq);
}

/** The account's stage in the target; an account with an empty address list lets nobody in. */
function stageOf(here: Account | null, there: Account | null): Stage {
  if (there === null) return 'absent';
  return there.allowedIps.length === 0 && here !== null && here.allowedIps.length > 0 ? 'closed' : 'open';
}

export function isOff({ status, userStatus }: Account): boolean {
  return status === 'inactive' && userStatus === 'inactive';
}

async function expectClientFree({ target }: Stores, { id, clientId }: Account): Promise<void> {
  const holder = await target.accounts.byClientId(clientId);
  if (holder === null || holder.id === id) return;
  const message = `in the target the client id of ${id} belongs to account ${holder.id}`;
  throw new MigrationRefused('TARGET_CONFLICT', message);
}

function expectSecretsOpen(account: Account, reseal: (sealed: string) => string): void {
  for (const { url, secrets } of account.webhooks) {
    try {
      for (const { sealed } of secrets) reseal(sealed);
    } catch {
      throw new MigrationRefused(
        'SECRET_NOT_OPENED',
        `no key opens the webhook secret of ${account.id} for ${url}: set SECRETS_KEY to the key that it was sealed with; no account was moved`,
      );
    }
  }
}

/**
 * The plan for an account. Reads only.
 * @throws MigrationRefused
 */
export async function planOf(
  stores: Stores,
  verified: Verified,
  reseal: (sealed: string) => string,
): Promise<Plan> {
  const { source, target } = stores;
  const { account, seq } = verified;
  const [here, there, head] = await Promise.all([
    source.accounts.get(account),
    target.accounts.get(account),
    target.journal.head(account),
  ]);
  await expectSameJournal(stores, account);
  const stage = stageOf(here, there);
  // Without a batch to compare there's only the name, and a journal that nobody moved there is another's.
  if (seq === 0 && head.seq > 0 && stage === 'absent') throw otherJournal(account, 1);
  const isHandedOver = here === null || (stage === 'open' && isOff(here));
  const done = isHandedOver && head.seq >= seq;
  if (here !== null && !done) {
    expectSecretsOpen(here, reseal);
    if (there === null) await expectClientFree(stores, here);
  }
  return { ...verified, stage, done };
}
