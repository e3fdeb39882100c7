/**
 * Verifies a store: every journal is replayed (I1, I2, I3), and what is stored beside it must be what the replay
 * gives (I7). Runs beside a server: each account is judged up to the head that it had when its turn came. Its
 * memory is bounded, however long the journals are; a store that goes away in the middle is waited for.
 */
import { accountsIn } from '../engine/store/walks.ts';
import { type AuditReads, patientReads } from './patience.ts';
import { checkRecords, type Replayed, type Walked } from './records.ts';
import { Replay } from './replay.ts';
import type { Scratch } from './scratch.ts';
import { Screening } from './screening/screening.ts';
import { type Share, WHOLE } from './share.ts';
import { checkListed } from './waits.ts';

export interface VerifyOptions {
  /** Give every account's head. */
  heads: boolean;
  /** Run each message through its chart again. */
  decide: boolean;
  /** Whether a message through any door counts as the bank's own, as `decide` must know. */
  everyDoorSpeaks: boolean;
  /** This account alone; all where there is none. */
  account?: string;
  /** Room for what is more than memory holds; without it more is read a second time. */
  scratch?: Scratch;
  /** These accounts alone; all where nothing is said. */
  share?: Share;
  /** Called after each page that was read. */
  onPage?(progress: { accounts: number; entries: number }): void;
  /** Called after each account: by then, where there is one log, all its pages were read. */
  onAccount?(): void;
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

/** A replayed journal, with its head. */
export interface Verified {
  account: string;
  batches: number;
  entries: number;
  seq: number;
  hash: string;
}

export interface AuditOptions {
  decide: boolean;
  everyDoorSpeaks: boolean;
  /** The accounts given are all that there are: records of others are reported, too. */
  isAll: boolean;
  /** Those of them that are in this share. */
  share?: Share | undefined;
  scratch?: Scratch | undefined;
  onDifference(difference: Difference): void;
  onAccount(verified: Verified): void;
  /** With how many accounts were met so far, where all are read together. */
  onPage?(entries: number, accounts?: number): void;
}

export const MOST_DIFFERENCES = 1_000;
/** Accounts between two walks over all records: what a replay found of each is held until the next one. */
const ACCOUNTS_A_WALK = 100_000;

/** Keeps the first thousand differences. */
export function keeperOf(differences: Difference[]): (difference: Difference) => void {
  return (difference) => {
    if (differences.length < MOST_DIFFERENCES) differences.push(difference);
  };
}

/**
 * Replays these accounts, in the order of their ids where they are all, and looks for records that no journal
 * explains; rotten data is reported, never thrown.
 * @throws StoreUnavailable
 */
export async function auditAccounts(
  journal: AuditReads,
  accounts: Iterable<string> | AsyncIterable<string>,
  options: AuditOptions,
): Promise<void> {
  const { isAll, share = WHOLE, onDifference } = options;
  const screening = isAll ? await screened(journal, options) : null;
  const isExplained = (await screening?.explainsRecords()) === true;
  let replayed = new Map<string, Replayed>();
  let walkedTo: string | null = null;
  const named = new Set<string>();
  const unexplained = (account: string, what: string): void => onDifference({ account, seq: 0, what });
  const walk = async (to: string | null): Promise<void> => {
    const from = walkedTo;
    const isMine = (account: string): boolean =>
      (from === null || account > from) && (to === null || account <= to) && share.isOurs(account);
    const walked: Walked = { replayed, isOurs: (account) => isAll && isMine(`${account}`) };
    const unreadable = (account: string | null, what: string): void => {
      const isOurs = account === null ? share.isFirst : replayed.has(account) || walked.isOurs(account);
      if (isOurs) unexplained(account ?? '', what);
    };
    if (!isExplained) await checkRecords(journal, walked, { unexplained, unreadable });
    replayed = new Map();
    walkedTo = to ?? walkedTo;
  };
  for await (const account of accounts) {
    if (!share.isOurs(account)) continue;
    if (replayed.size === ACCOUNTS_A_WALK) await walk([...replayed.keys()].at(-1) ?? null);
    const fault = journal.log?.settingsFault(account) ?? null;
    if (fault !== null) onDifference({ account, seq: 0, what: fault });
    const sound = await screening?.sound(account);
    const { batches, entries, seq, hash, recorded } = sound ?? (await replay(journal, account, options));
    replayed.set(account, { seq, recorded });
    if (!isAll) named.add(account);
    options.onAccount({ account, batches, entries, seq, hash });
  }
  await walk(null);
  // What is listed of all accounts is read once: by the first of the shares.
  if (isAll && !share.isFirst) return;
  await checkListed(journal, ({ account }, what) => {
    if (isAll || named.has(account)) unexplained(account, what);
  });
}

/** Reads the log of all accounts once, where the store has one. */
async function screened(
  journal: AuditReads,
  { decide, everyDoorSpeaks, share = WHOLE, scratch, onDifference, onPage }: AuditOptions,
): Promise<Screening | null> {
  const { log } = journal;
  if (log === undefined) return null;
  const report = (account: string, seq: number, what: string): void => onDifference({ account, seq, what });
  const options = { journal, log, decide, everyDoorSpeaks, share, scratch: scratch ?? null, report };
  const screening = new Screening({ ...options, ...(onPage && { onPage }) });
  await screening.run();
  return screening;
}

/** Replays an account by itself. */
async function replay(
  journal: AuditReads,
  account: string,
  { decide, everyDoorSpeaks, onDifference, onPage }: AuditOptions,
): Promise<Replay> {
  const report = (seq: number, what: string): void => onDifference({ account, seq, what });
  const options = { journal, account, decide, everyDoorSpeaks, report };
  const run = new Replay({ ...options, ...(onPage && { onPage: (entries: number) => onPage(entries) }) });
  await run.run();
  return run;
}

/**
 * Replays every journal, or one account's, and compares.
 * @throws StoreUnavailable where the store stays away
 */
export async function verifyStore(reads: AuditReads, options: VerifyOptions): Promise<VerifyReport> {
  const { decide, everyDoorSpeaks, account, share, scratch, onPage } = options;
  const journal = patientReads(reads);
  const report: VerifyReport = { ok: true, accounts: 0, batches: 0, entries: 0, differences: [] };
  const heads: NonNullable<VerifyReport['heads']> = [];
  const keep = keeperOf(report.differences);
  let entriesRead = 0;
  await auditAccounts(journal, account === undefined ? accountsIn(journal) : [account], {
    decide,
    everyDoorSpeaks,
    isAll: account === undefined,
    share,
    scratch,
    onDifference: (difference) => {
      report.ok = false;
      keep(difference);
    },
    onAccount: ({ account: id, batches, entries, seq, hash }) => {
      report.accounts += 1;
      report.batches += batches;
      report.entries += entries;
      if (options.heads) heads.push({ account: id, seq, hash });
      options.onAccount?.();
    },
    onPage: (entries, accounts = report.accounts) => {
      entriesRead += entries;
      onPage?.({ accounts, entries: entriesRead });
    },
  });
  return options.heads ? { ...report, heads } : report;
}
