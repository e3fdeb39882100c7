/**
 * One stream to one page: what it waits for, and what waits for it.
 *
 * 1. At most 200 rows wait; those that find no room push out the oldest ones, which are counted.
 * 2. Nothing is written while the socket is full, and at most four times a second.
 */
import type { ServerResponse } from 'node:http';
import type { DeliveryRecord } from '../../../engine/store/deliveries.ts';
import type { Farewell, LiveDelivery, LiveEvent } from '../../shapes/live.ts';
import type { Row } from './rows.ts';

const MOST_ROWS = 200;
/** Deliveries of one transaction of which something waits to be told. */
const MOST_DELIVERIES = 50;
const FLUSH_MS = 250;
const BEAT_MS = 15_000;
/** Whoever hasn't read for so long is gone. */
const FULL_MS = 60_000;
export interface StreamWish {
  /** Null: any. */
  account: string | null;
  transaction: string | null;
  /** A page opens another stream then. */
  longestMs: number;
}

function shown({ id, status, nextAttemptAt, attempts }: DeliveryRecord): LiveDelivery {
  return { id, status, nextAttemptAt, attempts };
}

export class Stream {
  readonly wish: StreamWish;
  readonly #response: ServerResponse;
  readonly #begunAt = performance.now();
  #rows: Row[] = [];
  #missed = 0;
  readonly #deliveries = new Map<string, LiveDelivery>();
  /** Since when the socket is full; null: it isn't. */
  #fullSince: number | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #isGreeted = false;

  constructor(wish: StreamWish, response: ServerResponse) {
    this.wish = wish;
    this.#response = response;
    response.on('drain', () => {
      this.#fullSince = null;
    });
  }

  /** Whether it has been told that it hears all from now on. */
  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  greet(): void {
    this.#isGreeted = true;
    this.#write({ event: 'hello' });
  }

  take(rows: readonly Row[]): void {
    const { account, transaction } = this.wish;
    for (const row of rows) {
      const { entry } = row;
      if (account !== null && entry.account !== account) continue;
      if (transaction !== null && entry.transaction !== transaction) continue;
      this.#rows.push(row);
    }
    const over = this.#rows.length - MOST_ROWS;
    if (over <= 0) return;
    this.#rows.splice(0, over);
    this.#missed += over;
  }

  /** Some may have been its own: all of them count. */
  miss(count: number): void {
    this.#missed += count;
  }

  takeAttempts(records: readonly DeliveryRecord[]): void {
    for (const record of records) {
      if (record.transaction !== this.wish.transaction) continue;
      this.#deliveries.delete(record.id);
      if (this.#deliveries.size < MOST_DELIVERIES) this.#deliveries.set(record.id, shown(record));
      else this.#missed += 1;
    }
  }

  /** The rows that go with the next `flush`. */
  get due(): readonly Row[] {
    return this.#isReady ? this.#rows : [];
  }

  get #isReady(): boolean {
    return this.#isGreeted && this.#fullSince === null && performance.now() - this.#writtenAt >= FLUSH_MS;
  }

  /** Writes what waits, whose rows have their texts; why it has to end, or null. */
  flush(): Farewell | 'gone' | null {
    const now = performance.now();
    if (this.#fullSince !== null) return now - this.#fullSince > FULL_MS ? 'gone' : null;
    if (now - this.#begunAt > this.wish.longestMs) return 'again';
    // It was ready too late for its rows to get their texts: they go with the next look.
    if (!this.#isReady || this.#rows.some(({ text }) => text === null)) return null;
    const texts: string[] = [];
    if (this.#rows.length + this.#missed > 0) {
      const rows = this.#rows.map(({ text }) => text).join(',');
      texts.push(`{"event":"entries","rows":[${rows}],"missed":${this.#missed}}`);
    }
    if (this.#deliveries.size > 0) {
      const event: LiveEvent = { event: 'attempts', deliveries: [...this.#deliveries.values()] };
      texts.push(JSON.stringify(event));
    }
    if (texts.length === 0 && now - this.#writtenAt >= BEAT_MS) texts.push('{"event":"beat"}');
    if (texts.length > 0) this.#send(texts);
    this.#rows = [];
    this.#missed = 0;
    this.#deliveries.clear();
    return null;
  }

  #write(event: LiveEvent): void {
    this.#send([JSON.stringify(event)]);
  }

  #send(texts: readonly string[]): void {
    this.#writtenAt = performance.now();
    const isTaken = this.#response.write(texts.map((text) => `${text}\n`).join(''));
    if (!isTaken) this.#fullSince ??= performance.now();
  }

  end(why: Farewell): void {
    // Behind what a full socket holds there is no room for a word.
    if (this.#fullSince !== null) this.cut();
    else {
      this.#write({ event: 'bye', why });
      this.#response.end();
    }
  }

  /** Ends it without a word. */
  cut(): void {
    this.#response.destroy();
  }
}
