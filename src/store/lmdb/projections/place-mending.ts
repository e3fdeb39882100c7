/**
 * Finds out anew, from the log, where accounts' batches lie in it: of those accounts of which that is known wrongly.
 *
 * Others write meanwhile, and what they write is known rightly. What is put in place goes up to the row that was applied
 * last when it is put there, so that nothing of theirs is taken away.
 */
import { turn } from '../../../waiting.ts';
import { parseNumber } from '../log/batch-value.ts';
import type { Log } from '../log/log.ts';
import { batchIn } from '../log/rows.ts';
import type { Place, Places } from './places.ts';
import type { Projections } from './projections.ts';

/** So many are looked at before others have their turn. */
const A_TURN = 500;

/** Goes through the log, as far as it is applied, from one batch of an account to its next: a copy of one is none. */
class Walk {
  readonly #log: Log;
  readonly #projections: Projections;
  readonly #visit: (account: string, place: Place) => void;
  readonly #last = new Map<string, number>();
  #number = 0;

  constructor(log: Log, projections: Projections, visit: (account: string, place: Place) => void) {
    this.#log = log;
    this.#projections = projections;
    this.#visit = visit;
  }

  /** All that there is. */
  async run(): Promise<void> {
    while (this.#number < this.#projections.mark) {
      this.#on(Math.min(this.#number + A_TURN, this.#projections.mark));
      await turn();
    }
  }

  /** What was written since. */
  catchUp(): void {
    this.#on(this.#projections.mark);
  }

  #on(to: number): void {
    while (this.#number < to) {
      this.#number += 1;
      const batch = batchAt(this.#log, this.#number);
      if (batch === null || batch.seq <= this.last(batch.account)) continue;
      this.#last.set(batch.account, batch.seq);
      this.#visit(batch.account, { seq: batch.seq, number: this.#number });
    }
  }

  /** The number of the last batch of an account that was met; 0: none was. */
  last(account: string): number {
    return this.#last.get(account) ?? 0;
  }
}

/** Whose batch lies in a row, and its number; null where none does, or it can't be read. */
function batchAt(log: Log, number: number): { account: string; seq: number } | null {
  const row = log.bytes(number);
  const value = row === undefined ? null : batchIn(row);
  if (value === null) return null;
  try {
    return parseNumber(value);
  } catch {
    // Nothing leads to such a row: verify tells of it.
    return null;
  }
}

/** What a look at the places gives; null where they can't be read. */
function looked<Result>(look: () => Result): Result | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/**
 * Accounts of which a batch isn't found where it lies, or one is that isn't there. But not those whose next batch is known
 * to lie in a row that holds none: the log has lost it, and who forgot that would have the journal begin anew before it.
 */
async function wrongAccounts(log: Log, projections: Projections): Promise<Set<string>> {
  const { places } = projections;
  const wrong = new Set<string>();
  const walk = new Walk(log, projections, (account, { seq, number }) => {
    if (looked(() => places.of(account, seq)) !== number) wrong.add(account);
  });
  await walk.run();
  let visited = 0;
  for (let account = places.accountAfter(''); account !== null; account = places.accountAfter(account)) {
    visited += 1;
    if (visited % A_TURN === 0) await turn();
    walk.catchUp();
    const id = account;
    const end = walk.last(id);
    const next = looked(() => places.of(id, end + 1));
    if (next !== null && batchAt(log, next) === null) wrong.delete(id);
    else if (looked(() => places.last(id))?.seq !== end) wrong.add(id);
  }
  return wrong;
}

/** Puts right what is known wrongly; the accounts of which that was so. */
export async function mendPlaces(log: Log, projections: Projections): Promise<ReadonlySet<string>> {
  const wrong = await wrongAccounts(log, projections);
  if (wrong.size === 0) return wrong;
  const right = new Map<string, Place[]>([...wrong].map((account) => [account, []]));
  const walk = new Walk(log, projections, (account, place) => right.get(account)?.push(place));
  await walk.run();
  walk.catchUp();
  replaceAll(projections.places, right);
  await projections.write();
  return wrong;
}

function replaceAll(places: Places, right: ReadonlyMap<string, readonly Place[]>): void {
  for (const [account, all] of right) places.replace(account, all);
}
