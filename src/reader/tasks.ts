/** What a thread of the reader's can be asked for: long work, which would hold up whoever serves. */
import type { AuditReads } from '../audit/patience.ts';
import { type RebuildOptions, type RebuildReport, type RebuildTarget, rebuild } from '../audit/rebuild.ts';
import type { Scratch } from '../audit/scratch.ts';
import { type Share, shareOf } from '../audit/share.ts';
import { type VerifyOptions, type VerifyReport, verifyStore } from '../audit/verify.ts';
import type { FolderReader, Follower } from '../store/open.ts';

/** How far a task has come. */
export interface Progress {
  accounts: number;
  entries: number;
}

/** A task, as it is handed to the thread. */
export type Task =
  | {
      name: 'verify';
      options: Omit<VerifyOptions, 'scratch' | 'share' | 'onPage' | 'onAccount'>;
      /** From 0 on, of how many; all accounts where nothing is said. */
      share?: { index: number; of: number };
    }
  | { name: 'rebuild'; options: Omit<RebuildOptions, 'scratch' | 'onPage'> };

/** What becomes of a task. */
export type Report = VerifyReport | RebuildReport;

/** What a task works with. */
export interface Tools {
  scratch: Scratch;
  /** What it throws stops the task. */
  onPage(progress: Progress): void;
  /** So does what this throws. */
  onAccount(): void;
}

/** Where shares meet: with the last row that each sees, and with how much each has compared. */
export type Place = 'opened' | 'compared';

/** Says a number where shares meet, and hears those of all. */
export type Meet = (place: Place, number: number) => Promise<number[]>;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** Verifies by what the store is when the thread opens it: a share of it by what it is when all have. */
export async function verifyApart(
  open: (upTo?: (end: number) => Promise<number>) => Promise<FolderReader>,
  { options, share }: Task & { name: 'verify' },
  meet: Meet,
  tools: Tools,
): Promise<VerifyReport> {
  const reader = await open(share && (async (end) => Math.max(...(await meet('opened', end)))));
  try {
    const own: Share | undefined = share && {
      isOurs: (account) => shareOf(account, share.of) === share.index,
      of: share.of,
      isFirst: share.index === 0,
      comparedByAll: async (compared) => sum(await meet('compared', compared)),
    };
    return await verifyStore(reader.journal, { ...options, ...tools, ...(own && { share: own }) });
  } finally {
    await reader.close();
  }
}

/** Each read sees what was written before it. */
function readsOf(follower: Follower): AuditReads {
  const { look } = follower;
  return {
    head: (...asked) => look(async ({ journal }) => journal.head(...asked)),
    read: (...asked) => look(async ({ journal }) => journal.read(...asked)),
    transaction: (...asked) => look(({ journal }) => journal.transaction(...asked)),
    batches: (...asked) => look(({ journal }) => journal.batches(...asked)),
    storedOtherwise: (...asked) =>
      look(async ({ journal }) => (await journal.storedOtherwise?.(...asked)) ?? []),
    entries: (...asked) => look(({ journal }) => journal.entries(...asked)),
    refusals: (...asked) => look(({ journal }) => journal.refusals(...asked)),
    batchesFrom: (...asked) => look(({ journal }) => journal.batchesFrom(...asked)),
    accountIds: (...asked) => look(({ journal }) => journal.accountIds(...asked)),
    records: (...asked) => look(({ journal }) => journal.records(...asked)),
    lookups: (...asked) => look(({ journal }) => journal.lookups(...asked)),
    deliveries: (...asked) => look(({ journal }) => journal.deliveries(...asked)),
    waiting: (...asked) => look(({ journal }) => journal.waiting(...asked)),
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
