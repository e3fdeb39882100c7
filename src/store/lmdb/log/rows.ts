/**
 * The rows of the log, under one running number. A row is one account's batch, or facts: what the store is told besides
 * the journals, and no journal says. All else in the store follows from these rows.
 */
import type { Account } from '../../../domain/account.ts';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { Due } from '../../../engine/store/due.ts';
import type { AttentionItem, AttentionKey, DoneBy } from '../../../engine/store.ts';

/** An item for ops; those of former builds have neither amount nor what they are about. */
export type KeptItem = Pick<AttentionItem, 'kind' | 'id' | 'what' | 'next' | 'since'> &
  Partial<AttentionItem>;

/** What the store was told, outside the journals. */
export type Fact =
  /**
   * A delivery's progress; `url`: where one that has failed was to go, if that was at hand. `text` is the record as JSON,
   * where it was made already; it is no part of the row.
   */
  | { kind: 'delivery'; record: DeliveryRecord; url?: string; text?: string }
  /** Due from now on; `made` is the clock by which it was reckoned, ms. */
  | { kind: 'due'; due: Due; made: number }
  /** An order to the bank, due at a time (ms) under an id, was carried out. */
  | { kind: 'ended'; at: number; id: string }
  /** Unless it is known; `anew`: also where it is; `done`: off the list from its beginning. */
  | { kind: 'noted'; item: KeptItem; anew?: true; done?: true }
  /** Adds the item's count to that of the one that is known, done or not; else it is noted. */
  | { kind: 'counted'; item: KeptItem }
  /** Takes so many off an item's count; one that comes to none is forgotten. */
  | { kind: 'discounted'; key: AttentionKey; by: number }
  /** `by`: who was done with it, where that was said. */
  | { kind: 'dismissed'; key: AttentionKey; by?: DoneBy }
  | { kind: 'withdrawn'; key: AttentionKey }
  | { kind: 'account'; account: Account }
  | { kind: 'mark'; name: string; text: string };

/** A row as it is read. */
export type LogRow =
  /** `ahead`: by how many ms its account's time was ahead of the clock; `value`: the batch as `batch-value.ts` has it. */
  { kind: 'batch'; ahead: number; value: string } | { kind: 'facts'; facts: Fact[] };

/** Neither letter begins a hash. */
const FACTS = 'F';
const AHEAD = 'A';

function textOf(fact: Fact): string {
  if (fact.kind !== 'delivery' || fact.text === undefined) return JSON.stringify(fact);
  const { text, url } = fact;
  const where = url === undefined ? '' : `,"url":${JSON.stringify(url)}`;
  return `{"kind":"delivery","record":${text}${where}}`;
}

export function factsRow(facts: readonly Fact[]): string {
  return `${FACTS}[${facts.map(textOf).join(',')}]`;
}

/** `value` is the batch as `batch-value.ts` has it. */
export function batchRow(value: string, ahead: number): string {
  return ahead === 0 ? value : `${AHEAD}${ahead};${value}`;
}

/** @throws Error where the text is no row. */
export function parseRow(text: string): LogRow {
  if (text.startsWith(FACTS)) return { kind: 'facts', facts: JSON.parse(text.slice(1)) };
  if (!text.startsWith(AHEAD)) return { kind: 'batch', ahead: 0, value: text };
  const end = text.indexOf(';');
  return { kind: 'batch', ahead: Number(text.slice(1, end)), value: text.slice(end + 1) };
}

/** The batch in a row, as `batch-value.ts` has it; null where the row is none. */
export function batchText(row: string): string | null {
  if (row.startsWith(FACTS)) return null;
  return row.startsWith(AHEAD) ? row.slice(row.indexOf(';') + 1) : row;
}

/** The batch in a row's bytes; null where the row is none. */
export function batchIn(row: Buffer): Buffer | null {
  const first = String.fromCharCode(row[0] ?? 0);
  if (first === FACTS) return null;
  return first === AHEAD ? row.subarray(row.indexOf(';') + 1) : row;
}
