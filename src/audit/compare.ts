/**
 * Compares what is stored with what a replay gave. A server may have gone on writing: what is newer than the
 * replay is judged by its own history.
 */

import { canonicalJson } from '../domain/canonical-json.ts';
import { deliveriesOf, historyOf, refusalsOf } from '../engine/history.ts';
import type { TransactionRecord } from '../engine/journal.ts';
import { lookupsOf } from '../engine/lookups.ts';
import { type JournalReads, StoreUnavailable } from '../engine/store.ts';
import { textOf } from '../errors.ts';

const PAGE = 100;

/** The stored side of a comparison. */
export interface Stored {
  journal: JournalReads;
  account: string;
  /** Where the replay stands. */
  seq: number;
  /** Called for each difference. */
  report(seq: number, what: string): void;
}

function differing(stored: TransactionRecord, record: TransactionRecord): string {
  const names = [...new Set([...Object.keys(stored), ...Object.keys(record)])] as (keyof TransactionRecord)[];
  return names
    .filter((name) => canonicalJson(stored[name] ?? null) !== canonicalJson(record[name] ?? null))
    .join(', ');
}

/**
 * The fault of stored data, in words.
 * @throws StoreUnavailable: a store that is away says nothing about what it holds, and no report is better than a
 * wrong one
 */
export function faultOf(error: unknown): string {
  if (error instanceof StoreUnavailable) throw error;
  return textOf(error);
}

/**
 * Whether the stored record is the replayed one. Former builds counted no refused messages, and named their batches
 * among the others: the journal tells which those are.
 */
async function isSame(
  journal: JournalReads,
  stored: TransactionRecord,
  record: TransactionRecord,
): Promise<boolean> {
  if (canonicalJson(stored) === canonicalJson(record)) return true;
  const { seqs, refusals: counted = 0, ...rest } = stored;
  const { seqs: replayed, refusals: all = 0, ...replayedRest } = record;
  if (counted > all || canonicalJson(rest) !== canonicalJson(replayedRest)) return false;
  const refused = (await journal.entries(stored.account, stored.id, seqs)).filter(
    ({ entry }) => entry.refusal !== null,
  );
  const named = new Set([...replayed, ...refused.map(({ seq }) => seq)]);
  const inOrder = [...named].sort((a, b) => a - b);
  return canonicalJson(seqs) === canonicalJson(inOrder) && counted >= all - refused.length;
}

/** The difference; null where the stored record equals the replayed one, or at the end a newer one its own history. */
export async function compareRecord(
  { journal, seq }: Stored,
  record: TransactionRecord,
  atEnd: boolean,
): Promise<string | null> {
  const stored = await journal.transaction(record.id);
  if (stored === null) return 'there is no record of it';
  if (await isSame(journal, stored, record)) return null;
  if (!atEnd) return 'its history goes on';
  const [refused = 0] = await journal.refusals(record.id, seq, 1);
  const newest = Math.max(stored.seqs.at(-1) ?? 0, refused);
  const known = new Set(stored.seqs);
  const goesOn = newest > seq && record.seqs.every((own) => known.has(own));
  if (!goesOn || stored.account !== record.account)
    return `its record differs in ${differing(stored, record)}`;
  const projected = (await historyOf(journal, stored)).at(-1)?.record ?? null;
  const isOwn = projected !== null && (await isSame(journal, stored, projected));
  return isOwn ? null : 'its record differs from its history';
}

/** Refused messages that are in the journal and that nobody would find there. */
export async function compareRefusals(
  { journal, report }: Stored,
  record: TransactionRecord,
  refused: readonly number[],
): Promise<void> {
  const stored = refused.length === 0 ? null : await journal.transaction(record.id);
  if (stored === null) return;
  const listed = new Set([...stored.seqs, ...(await refusalsOf(journal, record.id))]);
  for (const seq of new Set(refused))
    if (!listed.has(seq)) report(seq, `no list has the refused message to ${record.id}`);
}

/** Progress that no entry names, or that says that it is another's. */
export async function compareDeliveries(
  { journal, account, report }: Stored,
  record: TransactionRecord,
  deliveries: readonly string[],
): Promise<void> {
  const seq = record.seqs.at(-1) ?? 0;
  const progress = await journal.deliveries(record.id);
  let known = new Set(deliveries);
  if (progress.some(({ id }) => !known.has(id))) {
    // The server may have created it since.
    const stored = await journal.transaction(record.id);
    known = new Set(deliveriesOf(await historyOf(journal, stored ?? record)).map(({ id }) => id));
  }
  for (const delivery of progress) {
    if (!known.has(delivery.id)) report(seq, `no entry names the delivery ${delivery.id} of ${record.id}`);
    else if (delivery.account !== account || delivery.transaction !== record.id) {
      report(seq, `the delivery ${delivery.id} of ${record.id} says that it is another's`);
    }
  }
}

/** Lookups and their values in batches after the replay's end. */
async function newerLookups({ journal, account, seq }: Stored): Promise<Map<string, Set<string>>> {
  const values = new Map<string, Set<string>>();
  for (let from = seq + 1; ; from += PAGE) {
    const batches = await journal.batchesFrom(account, from, PAGE);
    for (const { name, key, value } of batches.flatMap((batch) => batch.entries.flatMap(lookupsOf))) {
      values.set(`${name}:${key}`, (values.get(`${name}:${key}`) ?? new Set()).add(value));
    }
    if (batches.length < PAGE) return values;
  }
}

/** Lookups by `name:key`: of several entries that give one, the last wins. */
export async function compareLookups(target: Stored, replayed: ReadonlyMap<string, string>): Promise<void> {
  const { journal, account, seq, report } = target;
  try {
    const stored = new Map(
      (await journal.lookups(account)).map(({ name, key, value }) => [`${name}:${key}`, value]),
    );
    const names = new Set([...replayed.keys(), ...stored.keys()]);
    const different = [...names].filter((name) => replayed.get(name) !== stored.get(name));
    if (different.length === 0) return;
    const newer = await newerLookups(target);
    for (const name of different) {
      const value = stored.get(name);
      if (value !== undefined && newer.get(name)?.has(value) === true) continue;
      report(
        seq,
        `the lookup ${name} is ${value ?? 'missing'}, the journal gives ${replayed.get(name) ?? 'nothing'}`,
      );
    }
  } catch (error) {
    report(seq, `the lookups can't be read: ${faultOf(error)}`);
  }
}
