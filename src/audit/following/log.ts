/**
 * Follows the log of all accounts: each batch is judged once, in the order in which they were written, by the batch
 * before it in its account's journal (I1, I2, I3). That one was judged in its turn, so that all adds up where each does.
 *
 * Nothing is held but where accounts in use stand: of others the batch before is read again. What is stored beside the
 * journals isn't looked at, nor is what was judged before: `verify` does both.
 */
import type { BatchFault } from '../../domain/sentences/item-codes.ts';
import { type Batch, EMPTY_HEAD, type Head, headOf } from '../../engine/journal.ts';
import type { LoggedBatch, LogPage } from '../../engine/store/log.ts';
import { Lately } from '../../passing.ts';
import { faultOf } from '../compare.ts';
import type { AuditReads } from '../patience.ts';
import { type Before, type Fault, faultIn, UNREADABLE } from './judging.ts';

/** Where the following stands; plain JSON. */
export interface FollowedTo {
  /** The last row of the log that was judged. */
  row: number;
  /** Charges that wait for their payment, as of that row. */
  waiting: number;
}

type Reads = Pick<AuditReads, 'batches'>;

/** Accounts in use whose heads are kept, at least. */
const HEADS = 10_000;
const WAITING = 'waiting_payment';

export class Following {
  readonly #heads = new Lately<Head>(HEADS);
  #row: number;
  #waiting: number;

  constructor({ row, waiting }: FollowedTo) {
    this.#row = row;
    this.#waiting = waiting;
  }

  get to(): FollowedTo {
    return { row: this.#row, waiting: this.#waiting };
  }

  /** Judges what follows; gives what is off. Where it throws, the page is judged again. @throws StoreUnavailable */
  async judge(journal: Reads, { batches, unreadable, upTo }: LogPage): Promise<Fault[]> {
    const faults: Fault[] = unreadable.map(({ number, fault }) => ({
      ...{ kind: 'row', row: number, reason: fault },
    }));
    let waiting = this.#waiting;
    for (const logged of batches) {
      const { account, seq } = logged.batch;
      try {
        const fault = await this.#faultIn(journal, logged);
        if (fault !== null) faults.push({ kind: 'batch', account, seq, fault });
        waiting += waitingChange(logged.batch);
      } catch (error) {
        faults.push({ kind: 'row', row: logged.number, reason: faultOf(error) });
      }
    }
    this.#row = upTo;
    this.#waiting = waiting;
    return faults;
  }

  async #faultIn(journal: Reads, logged: LoggedBatch): Promise<BatchFault | null> {
    const { batch } = logged;
    const before = await this.#before(journal, batch);
    try {
      return faultIn(before, logged);
    } finally {
      this.#heads.set(batch.account, headOf(batch));
    }
  }

  /** The batch before in its account's journal; null where it isn't there. @throws StoreUnavailable */
  async #before(journal: Reads, { account, seq }: Batch): Promise<Before> {
    if (seq === 1) return EMPTY_HEAD;
    const known = this.#heads.get(account);
    if (known?.seq === seq - 1) return known;
    try {
      const [found] = await journal.batches(account, [seq - 1]);
      return found ?? null;
    } catch (error) {
      faultOf(error);
      return UNREADABLE;
    }
  }
}

/** By how many more charges wait after a batch. */
function waitingChange({ entries }: Batch): number {
  let change = 0;
  for (const { type, from, to, refusal } of entries) {
    if (type !== 'pix-in' || refusal !== null || from === to) continue;
    if (to === WAITING) change += 1;
    if (from === WAITING) change -= 1;
  }
  return change;
}
