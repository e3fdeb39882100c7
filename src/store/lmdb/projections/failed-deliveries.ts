/**
 * Deliveries that are dead or rejected, the newest failure first: each among all, and among its account's. Only what
 * fails pays for it.
 */
import { timeOfText } from '../../../domain/time.ts';
import { type DeliveryRecord, failedAt, hasFailed } from '../../../engine/store/deliveries.ts';
import type { Log } from '../log/log.ts';
import { ALL, endOf, fitsKey, keyOf, ordered } from './keys.ts';
import { json, Overlay } from './overlay.ts';
import type { Places } from './places.ts';
import type { Records } from './records.ts';
import type { Table } from './table.ts';

/** What names a failed delivery, and what it is asked for by. */
export interface FailedRow extends Pick<DeliveryRecord, 'id' | 'account' | 'transaction' | 'status'> {
  /** Null where the journal can't tell. */
  url: string | null;
}

/** What URLs are found by. */
interface Sources {
  readonly records: Records;
  readonly places: Places;
}

const EVERYBODYS = 'all';

function listOf(account: string | null): string {
  return account === null ? EVERYBODYS : keyOf('of', account);
}

/** The part of a place that a time (ISO) gives: the newest failure is the first. */
function agoOf(at: string): string {
  return ordered(Number.MAX_SAFE_INTEGER - (timeOfText(at) || 0));
}

function placeOf(record: DeliveryRecord): string {
  return keyOf(agoOf(failedAt(record)), record.id);
}

function keysOf(record: DeliveryRecord): string[] {
  const place = placeOf(record);
  return [keyOf(listOf(null), place), keyOf(listOf(record.account), place)];
}

export class FailedDeliveries {
  readonly #rows: Overlay<FailedRow>;
  readonly #sources: Sources;
  readonly #log: Log;

  constructor(table: Table, sources: Sources, log: Log) {
    this.#rows = new Overlay({ table, coding: json<FailedRow>('the failed delivery') });
    this.#sources = sources;
    this.#log = log;
  }

  /** A delivery has come from one state (null: none) to another; without a URL the journal is asked for it. */
  moved(before: DeliveryRecord | null, after: DeliveryRecord, url = ''): void {
    if (before !== null && hasFailed(before)) for (const key of keysOf(before)) this.#rows.remove(key);
    if (!hasFailed(after)) return;
    const { id, account, transaction, status } = after;
    const row = { id, account, transaction, status, url: url === '' ? this.#urlOf(after) : url };
    for (const key of keysOf(after)) this.#rows.put(key, row);
  }

  /** Where it was to go, as the entry says that named it. */
  #urlOf({ id, account, transaction }: DeliveryRecord): string | null {
    try {
      for (const seq of this.#sources.records.get(transaction)?.seqs ?? []) {
        const url = this.#urlIn(account, seq, transaction, id);
        if (url !== null) return url;
      }
    } catch {
      // A journal that can't be read keeps nobody from knowing that the delivery has failed.
    }
    return null;
  }

  #urlIn(account: string, seq: number, transaction: string, delivery: string): string | null {
    const number = this.#sources.places.of(account, seq);
    const batch = number === null ? null : this.#log.batch(number);
    if (batch === null) return null;
    const named = batch
      .entriesOf(transaction)
      .flatMap(({ events }) => events.flatMap(({ deliveries }) => deliveries))
      .find(({ id }) => id === delivery);
    return named?.url ?? null;
  }

  /**
   * Those of an account, or of all, that failed since a time, behind a place (null: from the first), each with its place.
   */
  *behind(
    { account = null, since }: { account?: string | null; since?: string },
    after: string | null,
  ): Generator<[place: string, row: FailedRow]> {
    const list = listOf(account);
    if (!fitsKey(list) || (after !== null && !fitsKey(after))) return;
    const end = since === undefined ? endOf(list) : endOf(list, agoOf(since));
    for (const [key, row] of this.#rows.range(keyOf(list, after ?? ALL[0]), end)) {
      const place = key.slice(list.length + 1);
      if (place !== after) yield [place, row];
    }
  }

  get waiting(): number {
    return this.#rows.waiting;
  }

  issue(): void {
    this.#rows.issue();
  }

  written(): void {
    this.#rows.written();
  }
}
