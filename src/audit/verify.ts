/**
 * Verifies a store: every journal is replayed (I1, I2, I3), and what is stored beside it must be what the replay
 * gives (I7). Runs beside a server: each account is judged up to the head that it had when its turn came.
 */

import type { TransactionRecord } from '../engine/journal.ts';
import type { JournalReads } from '../engine/store.ts';
import { faultOf } from './compare.ts';
import { Replay } from './replay.ts';

export interface VerifyOptions {
  /** Give every account's head. */
  heads: boolean;
  /** Run each message through its chart again. */
  decide: boolean;
  /** Whether a message through any door counts as the bank's own, as `decide` must know. */
  everyDoorSpeaks: boolean;
}

/** Something is off: `seq` is the batch where it shows, 0 where it is none in particular. */
export interface Difference {
  account: string;
  seq: number;
  what: string;
}

export interface VerifyReport {
  ok: boolean;
  accounts: number;
  batches: number;
  entries: number;
  /** The first thousand of them. */
  differences: Difference[];
  heads?: { account: string; seq: number; hash: string }[];
}

const MAX_DIFFERENCES = 1_000;
const PAGE = 500;

/** Whether the journal tells of the record's beginning: a server may have created it while others were replayed. */
async function isExplained(journal: JournalReads, record: TransactionRecord): Promise<boolean> {
  try {
    const batches = await journal.batches(record.account, record.seqs.slice(0, 1));
    return batches.some(({ entries }) => entries.some(({ transaction }) => transaction === record.id));
  } catch (error) {
    faultOf(error);
    return false;
  }
}

/**
 * Looks for stored records that no journal explains.
 * @throws StoreUnavailable
 */
export async function checkRecords(
  journal: JournalReads,
  isKnown: (record: TransactionRecord) => boolean | Promise<boolean>,
  report: (difference: Difference) => void,
): Promise<void> {
  let after = '';
  let limit = PAGE;
  const unreadable = (what: string): void =>
    report({ account: '', seq: 0, what: `the record after "${after}" ${what}` });
  for (;;) {
    let records: TransactionRecord[];
    try {
      records = await journal.records(after, limit);
    } catch (error) {
      const fault = faultOf(error);
      if (limit === 1) return unreadable(`can't be read: ${fault}`);
      // Smaller pages come as near as the port allows to the record that can't be read.
      limit = Math.ceil(limit / 10);
      continue;
    }
    for (const record of records) {
      // Each id is greater than the one before, or there would be no end.
      if (typeof record?.id !== 'string' || record.id <= after)
        return unreadable(`says that it is ${record?.id}`);
      after = record.id;
      if (await isKnown(record)) continue;
      report({ account: record.account, seq: 0, what: `no journal tells of the record ${record.id}` });
    }
    if (records.length < limit) return;
  }
}

/**
 * Replays every journal and compares; rotten data is reported, never thrown.
 * @throws StoreUnavailable
 */
export async function verifyStore(journal: JournalReads, options: VerifyOptions): Promise<VerifyReport> {
  const { decide, everyDoorSpeaks } = options;
  const report: VerifyReport = { ok: true, accounts: 0, batches: 0, entries: 0, differences: [] };
  const heads: NonNullable<VerifyReport['heads']> = [];
  const known = new Set<string>();
  const add = (difference: Difference): void => {
    report.ok = false;
    if (report.differences.length < MAX_DIFFERENCES) report.differences.push(difference);
  };
  for (const account of await journal.accountIds()) {
    const replay = new Replay({
      journal,
      account,
      decide,
      everyDoorSpeaks,
      report: (seq, what) => add({ account, seq, what }),
    });
    await replay.run();
    report.accounts += 1;
    report.batches += replay.batches;
    report.entries += replay.entries;
    for (const id of replay.transactions) known.add(id);
    heads.push({ account, seq: replay.seq, hash: replay.hash });
  }
  await checkRecords(journal, (record) => known.has(record.id) || isExplained(journal, record), add);
  return options.heads ? { ...report, heads } : report;
}
