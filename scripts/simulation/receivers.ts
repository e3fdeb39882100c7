/** The URLs that webhooks go to: they take, decline, fail, answer after long, or hang; and remember what they did. */
import type { Send } from '../../src/webhooks/sender/port.ts';
import type { World } from './world.ts';

/** The sender gives up after so long. */
export const TIMEOUT_MS = 10_000;

/** What comes of an attempt, and after how long, ms. */
export interface Reply {
  afterMs: number;
  statusCode: number | null;
  error: string | null;
  retryAfterMs: number | null;
}

/** An attempt as its URL saw it. The numbers count all that happened to all URLs. */
export interface Seen {
  began: number;
  /** When its sender was told of its end; null: that never happened. */
  ended: number | null;
  statusCode: number | null;
}

const NOTHING = { statusCode: null, error: null, retryAfterMs: null };

export class Receivers {
  /** By delivery id. */
  readonly seen = new Map<string, Seen[]>();
  timeouts = 0;
  /** From now on each URL that doesn't hang takes what comes. */
  isKind = false;
  readonly #world: World;
  readonly #mayHang: readonly string[];
  readonly #hanging = new Set<string>();
  #moments = 0;

  /** `mayHang`: the URLs that hang now and then. */
  constructor(world: World, mayHang: readonly string[]) {
    this.#world = world;
    this.#mayHang = mayHang;
  }

  isHanging(url: string): boolean {
    return this.#hanging.has(url);
  }

  /** One that hung answers from now on, or one hangs that answered. */
  turn(): void {
    const url = this.#world.random.pick(this.#mayHang);
    if (!this.#hanging.delete(url)) this.#hanging.add(url);
  }

  hang(url: string): void {
    this.#hanging.add(url);
  }

  letGo(): void {
    this.#hanging.clear();
  }

  /** An attempt begins; `told` is to be called once its sender knows what came of it. */
  attempt({ token, url }: Send): { reply: Reply; told: () => void } {
    const reply = this.#reply(url);
    const seen: Seen = { began: this.#moment(), ended: null, statusCode: reply.statusCode };
    const before = this.seen.get(token);
    if (before === undefined) this.seen.set(token, [seen]);
    else before.push(seen);
    const told = (): void => {
      seen.ended = this.#moment();
      if (reply.error === 'TIMEOUT') this.timeouts += 1;
    };
    return { reply, told };
  }

  #moment(): number {
    this.#moments += 1;
    return this.#moments;
  }

  #reply(url: string): Reply {
    const { random } = this.#world;
    const tooLate = { ...NOTHING, afterMs: TIMEOUT_MS, error: 'TIMEOUT' };
    if (this.isHanging(url)) return tooLate;
    if (this.isKind) return { ...NOTHING, afterMs: random.int(300), statusCode: 200 };
    const afterMs = random.perMille(50) ? random.int(1.5 * TIMEOUT_MS) : random.int(300);
    if (afterMs >= TIMEOUT_MS) return tooLate;
    const statusCode = random.pick([200, 200, 200, 204, 500, 404, 429, null]);
    if (statusCode === null) return { ...NOTHING, afterMs, error: 'ECONNRESET' };
    return { ...NOTHING, afterMs, statusCode, retryAfterMs: statusCode === 429 ? random.int(60_000) : null };
  }
}
