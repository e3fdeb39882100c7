/**
 * Owns what a replay knows of an account's lookups: the last entry that gives a key wins, and what is stored must be
 * that. What the journal gives is compared page by page, what is stored is walked over at the end.
 *
 * 1. At most `mostWaiting` keys are held between two pages: those that stand otherwise in the store, since a later
 *    entry may give them again.
 * 2. Adjustments point at no transaction, and refusals at one with many. Each is given once, so all given ones are there
 *    and no other is where there are as many; only where there are not, the journal is asked for each.
 */
import { historyOf } from '../engine/history.ts';
import type { Entry, TransactionRecord } from '../engine/journal.ts';
import { lookupKey, lookupsOf, nameOf } from '../engine/lookups.ts';
import type { LookupName, LookupRow } from '../engine/store/lookups.ts';
import { faultOf, type Stored } from './compare.ts';
import type { Open } from './open-transactions.ts';
import { batchesIn, inGroups, lookupsIn } from './pages.ts';

export interface GivenOptions extends Stored {
  mostWaiting: number;
}

interface Given {
  row: LookupRow;
  seq: number;
  /** The entry's place among those of the page. */
  position: number;
}

export function isCounted<Row extends LookupRow>(row: Row): row is Row & { name: 'adjustment' | 'refusal' } {
  return row.name === 'adjustment' || row.name === 'refusal';
}

function gives(entry: Entry, { name, key }: LookupRow): boolean {
  return lookupsOf(entry).some((row) => row.name === name && row.key === key);
}

/** Whether the transaction that a row points at gives it, in batches that count. */
export async function isGivenBy(
  { journal, account }: Pick<Stored, 'journal' | 'account'>,
  row: LookupRow,
  counts: (seq: number) => boolean,
): Promise<boolean> {
  const record = await journal.transaction(row.value);
  if (record === null || record.account !== account) return false;
  return (await historyOf(journal, record)).some(({ seq, entry }) => counts(seq) && gives(entry, row));
}

/** Whether the data of a record tell that its entries gave a lookup; where not, they may have given it all the same. */
function tells(record: TransactionRecord, { name, key }: LookupRow): boolean {
  if (record.type === 'pix-in') {
    const { externalRef, endToEndId, held } = record.snapshot.context;
    if (name === 'payment') return endToEndId === key || held?.endToEndId === key;
    return name === 'externalRef' && externalRef !== null && lookupKey(externalRef) === key;
  }
  const { idempotencyKey, reference } = record.snapshot.context;
  if (name === 'reference') return reference === key;
  return name === 'idempotencyKey' && idempotencyKey !== null && lookupKey(idempotencyKey) === key;
}

export class GivenLookups {
  readonly #options: GivenOptions;
  /** What the present page's entries give, by key and in order. */
  readonly #page = new Map<string, Given[]>();
  /** Keys whose last value so far isn't the stored one. */
  readonly #waiting = new Map<string, Given>();
  /** How many entries of the present page were noted. */
  noted = 0;
  #firstSeq = 1;
  #given = { adjustment: 0, refusal: 0 };

  constructor(options: GivenOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  startPage(firstSeq: number): void {
    this.#firstSeq = firstSeq;
    this.#page.clear();
    this.noted = 0;
  }

  note(seq: number, entry: Entry): void {
    const position = this.noted;
    this.noted += 1;
    for (const row of lookupsOf(entry)) {
      const name = nameOf(row);
      const known = this.#page.get(name);
      if (known === undefined) this.#page.set(name, [{ row, seq, position }]);
      else known.push({ row, seq, position });
      if (isCounted(row)) this.#given[row.name] += 1;
    }
  }

  /** What a lookup found before an entry of the present page; `open` is the entry's transaction as it was then. */
  async before(
    name: LookupName,
    key: string,
    position: number,
    { transaction }: Entry,
    open: Open | null,
  ): Promise<string | null> {
    const full = nameOf({ name, key });
    const known =
      this.#page.get(full)?.findLast((given) => given.position < position) ?? this.#waiting.get(full);
    if (known !== undefined) return known.row.value;
    const value = await this.#stored({ name, key });
    // An adjustment's own entry is the only one that gives it.
    if (value === null || name === 'adjustment') return null;
    const row = { name, key, value };
    const wasGiven =
      value === transaction
        ? open?.given.includes(full) === true
        : await isGivenBy(this.#options, row, (seq) => seq < this.#firstSeq);
    return wasGiven ? value : null;
  }

  async #stored({ name, key }: { name: LookupName; key: string }): Promise<string | null> {
    const { journal, account } = this.#options;
    const { lookups } = await journal.read(account, { transactions: [], lookups: [{ name, key }] });
    return lookups[0] ?? null;
  }

  /** Compares what the page gave; above the bound the oldest keys that wait are judged. The replay stands at `seq`. */
  async endPage(seq: number): Promise<void> {
    const given = [...this.#page.values()].flatMap((all) => all.at(-1) ?? []);
    await this.#guarded(async () => {
      const { mostWaiting } = this.#options;
      await inGroups(given, (some) => this.#compare(some));
      if (this.#waiting.size > mostWaiting) await this.#judge(Math.floor(0.9 * mostWaiting), seq);
    });
  }

  async #compare(given: readonly Given[]): Promise<void> {
    const { journal, account } = this.#options;
    const lookups = given.map(({ row: { name, key } }) => ({ name, key }));
    const stored = (await journal.read(account, { transactions: [], lookups })).lookups;
    for (const [index, each] of given.entries()) {
      if (stored[index] === each.row.value) this.#waiting.delete(nameOf(each.row));
      else this.#waiting.set(nameOf(each.row), each);
    }
  }

  /** Judges the keys that have waited longest, until so many are left. */
  async #judge(left: number, seq: number): Promise<void> {
    for (const [name, { row, seq: givenIn }] of this.#waiting) {
      if (this.#waiting.size <= left) return;
      this.#waiting.delete(name);
      const value = await this.#stored(row);
      if (value === row.value) continue;
      // A newer entry may give it to the transaction that has it.
      const isNewer =
        value !== null &&
        row.name !== 'adjustment' &&
        (await isGivenBy(this.#options, { ...row, value }, (own) => own > seq));
      if (isNewer) continue;
      const told = `the lookup ${name} is ${value ?? 'missing'}, the journal gives ${row.value}`;
      this.#options.report(givenIn, told);
    }
  }

  /** Judges all that waits, then walks over what is stored. */
  async end(seq: number): Promise<void> {
    await this.#guarded(async () => {
      await this.#judge(0, seq);
      const { journal, account } = this.#options;
      const counts = { adjustment: 0, refusal: 0 };
      for await (const rows of lookupsIn(journal, account)) {
        for (const row of rows) if (isCounted(row)) counts[row.name] += 1;
        await this.#walk(
          rows.filter((row) => !isCounted(row)),
          seq,
        );
      }
      if (counts.adjustment !== this.#given.adjustment) await this.#compareAdjustments(seq);
      if (counts.refusal === this.#given.refusal) return;
      for await (const rows of lookupsIn(journal, account))
        await this.#walk(
          rows.filter(({ name }) => name === 'refusal'),
          seq,
        );
    });
  }

  /** Reports stored rows that no entry gives. */
  async #walk(rows: readonly LookupRow[], seq: number): Promise<void> {
    if (rows.length === 0) return;
    const { journal, account, report } = this.#options;
    const ids = [...new Set(rows.map(({ value }) => value))];
    const { transactions } = await journal.read(account, { transactions: ids, lookups: [] });
    for (const [index, id] of ids.entries()) {
      const record = transactions[index] ?? null;
      const untold = rows.filter((row) => row.value === id && !(record !== null && tells(record, row)));
      if (untold.length === 0) continue;
      const history = record === null ? [] : await historyOf(journal, record);
      const given = new Set(history.flatMap(({ entry }) => lookupsOf(entry)).map(nameOf));
      for (const row of untold.filter((each) => !given.has(nameOf(each))))
        report(seq, `the lookup ${nameOf(row)} is ${row.value}, which no entry gives`);
    }
  }

  async #compareAdjustments(seq: number): Promise<void> {
    const { journal, account, mostWaiting } = this.#options;
    let some = new Map<string, number>();
    for await (const rows of lookupsIn(journal, account)) {
      for (const { name, key } of rows) if (name === 'adjustment') some.set(key, 0);
      if (some.size < mostWaiting) continue;
      await this.#countAdjustments(some, seq);
      some = new Map();
    }
    await this.#countAdjustments(some, seq);
  }

  /** Reads the journal for these adjustments; reports those that no entry gives, or more than one. */
  async #countAdjustments(counts: Map<string, number>, seq: number): Promise<void> {
    if (counts.size === 0) return;
    const { journal, account, report } = this.#options;
    for await (const batches of batchesIn(journal, account, 1)) {
      for (const { name, key } of batches.flatMap(({ entries }) => entries.flatMap(lookupsOf))) {
        const count = name === 'adjustment' ? counts.get(key) : undefined;
        if (count !== undefined) counts.set(key, count + 1);
      }
    }
    for (const [key, count] of counts) {
      if (count === 0) report(seq, `the lookup adjustment:${key} is there, and no entry gives it`);
      if (count > 1) report(seq, `the adjustment ${key} is applied ${count} times`);
    }
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.report(this.#firstSeq, `the lookups can't be read: ${faultOf(error)}`);
    }
  }
}
