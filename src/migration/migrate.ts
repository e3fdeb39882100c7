/**
 * Moves accounts from one store to another: the same journals, to the byte, and all that lies beside them.
 *
 * 1. Nothing is written before the source is verified, its secrets open and the target has nothing in the way.
 * 2. Until an account's copy is verified the source has it, from then on the target; `handover.ts` says how.
 * 3. Every step can be done again: a run that died is followed by another one, which goes on where it stopped.
 */

import type { Difference } from '../audit/verify.ts';
import { accountsIn } from '../engine/store/walks.ts';
import type { Store } from '../engine/store.ts';
import { carryCharts, expectNoNewerCharts } from '../engine/versions.ts';
import { moveAttention } from './attention.ts';
import { carryBank } from './bank.ts';
import { copyJournal, copyProgress } from './copy.ts';
import { moveDue } from './due.ts';
import { close, mark, open, type Reseal, switchOff } from './handover.ts';
import { MigrationRefused, notVerified } from './refused.ts';
import { type Stores, sideBySide } from './stores.ts';
import { expectSameJournal, type Plan, planOf, verifyAccount, verifySource } from './survey.ts';

/** How far a migration is with an account, in batches. */
export interface Progress {
  step: 'verify' | 'copy' | 'verify the copy' | 'hand over';
  account: string;
  done: number;
  of: number;
}

export interface MigrateOptions {
  source: Store;
  target: Store;
  /** A sealed secret of the source, sealed for the target. @throws Error where no key opens it. */
  reseal: Reseal;
  /** Null: all that are there. */
  accounts: readonly string[] | null;
  now(): number;
  report(progress: Progress): void;
}

/** An account after the run: its journal as the source has it. */
export interface MovedAccount {
  accountId: string;
  batches: number;
  entries: number;
  seq: number;
  hash: string;
  /** False: it had been moved before. */
  moved: boolean;
}

const ACCOUNTS_AT_ONCE = 8;

async function accountsOf(source: Store, wanted: readonly string[] | null): Promise<string[]> {
  const known: string[] = [];
  for await (const id of accountsIn(source.journal)) known.push(id);
  if (wanted === null) return known;
  const ids = new Set(known);
  for (const id of wanted) {
    if (!ids.has(id)) throw new MigrationRefused('ACCOUNT_NOT_FOUND', `no account ${id}`);
  }
  return [...new Set(wanted)];
}

class Migration {
  readonly #options: MigrateOptions;
  readonly #stores: Stores;

  constructor(options: MigrateOptions) {
    this.#options = options;
    this.#stores = { source: options.source, target: options.target };
  }

  async run(): Promise<MovedAccount[]> {
    const { source, target, accounts, now, reseal } = this.#options;
    for (const { marks } of [source, target]) await expectNoNewerCharts(marks);
    const ids = await accountsOf(source, accounts);
    const plans = await this.#survey(ids);
    // Before anything that an older build couldn't read is there.
    await carryCharts(source.marks, target.marks);
    await carryBank(this.#stores);
    const pending = plans.filter(({ done }) => !done);
    await sideBySide(pending, ACCOUNTS_AT_ONCE, (plan) => this.#copy(plan));
    for (const plan of pending) await this.#handOver(plan);
    // Also of what was moved before: a command may have made something due here since.
    const moved = new Set(ids);
    await moveDue(this.#stores, (account) => moved.has(account), now());
    await moveAttention(this.#stores, ids, accounts === null, now());
    for (const id of ids) await mark(this.#stores, id);
    for (const { account } of pending) await open(this.#stores, account, reseal);
    return plans.map(({ account, batches, entries, seq, hash, done }) => ({
      accountId: account,
      batches,
      entries,
      seq,
      hash,
      moved: !done,
    }));
  }

  #tell(step: Progress['step'], account: string, done: number, of: number): void {
    this.#options.report({ step, account, done, of });
  }

  async #survey(ids: readonly string[]): Promise<Plan[]> {
    const { source, reseal } = this.#options;
    const verified = await verifySource(source, ids, (account) => this.#tell('verify', account, 1, 1));
    const plans = new Map<string, Plan>();
    await sideBySide(verified, ACCOUNTS_AT_ONCE, async (each) => {
      plans.set(each.account, await planOf(this.#stores, each, reseal));
    });
    return ids.flatMap((id) => plans.get(id) ?? []);
  }

  /** Copies an account and verifies the copy; the source still has it. */
  async #copy({ account, seq, stage }: Plan): Promise<void> {
    const { target } = this.#options;
    await copyProgress(this.#stores, account, stage !== 'absent');
    await copyJournal(this.#stores, account, (done) => this.#tell('copy', account, done, seq));
    const differences: Difference[] = [];
    const verified = await verifyAccount(target.journal, account, differences);
    if (verified.seq < seq) {
      differences.push({ account, seq: verified.seq, what: `the journal ends here, and not at ${seq}` });
    }
    if (differences.length > 0) throw notVerified('TARGET_NOT_VERIFIED', 'the copy', differences);
    await expectSameJournal(this.#stores, account);
    this.#tell('verify the copy', account, seq, seq);
  }

  async #handOver({ account, seq }: Plan): Promise<void> {
    await close(this.#stores, account, this.#options.reseal);
    await switchOff(this.#stores, account);
    this.#tell('hand over', account, seq, seq);
  }
}

/**
 * Moves the accounts; all of them are copied and verified before the first one is handed over.
 * @throws MigrationRefused; OperatorError where a newer build has served either store; and whatever a store throws: then
 * the same call goes on where this one stopped.
 */
export function migrate(options: MigrateOptions): Promise<MovedAccount[]> {
  return new Migration(options).run();
}
