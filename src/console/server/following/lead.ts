/**
 * Which of the servers on one database has the lead in something: the one whose text a mark has. It says something new
 * there again and again; where nothing new is said for a while, another one takes the lead. Nobody's clock counts, each
 * sees by its own time how long nothing was new.
 *
 * For a moment two may take themselves for the one: what they do must bear that.
 */
import { atMost } from '../../../waiting.ts';

export interface LeadOptions {
  /** The mark's name. */
  name: string;
  /** Names this run of this process. */
  own: string;
  mark(name: string): Promise<string | null>;
  /** Puts a text in the place of that one; false where another one is there. */
  swapMark(name: string, before: string | null, text: string): Promise<boolean>;
  /** What the one who has the lead tells the others, plain JSON; null: nothing. */
  tell(): unknown;
  onTrouble(error: unknown): void;
}

/** What lies in the mark. */
interface Said {
  /** Who has the lead; empty: nobody. */
  by: string;
  /** Each time another one. */
  beat: number;
  told: unknown;
}

const BEAT_MS = 2_500;
/** With nothing new for so long the lead is free. */
const FREE_MS = 10_000;
/** Whoever has it and can't say so stops before. */
const HELD_MS = 8_000;
/** So long its end waits for the store. */
const CLOSE_MS = 2_000;

function parsed(text: string | null): Said | null {
  return text === null ? null : (JSON.parse(text) as Said);
}

export class Lead {
  readonly #options: LeadOptions;
  /** What lies in the mark, as far as is known, and since when. */
  #text: string | null = null;
  #newAt = performance.now();
  #saidAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LeadOptions) {
    this.#options = options;
    this.#next(0);
  }

  get isHeld(): boolean {
    return performance.now() - this.#saidAt < HELD_MS;
  }

  /** What was told last by whoever has or had the lead; null: nothing. */
  get told(): unknown {
    return parsed(this.#text)?.told ?? null;
  }

  /** Leaves the lead to others. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const left = this.#beating.then(() => (this.isHeld ? this.#say('') : false));
    // Where that can't be said, the others notice.
    await atMost(CLOSE_MS, left);
  }

  #next(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat()
        .catch(this.#options.onTrouble)
        .then(() => this.#next(BEAT_MS));
    }, afterMs);
  }

  async #beat(): Promise<void> {
    const { name, own, mark } = this.#options;
    if (this.isHeld && (await this.#say(own))) return;
    this.#saidAt = Number.NEGATIVE_INFINITY;
    const text = await mark(name);
    if (text !== this.#text) this.#newAt = performance.now();
    this.#text = text;
    const by = parsed(text)?.by ?? '';
    // Its own was said by a former thread of this process, or the answer to it got lost.
    const isFree = by === '' || by === own || performance.now() - this.#newAt >= FREE_MS;
    if (isFree) await this.#say(own);
  }

  /** Says who has the lead; false where another one was first. */
  async #say(by: string): Promise<boolean> {
    const { name, swapMark, tell } = this.#options;
    const known = parsed(this.#text);
    const told = this.isHeld ? tell() : (known?.told ?? null);
    const text = JSON.stringify({ by, beat: (known?.beat ?? 0) + 1, told } satisfies Said);
    const begun = performance.now();
    if (!(await swapMark(name, this.#text, text))) return false;
    this.#text = text;
    this.#newAt = begun;
    this.#saidAt = by === '' ? Number.NEGATIVE_INFINITY : begun;
    return true;
  }
}
