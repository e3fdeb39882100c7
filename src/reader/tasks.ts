/** What a thread of the reader's can be asked for: long work, which would hold up whoever serves. */
import type { AuditReads } from '../audit/patience.ts';
import { type RebuildOptions, type RebuildReport, type RebuildTarget, rebuild } from '../audit/rebuild.ts';
import type { Scratch } from '../audit/scratch.ts';
import { type VerifyOptions, type VerifyReport, verifyStore } from '../audit/verify.ts';
import type { JournalReads } from '../engine/store.ts';
import type { Follower } from '../store/open.ts';

/** How far a task has come. */
export interface Progress {
  accounts: number;
  entries: number;
}

/** A task, as it is handed to the thread. */
export type Task =
  | { name: 'verify'; options: Omit<VerifyOptions, 'scratch' | 'onPage'> }
  | { name: 'rebuild'; options: Omit<RebuildOptions, 'scratch' | 'onPage'> };

/** What becomes of a task. */
export type Report = VerifyReport | RebuildReport;

/** What a task works with. */
export interface Tools {
  scratch: Scratch;
  /** What it throws stops the task. */
  onPage(progress: Progress): void;
}

/** Verifies by what the store is when the thread opens it. */
export function verifyApart(
  journal: JournalReads,
  { options }: Task & { name: 'verify' },
  tools: Tools,
): Promise<VerifyReport> {
  return verifyStore(journal, { ...options, ...tools });
}

/** Each read sees what was written before it. */
function readsOf(follower: Follower): AuditReads {
  const { look } = follower;
  return {
    head: (...asked) => look(async ({ journal }) => journal.head(...asked)),
    read: (...asked) => look(async ({ journal }) => journal.read(...asked)),
    transaction: (...asked) => look(({ journal }) => journal.transaction(...asked)),
    batches: (...asked) => look(({ journal }) => journal.batches(...asked)),
    entries: (...asked) => look(({ journal }) => journal.entries(...asked)),
    refusals: (...asked) => look(({ journal }) => journal.refusals(...asked)),
    batchesFrom: (...asked) => look(({ journal }) => journal.batchesFrom(...asked)),
    accountIds: (...asked) => look(({ journal }) => journal.accountIds(...asked)),
    records: (...asked) => look(({ journal }) => journal.records(...asked)),
    lookups: (...asked) => look(({ journal }) => journal.lookups(...asked)),
    deliveries: (...asked) => look(({ journal }) => journal.deliveries(...asked)),
  };
}

/** Rebuilds what the target puts in place, by what the follower reads. */
export function rebuildApart(
  follower: Follower,
  target: Pick<RebuildTarget, 'restore'>,
  { options }: Task & { name: 'rebuild' },
  tools: Tools,
): Promise<RebuildReport> {
  const restore: RebuildTarget['restore'] = async (restoration) => {
    const changed = await target.restore(restoration);
    if (changed > 0) follower.refresh();
    return changed;
  };
  return rebuild({ ...readsOf(follower), restore }, { ...options, ...tools });
}
