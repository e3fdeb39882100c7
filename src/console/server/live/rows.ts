/** Rows of the stream, made of the journal's batches; what those don't say of an account or transaction is kept in mind. */
import type { Batch, Entry } from '../../../engine/journal.ts';
import { changeOf } from '../../../engine/statement/rows.ts';
import type { StoreReads } from '../../../engine/store.ts';
import { Lately } from '../../../passing.ts';
import type { LiveRow } from '../../shapes/live.ts';
import { accountNames } from '../account/list.ts';

/** A row before it is known what its account is called and what its transaction is about; all streams share it. */
export interface Row {
  readonly entry: Omit<LiveRow, 'accountName' | 'amount'>;
  /** The whole row as JSON, once it was asked for. */
  text: string | null;
}

function rowOf({ account, seq }: Batch, entry: Entry, index: number): Row {
  const { at, message, transaction, type, from, to, refusal } = entry;
  const isRefused = refusal !== null;
  const shown = { account, seq, index, at, door: message.door, message: message.type, transaction, type };
  const state = { from, to: isRefused ? null : (to ?? from), isRefused, change: changeOf(entry) };
  return { entry: { ...shown, ...state }, text: null };
}

export function rowsOf(batch: Batch): Row[] {
  return batch.entries.map((entry, index) => rowOf(batch, entry, index));
}

/** Names may be changed. */
const NAMES_MS = 60_000;
/** So many are kept, at least. */
const NAMES = 2_500;
const AMOUNTS = 10_000;

type Look = <Result>(work: (reads: StoreReads) => Promise<Result>) => Promise<Result>;

/** What rows are told of their accounts and transactions. */
interface Told {
  names: Map<string, string>;
  /** None of null, an entry of the account itself. */
  amounts: Map<string | null, number>;
}

/** What accounts are called, and transactions are about. */
export class Known {
  readonly #look: Look;
  #names = new Lately<string>(NAMES);
  #namesSince = Number.NEGATIVE_INFINITY;
  readonly #amounts = new Lately<number>(AMOUNTS);

  constructor(look: Look) {
    this.#look = look;
  }

  /** Takes note of the transactions that a batch begins: most that comes next is about these. */
  note({ entries }: Batch): void {
    for (const { transaction, from, refusal, snapshot } of entries) {
      if (transaction === null || from !== null || refusal !== null || snapshot === null) continue;
      const { amount } = snapshot.context as { amount?: number };
      if (amount !== undefined) this.#amounts.set(transaction, amount);
    }
  }

  /** Gives rows their texts. The store is asked only for what isn't known. @throws StoreUnavailable */
  async complete(rows: readonly Row[]): Promise<void> {
    if (performance.now() - this.#namesSince > NAMES_MS) {
      this.#names = new Lately(NAMES);
      this.#namesSince = performance.now();
    }
    const bare = rows.filter(({ text }) => text === null);
    // Taken out of memory once: what is learned meanwhile may put others out of it.
    const told: Told = { names: new Map(), amounts: new Map() };
    const accounts = new Set<string>();
    const transactions = new Set<string>();
    for (const { account, transaction } of bare.map(({ entry }) => entry)) {
      const name = this.#names.get(account);
      if (name === undefined) accounts.add(account);
      else told.names.set(account, name);
      const amount = transaction === null ? undefined : this.#amounts.get(transaction);
      if (amount !== undefined) told.amounts.set(transaction, amount);
      else if (transaction !== null) transactions.add(transaction);
    }
    if (accounts.size + transactions.size > 0)
      await this.#look((reads) => this.#learn(reads, told, [...accounts], [...transactions]));
    for (const row of bare) {
      const { account, transaction } = row.entry;
      const amount = told.amounts.get(transaction) ?? null;
      const whole: LiveRow = { ...row.entry, accountName: told.names.get(account) ?? '', amount };
      row.text = JSON.stringify(whole);
    }
  }

  async #learn(
    reads: StoreReads,
    told: Told,
    accountIds: readonly string[],
    transactionIds: readonly string[],
  ): Promise<void> {
    const [names, records] = await Promise.all([
      accountNames(reads, accountIds),
      Promise.all(transactionIds.map((id) => reads.journal.transaction(id))),
    ]);
    for (const id of accountIds) {
      const name = names.get(id) ?? '';
      told.names.set(id, name);
      this.#names.set(id, name);
    }
    for (const record of records) {
      if (record === null) continue;
      const { amount } = record.snapshot.context;
      told.amounts.set(record.id, amount);
      this.#amounts.set(record.id, amount);
    }
  }
}
