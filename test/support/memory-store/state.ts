/**
 * What the incarnations of a memory store share. Every method is one synchronous step, so an append or a
 * settlement is seen whole or not at all.
 */
import type { Account } from '../../../src/domain/account.ts';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import { textOfTime } from '../../../src/domain/time.ts';
import { countOf, withCount } from '../../../src/engine/attention/counted.ts';
import { waitsFor } from '../../../src/engine/attention/stuck.ts';
import {
  type AttentionKind,
  type Batch,
  type Head,
  type TransactionRecord,
  ZERO_HASH,
} from '../../../src/engine/journal.ts';
import { lookupsOf, nameOf } from '../../../src/engine/lookups.ts';
import { contentOf } from '../../../src/engine/store/content.ts';
import {
  type DeliveryRecord,
  type FailedFilter,
  type FailedPage,
  fitsFailed,
  hasFailed,
} from '../../../src/engine/store/deliveries.ts';
import { allDue } from '../../../src/engine/store/due.ts';
import type { NewestPage } from '../../../src/engine/store/log.ts';
import type { Lookup, LookupPage, LookupRow, QuotedPage } from '../../../src/engine/store/lookups.ts';
import type { Restoration } from '../../../src/engine/store/restoration.ts';
import type {
  Append,
  AppendResult,
  AttentionFilter,
  AttentionItem,
  AttentionKey,
  AttentionPlace,
  ChangePlace,
  DoneBy,
  NumberedEntry,
  Reads,
  Settlement,
  Wait,
  Wants,
} from '../../../src/engine/store.ts';
import { MemoryBacklog } from './backlog.ts';
import { MemoryDue } from './due.ts';

const EMPTY_HEAD: Readonly<Head> = {
  seq: 0,
  at: '',
  balances: { available: 0, clearing: 0, fees: 0, bank: 0 },
  hash: ZERO_HASH,
};

/** The data of one store; give it to several `MemoryStore`s, and they are incarnations of one another. */
export class MemoryState {
  readonly due = new MemoryDue();
  readonly backlog = new MemoryBacklog(this.due);
  /** The last sign of life of each incarnation, ms. */
  readonly beats = new Map<string, number>();
  readonly #journals = new Map<string, Batch[]>();
  readonly #records = new Map<string, TransactionRecord>();
  readonly #lookups = new Map<string, Map<string, LookupRow>>();
  readonly #deliveries = new Map<string, DeliveryRecord>();
  /** By kind and id: a cashout that is stuck may be quarantined as well. */
  readonly #attention = new Map<string, { item: AttentionItem; done: boolean; by: DoneBy | null }>();
  readonly #accounts = new Map<string, Account>();

  head(account: string): Head {
    const last = this.#journal(account).at(-1);
    if (!last) return EMPTY_HEAD;
    const { seq, at, balances, hash } = last;
    return { seq, at, balances, hash };
  }

  read(account: string, wants: Wants): Reads {
    return {
      transactions: wants.transactions.map((id) => {
        const record = this.#records.get(id);
        return record?.account === account ? record : null;
      }),
      lookups: wants.lookups.map((lookup) => this.#lookups.get(account)?.get(nameOf(lookup))?.value ?? null),
    };
  }

  append(append: Append, incarnation: string, now: number): AppendResult {
    const { batch } = append;
    if (append.content !== contentOf(batch)) throw new Error('an append has another text than its batch');
    const source = JSON.stringify([batch.account, batch.id]);
    const journal = this.#journal(batch.account);
    if (journal[batch.seq - 1]?.id === batch.id) {
      return { outcome: 'appended', claims: this.due.heldFrom(source, incarnation) };
    }
    if (batch.seq !== journal.length + 1) return { outcome: 'stale' };
    this.#journals.set(batch.account, [...journal, batch]);
    for (const record of append.records) this.#records.set(record.id, record);
    this.#putLookups(batch.account, append.lookups);
    this.note(append.attention);
    this.withdraw(append.withdrawn);
    const { ends = [] } = append;
    return {
      outcome: 'appended',
      ...(ends.length > 0 ? { ended: ends.filter(({ token }) => this.due.end(token)) } : {}),
      claims: this.due.append(allDue(append.due), source, { incarnation, until: append.claimUntil }, now),
    };
  }

  restore({ account, upTo, transactions, lookups, gone }: Restoration): number {
    const later = this.#journal(account).filter(({ seq }) => seq > upTo);
    const changed = new Set(later.flatMap(({ entries }) => entries.map(({ transaction }) => transaction)));
    const given = new Set(later.flatMap(({ entries }) => entries.flatMap(lookupsOf)).map(nameOf));
    let count = 0;
    for (const { record } of transactions) {
      if (changed.has(record.id) || canonicalJson(this.transaction(record.id)) === canonicalJson(record))
        continue;
      this.#records.set(record.id, record);
      count += 1;
    }
    for (const row of lookups) {
      if (given.has(nameOf(row)) || this.#lookups.get(account)?.get(nameOf(row))?.value === row.value)
        continue;
      this.#putLookups(account, [row]);
      count += 1;
    }
    for (const id of gone.transactions) count += this.#records.delete(id) ? 1 : 0;
    for (const row of gone.lookups) count += this.#lookups.get(account)?.delete(nameOf(row)) ? 1 : 0;
    return count;
  }

  /** The clock was set back: due things, and signs of life that are still to come. */
  rewind(now: number): number {
    for (const [incarnation, at] of this.beats) this.beats.set(incarnation, Math.min(at, now));
    this.backlog.rewind(now);
    return this.due.rewind(now);
  }

  transaction(id: string): TransactionRecord | null {
    return this.#records.get(id) ?? null;
  }

  batches(account: string, seqs: readonly number[]): Batch[] {
    const wanted = new Set(seqs);
    return this.#journal(account).filter(({ seq }) => wanted.has(seq));
  }

  entries(account: string, transaction: string, seqs: readonly number[]): NumberedEntry[] {
    return this.batches(account, seqs).flatMap(({ seq, entries }) =>
      entries.filter((entry) => entry.transaction === transaction).map((entry) => ({ seq, entry })),
    );
  }

  refusals(transaction: string, after: number, limit: number): number[] {
    const account = this.transaction(transaction)?.account ?? '';
    return this.#journal(account)
      .filter(
        ({ seq, entries }) =>
          seq > after && entries.some((each) => each.transaction === transaction && each.refusal !== null),
      )
      .slice(0, limit)
      .map(({ seq }) => seq);
  }

  journal(account: string, from: number, limit: number): Batch[] {
    return this.#journal(account)
      .filter(({ seq }) => seq >= from)
      .slice(0, limit);
  }

  quoted(lookups: readonly Lookup[], after: string, limit: number): QuotedPage {
    const behind = [...this.#accounts.keys()].filter((id) => id > after).sort();
    const asked = behind.slice(0, limit);
    const rows = asked.flatMap((account) =>
      this.read(account, { transactions: [], lookups }).lookups.flatMap((transaction, index) => {
        const { name } = lookups[index] as Lookup;
        return transaction === null ? [] : [{ name, transaction }];
      }),
    );
    return { rows, next: behind.length > limit ? (asked.at(-1) ?? null) : null };
  }

  newest(from: string | null, limit: number): NewestPage {
    const placed = [...this.#journals.values()].flat().map((batch) => ({
      place: `${batch.at} ${batch.account} ${String(batch.seq).padStart(16, '0')}`,
      batch,
    }));
    const before = placed
      .filter(({ place }) => from === null || place <= from)
      .sort((a, b) => (a.place < b.place ? 1 : -1));
    return { batches: before.slice(0, limit), unreadable: 0, next: before[limit]?.place ?? null };
  }

  placeUntil(time: number): string {
    return `${textOfTime(time)} \uffff`;
  }

  accountIds(after: string, limit: number): string[] {
    const ids = new Set([...this.#journals.keys(), ...this.#accounts.keys()]);
    return [...ids]
      .filter((id) => id > after)
      .sort()
      .slice(0, limit);
  }

  records(after: string, limit: number): TransactionRecord[] {
    return [...this.#records.values()]
      .filter((record) => record.id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  lookups(account: string, after: string | null, limit: number): LookupPage {
    const all = [...(this.#lookups.get(account)?.values() ?? [])];
    const from = Number(after ?? 0);
    const to = from + limit;
    return { rows: all.slice(from, to), next: to < all.length ? String(to) : null };
  }

  settle(settlement: Settlement, now: number): boolean {
    const { claim, next, record, attention, counted, withdrawn, clock } = settlement;
    if (claim !== null && !this.due.end(claim.token)) return false;
    if (next) this.due.add(next, Math.max(now, clock ?? now));
    if (record) this.#deliveries.set(record.id, record);
    if (counted) this.#count(counted);
    if (withdrawn) this.withdraw([withdrawn]);
    if (attention)
      this.#attention.set(`${attention.kind}:${attention.id}`, {
        ...{ item: attention, done: false, by: null },
      });
    return true;
  }

  #count(item: AttentionItem): void {
    const known = this.#attention.get(`${item.kind}:${item.id}`);
    if (known === undefined) this.note([item]);
    else known.item = withCount(known.item, countOf(known.item) + countOf(item));
  }

  discount({ kind, id }: AttentionKey, by: number): void {
    const known = this.#attention.get(`${kind}:${id}`);
    if (known === undefined) return;
    const left = countOf(known.item) - by;
    if (left > 0) known.item = withCount(known.item, left);
    else this.withdraw([{ kind, id }]);
  }

  deliveries(transaction: string): DeliveryRecord[] {
    return [...this.#deliveries.values()].filter((record) => record.transaction === transaction);
  }

  listed(filter: AttentionFilter, after: AttentionPlace | null): AttentionItem[] {
    const { kind, account, transaction, url, since = '' } = filter;
    const place = (of: AttentionPlace): string => `${of.since} ${of.kind} ${of.id}`;
    return [...this.#attention.values()]
      .filter(({ done }) => !done)
      .map(({ item }) => item)
      .filter((item) => kind === undefined || item.kind === kind)
      .filter(({ about }) => account === undefined || about.account === account)
      .filter(({ about }) => transaction === undefined || about.transaction === transaction)
      .filter((item) => (url === undefined || item.about.url === url) && item.since >= since)
      .filter((item) => after === null || place(item) > place(after))
      .sort((a, b) => (place(a) < place(b) ? -1 : 1));
  }

  counts(): Partial<Record<AttentionKind, number>> {
    const counts: Partial<Record<AttentionKind, number>> = {};
    for (const { kind } of this.listed({}, null)) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  note(items: readonly AttentionItem[]): void {
    for (const item of items) {
      const key = `${item.kind}:${item.id}`;
      if (!this.#attention.has(key)) this.#attention.set(key, { item, done: false, by: null });
    }
  }

  dismiss(keys: readonly AttentionKey[], by: DoneBy | null = null): void {
    for (const { kind, id } of keys) {
      const known = this.#attention.get(`${kind}:${id}`);
      if (known?.done === false) Object.assign(known, { done: true, by });
    }
  }

  doneBy(id: string, kind?: AttentionKind): DoneBy | null {
    const known = [...this.#attention.values()].find(
      ({ item, done, by }) => item.id === id && (kind ?? item.kind) === item.kind && done && by,
    );
    return known?.by ?? null;
  }

  withdraw(keys: readonly AttentionKey[]): void {
    for (const { kind, id } of keys) this.#attention.delete(`${kind}:${id}`);
  }

  dismissed(ids: readonly string[]): boolean[] {
    const known = [...this.#attention.values()];
    return ids.map((id) => {
      const items = known.filter(({ item }) => item.id === id);
      return items.length > 0 && items.every(({ done }) => done);
    });
  }

  waiting(wait: Wait, after: ChangePlace | null, before: string, limit: number): TransactionRecord[] {
    const place = ({ updatedAt, id }: ChangePlace): string => `${updatedAt} ${id}`;
    return [...this.#records.values()]
      .filter((record) => waitsFor(record, wait))
      .filter((record) => record.updatedAt < before)
      .filter((record) => after === null || place(record) > place(after))
      .sort((a, b) => (place(a) < place(b) ? -1 : 1))
      .slice(0, limit);
  }

  failedDeliveries(filter: FailedFilter, after: string | null, limit: number): FailedPage {
    const found = [...this.#deliveries.values()]
      .filter((record) => hasFailed(record) && (after === null || record.id > after))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((record) => ({ record, url: this.#urlOf(record) }))
      .filter((each) => fitsFailed(each, filter));
    const page = found.slice(0, limit);
    return { found: page, next: found.length > limit ? (page.at(-1)?.record.id ?? null) : null };
  }

  #urlOf({ id, account, transaction }: DeliveryRecord): string | null {
    const seqs = this.transaction(transaction)?.seqs ?? [];
    const named = this.entries(account, transaction, seqs)
      .flatMap(({ entry }) => entry.events.flatMap(({ deliveries }) => deliveries))
      .find((delivery) => delivery.id === id);
    return named?.url ?? null;
  }

  account(id: string): Account | null {
    return this.#accounts.get(id) ?? null;
  }

  accountByClientId(clientId: string): Account | null {
    return this.accounts().find((account) => account.clientId === clientId) ?? null;
  }

  accountsAfter(after: string, limit: number): Account[] {
    const behind = this.accounts().filter(({ id }) => id > after);
    return behind.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  }

  accounts(): Account[] {
    return [...this.#accounts.values()];
  }

  readonly marks = new Map<string, string>();

  keepMark(name: string, text: string): void {
    if (!this.marks.has(name)) this.marks.set(name, text);
  }

  swapMark(name: string, before: string | null, text: string): boolean {
    if ((this.marks.get(name) ?? null) !== before) return false;
    this.marks.set(name, text);
    return true;
  }

  putAccount(account: Account): boolean {
    if (account.version !== (this.#accounts.get(account.id)?.version ?? 0) + 1) return false;
    this.#accounts.set(account.id, account);
    return true;
  }

  #journal(account: string): Batch[] {
    return this.#journals.get(account) ?? [];
  }

  #putLookups(account: string, rows: readonly LookupRow[]): void {
    const known = this.#lookups.get(account) ?? new Map<string, LookupRow>();
    for (const row of rows) known.set(nameOf(row), row);
    this.#lookups.set(account, known);
  }
}
