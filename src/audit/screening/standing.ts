/** Where the reading of an account's journal stands. */
import { type Balances, ZERO_BALANCES } from '../../domain/money.ts';
import { ZERO_HASH } from '../../engine/journal.ts';
import type { LoggedBatch } from '../../engine/store/log.ts';
import { BATCH_PARTS } from '../replay.ts';
import type { Counts } from './batch-lookups.ts';
import { expect } from './sound.ts';

export interface Standing {
  seq: number;
  hash: string;
  at: string;
  balances: Balances;
  entries: number;
  /** Transactions that were begun. */
  begun: number;
  /** Those that were found to be as they are stored. */
  compared: number;
  lookups: Counts;
}

export function beginning(): Standing {
  const lookups = { adjustment: 0, refusal: 0, other: 0 };
  const counts = { entries: 0, begun: 0, compared: 0, lookups };
  return { seq: 0, hash: ZERO_HASH, at: '', balances: { ...ZERO_BALANCES }, ...counts };
}

/** Goes on to the account's next batch. @throws NotSound where it isn't that, or isn't what its hash says */
export function follow(standing: Standing, { batch, isAsHashed, isFound }: LoggedBatch): void {
  const { seq, previous, hash, at } = batch;
  expect(isFound && isAsHashed && Object.keys(batch).length === BATCH_PARTS);
  expect(seq === standing.seq + 1 && previous === standing.hash && at >= standing.at);
  standing.seq = seq;
  standing.hash = hash;
  standing.at = at;
}
