/** What the reader's thread can be asked for: long reads, which would hold up whoever serves. */

import type { Scratch } from '../audit/scratch.ts';
import { type VerifyOptions, type VerifyReport, verifyStore } from '../audit/verify.ts';
import type { JournalReads } from '../engine/store.ts';

/** How far a task has come. */
export interface Progress {
  accounts: number;
  entries: number;
}

/** A task, as it is handed to the thread. */
export interface Task {
  name: 'verify';
  options: Omit<VerifyOptions, 'scratch' | 'onPage'>;
}

/** Does a task. @throws whatever `onPage` throws, so that a task can be stopped */
export function perform(
  journal: JournalReads,
  { options }: Task,
  scratch: Scratch,
  onPage: (progress: Progress) => void,
): Promise<VerifyReport> {
  return verifyStore(journal, { ...options, scratch, onPage });
}
