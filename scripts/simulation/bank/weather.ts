/** What goes wrong between a process and the bank, and at the bank: chosen by chance, exchange by exchange. */
import type { World } from '../world.ts';

/** An answer that is not the bank's own word on the request. */
export interface Said {
  status: number;
  body: string;
  retryAfter: string | null;
}

/** What becomes of an exchange. */
export interface Fate {
  /** No connection: the request never leaves. */
  isRefused: boolean;
  /** Until the request arrives, and until its answer is heard, ms. */
  thereMs: number;
  backMs: number;
  isDone: boolean;
  /** What it has done stays hidden from questions for so long, ms. */
  hideMs: number;
  /** What is heard: the bank's answer, somebody's, or that the connection is cut. */
  heard: 'answer' | Said | 'cut';
}

/** How often, of a thousand exchanges, each thing happens. */
const CHANCES = {
  ...{ plain: 775, refused: 15, cutBefore: 20, cutAfter: 25, failed: 20, failedButDone: 20 },
  ...{ unreadable: 15, hidden: 40, lateThere: 40, lateBack: 10, busy: 10, gateway: 10 },
};
type Chance = keyof typeof CHANCES;

const USUAL_MS = 300;
/** What is done is known to the bank's own questions a good while before a refusal would count. */
const HIDDEN_MS = 30_000;
const LATE_MS = 40_000;
const AWAY_MS = 90_000;
const HTML = '<html><body>Bad Gateway</body></html>';
const BODIES = ['', HTML, '{"title":"x"}', '{"type":"https://x/ErroInterno","title":"t","detail":"d"}', '[]'];

export class BankWeather {
  /** How often each thing went wrong. */
  readonly counts = new Map<string, number>();
  readonly #world: World;
  #isFair = false;
  #awayUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** From now on nothing goes wrong. */
  clear(): void {
    this.#isFair = true;
    this.#awayUntil = 0;
  }

  /** For up to a minute and a half nobody hears anything of the bank. */
  goAway(): void {
    this.#count('bank away');
    this.#awayUntil = this.#world.now + 1_000 + this.#world.random.int(AWAY_MS);
  }

  fate(call: string): Fate {
    const { random, now } = this.#world;
    const usual = (): number => 1 + random.int(USUAL_MS);
    const plain: Fate = {
      ...{ isRefused: false, thereMs: usual(), backMs: usual(), isDone: true, hideMs: 0, heard: 'answer' },
    };
    const isAway = now < this.#awayUntil;
    const chance = isAway ? random.pick(['refused', 'cutBefore'] as const) : this.#chance();
    if (chance === 'plain') return plain;
    this.#count(`${chance} ${call}`);
    return { ...plain, ...this.#changes(chance) };
  }

  #chance(): Chance {
    return this.#isFair ? 'plain' : this.#world.random.weighted(CHANCES);
  }

  #changes(chance: Exclude<Chance, 'plain'>): Partial<Fate> {
    const { random } = this.#world;
    const said = (status: number, body: string, retryAfter: string | null = null): Said => ({
      ...{ status, body, retryAfter },
    });
    switch (chance) {
      case 'refused':
        return { isRefused: true, isDone: false };
      case 'cutBefore':
        return { isDone: false, heard: 'cut' };
      case 'cutAfter':
        return { heard: 'cut' };
      case 'failed':
        return { isDone: false, heard: said(random.pick([500, 502, 503, 504]), random.pick(BODIES)) };
      case 'failedButDone':
        return { heard: said(random.pick([500, 502, 503, 504]), random.pick(BODIES)) };
      case 'unreadable':
        return { heard: said(200, HTML) };
      case 'hidden':
        return { hideMs: 1_000 + random.int(HIDDEN_MS), heard: random.pick(['cut', 'answer'] as const) };
      case 'lateThere':
        return { thereMs: 4_000 + random.int(LATE_MS) };
      case 'lateBack':
        return { backMs: 4_000 + random.int(LATE_MS) };
      case 'busy':
        return { isDone: false, heard: said(429, '', random.pick([null, '1', '20', '90'])) };
      case 'gateway':
        return { isDone: false, heard: said(random.pick([403, 404]), HTML) };
    }
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
