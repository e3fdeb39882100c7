/**
 * Makes an account's projections from its journal, batch by batch, into a scratch. Owns the records in hand; those
 * of the last page stay in memory, the others are read back.
 */
import type { Batch, Entry, TransactionRecord } from '../engine/journal.ts';
import { lookupsOf, nameOf } from '../engine/lookups.ts';
import { project } from '../engine/project.ts';
import { follows } from '../engine/store/content.ts';
import type { LookupRow } from '../engine/store/lookups.ts';
import type { GivenLookup, Rebuilt } from '../engine/store/restoration.ts';
import { textOf } from '../errors.ts';
import { BrokenJournal } from './broken-journal.ts';
import type { Scratch, ScratchKey } from './scratch.ts';

const MOST_RECORDS = 5_000;
const NOT_AS_HASHED = 'is not what its hash says';

/** Where a reading of a journal stands. */
export interface Standing {
  seq: number;
  hash: string;
}

export function recordKey(account: string, id: string): ScratchKey {
  return ['record', account, id];
}

export function lookupKeyOf(account: string, { name, key }: { name: string; key: string }): ScratchKey {
  return ['lookup', account, name, key];
}

export class Reprojection {
  entries = 0;
  readonly #account: string;
  readonly #scratch: Scratch;
  #standing: Standing;
  /** The longest untouched first. */
  readonly #records = new Map<string, Rebuilt>();

  constructor(account: string, scratch: Scratch, standing: Standing) {
    this.#account = account;
    this.#scratch = scratch;
    this.#standing = standing;
  }

  get standing(): Standing {
    return this.#standing;
  }

  /**
   * Projects batches that follow those before. `others`: those that are stored otherwise than their hashes say.
   * @throws BrokenJournal
   */
  page(batches: readonly Batch[], others: readonly number[]): void {
    const touched = new Set<string>();
    const lookups = new Map<string, LookupRow>();
    for (const batch of batches) {
      this.#follow(batch);
      if (others.includes(batch.seq)) throw this.broken(batch.seq, NOT_AS_HASHED);
      for (const row of this.#project(batch, touched)) lookups.set(nameOf(row), row);
    }
    const transactions = [...touched].flatMap((id) => this.#records.get(id) ?? []);
    this.#scratch.put([
      ...transactions.map((rebuilt) => ({
        key: recordKey(this.#account, rebuilt.record.id),
        value: JSON.stringify(rebuilt),
      })),
      ...[...lookups.values()].map((row) => ({
        key: lookupKeyOf(this.#account, row),
        value: JSON.stringify(row),
      })),
    ]);
    for (const id of this.#records.keys()) if (this.#records.size > MOST_RECORDS) this.#records.delete(id);
  }

  broken(seq: number, what: string): BrokenJournal {
    return new BrokenJournal(
      `batch ${seq} of ${this.#account} ${what}: nothing of the account was rebuilt; verify tells more`,
    );
  }

  /** Nothing is made from a history that was changed. */
  #follow(batch: Batch): void {
    const { account, seq, hash } = batch;
    const before = this.#standing;
    if (seq !== before.seq + 1) throw this.broken(before.seq + 1, 'is missing');
    if (account !== this.#account || !follows(batch, before)) throw this.broken(seq, NOT_AS_HASHED);
    this.#standing = { seq, hash };
  }

  /** Gives the lookups that the batch gives. */
  #project(batch: Batch, touched: Set<string>): LookupRow[] {
    const given: LookupRow[] = [];
    try {
      for (const [position, entry] of batch.entries.entries()) {
        this.entries += 1;
        const rows = lookupsOf(entry);
        if (entry.transaction !== null) {
          const own = rows.map(({ name, key }, index) => ({
            name,
            key,
            seq: batch.seq,
            position: given.length + index,
          }));
          this.#put(entry.transaction, this.#after(entry.transaction, batch.seq, entry, position, own));
          touched.add(entry.transaction);
        }
        given.push(...rows);
      }
    } catch (error) {
      throw this.broken(batch.seq, `can't be projected (${textOf(error)})`);
    }
    return given;
  }

  #after(id: string, seq: number, entry: Entry, position: number, given: GivenLookup[]): Rebuilt {
    const before = this.#before(id);
    const record: TransactionRecord = project(before?.record ?? null, this.#account, seq, entry);
    if (before === null) return { record, position, lookups: given };
    return {
      ...before,
      record,
      lookups: given.length === 0 ? before.lookups : [...before.lookups, ...given],
    };
  }

  #before(id: string): Rebuilt | null {
    const known = this.#records.get(id);
    if (known !== undefined) return known;
    const text = this.#scratch.get(recordKey(this.#account, id));
    return text === null ? null : JSON.parse(text);
  }

  #put(id: string, rebuilt: Rebuilt): void {
    this.#records.delete(id);
    this.#records.set(id, rebuilt);
  }
}
