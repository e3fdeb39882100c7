/** The console thread's line to the engine's thread: what is wished for there, and what comes of it. */
import type { MessagePort } from 'node:worker_threads';
import { type AttentionItem, StoreUnavailable } from '../../engine/store.ts';
import { pack } from '../../server/threads/errors.ts';
import { within } from '../../waiting.ts';
import type { Acted, ActWish } from '../acts/wishes.ts';
import type {
  ConsoleLog,
  FromConsole,
  Granted,
  LogLine,
  MetricsText,
  SeenUrls,
  Tally,
  ToConsole,
  Wish,
} from '../protocol.ts';
import type { RetryRun } from '../shapes/acts.ts';

/** The engine's thread answers by then, or nobody waits for it any more. */
const PATIENCE_MS = 10_000;
/** What operators do may wait for the bank as long as that; the page waits a little longer. */
const ACT_MS = 14_000;

interface Waiting {
  resolve(granted: Granted): void;
  reject(error: Error): void;
}

export class Line {
  readonly log: ConsoleLog = {
    info: (what, text) => this.#tell('info', what, text),
    warn: (what, text) => this.#tell('warn', what, text),
    error: (what, text) => this.#tell('error', what, text),
  };
  readonly #port: Pick<MessagePort, 'postMessage'>;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;

  constructor(port: Pick<MessagePort, 'postMessage'>) {
    this.#port = port;
  }

  say(message: FromConsole): void {
    this.#port.postMessage(message);
  }

  #tell(level: LogLine['level'], { err, ...facts }: { err?: unknown }, text: string): void {
    const error = err === undefined ? null : pack(err);
    this.say({ kind: 'log', line: { level, facts, error, text } });
  }

  /** Takes an answer. */
  take(message: Exclude<ToConsole, { kind: 'drain' }>): void {
    const waiting = this.#waiting.get(message.number);
    if (message.kind === 'granted') waiting?.resolve(message.granted);
    else
      waiting?.reject(
        message.unavailable ? new StoreUnavailable(message.message) : new Error(message.message),
      );
  }

  async #ask(wish: Wish, patienceMs = PATIENCE_MS): Promise<Granted> {
    this.#number += 1;
    const number = this.#number;
    const granted = new Promise<Granted>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.say({ kind: 'wish', number, wish });
    });
    try {
      return await within(patienceMs, granted, () => new StoreUnavailable('the engine takes too long'));
    } finally {
      this.#waiting.delete(number);
    }
  }

  async metrics(): Promise<MetricsText> {
    return (await this.#ask({ what: 'metrics' })) as MetricsText;
  }

  async swapMark(name: string, before: string | null, text: string): Promise<boolean> {
    return (await this.#ask({ what: 'swapMark', name, before, text })) as boolean;
  }

  async urls(account: string | null): Promise<SeenUrls> {
    return (await this.#ask({ what: 'urls', account })) as SeenUrls;
  }

  async act(wish: ActWish): Promise<Acted> {
    return (await this.#ask({ what: 'act', wish }, ACT_MS)) as Acted;
  }

  async run(id: string): Promise<RetryRun | null> {
    return (await this.#ask({ what: 'run', id })) as RetryRun | null;
  }

  async note(item: AttentionItem): Promise<void> {
    await this.#ask({ what: 'note', item });
  }

  async tally(): Promise<Tally> {
    return (await this.#ask({ what: 'tally' })) as Tally;
  }
}
