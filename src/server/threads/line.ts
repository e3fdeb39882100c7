/**
 * An HTTP thread's line to the engine's.
 *
 * 1. What is said in one turn of the event loop travels together, a few calls in a message, so that the engine begins
 *    while the rest of what came is read; times of answers wait a little longer.
 * 2. A command is dropped by the engine alone: at its deadline, of which the engine's word comes, or since its caller
 *    has left, which is told to the engine; here it is at an end at once.
 * 3. What the engine still says of a call that was given up is nobody's.
 */
import type { Answered } from '../../api/app.ts';
import type { CommandOptions } from '../../api/context.ts';
import { Abandoned } from '../../engine/actors/host.ts';
import { Numbered } from '../../passing.ts';
import { onceATurn } from '../../waiting.ts';
import { pack, unpack } from './errors.ts';
import {
  type Call,
  type CommandName,
  type Commands,
  FOREIGN,
  type FromThread,
  type Observed,
  type QuestionName,
  type Questions,
  type Replies,
  type Reply,
} from './protocol.ts';

/**
 * Calls of one turn that travel in one message. One turn reads all that clients have sent: were it told at the turn's
 * end, they would travel as one, and each thread wait for the other.
 */
export const IN_A_MESSAGE = 8;
/** A caller that has left is noticed within this. */
const LEFT_AFTER_MS = 25;
const OBSERVED_EVERY_MS = 100;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  /** Null for a question. */
  options: CommandOptions | null;
}

export class Line {
  readonly #post: (message: FromThread) => void;
  readonly #verbose: boolean;
  readonly #waiting = new Numbered<Waiting>();
  readonly #schedule = onceATurn(() => this.#flush());
  #calls: Call[] = [];
  #more: FromThread = {};
  #observed = new Map<string, Observed>();
  #answered: Answered[] = [];
  #watch: NodeJS.Timeout | undefined;
  #observing: NodeJS.Timeout | undefined;

  /** `verbose`: each answer is told whole. */
  constructor(post: (message: FromThread) => void, verbose: boolean) {
    this.#post = post;
    this.#verbose = verbose;
  }

  /** @throws what the engine's thread threw */
  ask<Name extends QuestionName>(
    name: Name,
    ...args: Questions[Name]['args']
  ): Promise<Questions[Name]['result']> {
    return new Promise((resolve, reject) => {
      const n = this.#waiting.put({ resolve, reject, options: null });
      this.#say({ n, name, args } as Call);
    });
  }

  /**
   * Never resolves where the command is dropped at its deadline.
   * @throws what the engine's thread threw; Abandoned where the caller has left
   */
  send<Name extends CommandName>(
    name: Name,
    args: Commands[Name]['args'],
    options: CommandOptions,
  ): Promise<Commands[Name]['result']> {
    return new Promise((resolve, reject) => {
      if (options.abandoned()) return reject(new Abandoned());
      const n = this.#waiting.put({ resolve, reject, options });
      const { weight, deadline } = options;
      this.#say({ n, name, args, weight, deadline } as Call);
      this.#watch ??= setTimeout(() => this.#lookForLeft(), LEFT_AFTER_MS);
    });
  }

  #say(call: Call): void {
    if (FOREIGN.has(call.name)) {
      this.#more.foreign ??= [];
      this.#more.foreign.push(call);
    } else this.#calls.push(call);
    if (this.#calls.length >= IN_A_MESSAGE) this.#flush();
    else this.#schedule();
  }

  /** Tells the engine of commands whose callers have left, as long as any command waits. */
  #lookForLeft(): void {
    this.#watch = undefined;
    let waits = false;
    for (const [n, { options, reject }] of this.#waiting) {
      if (options === null) continue;
      if (!options.abandoned()) {
        waits = true;
        continue;
      }
      this.#waiting.take(n);
      reject(new Abandoned());
      this.#more.left ??= [];
      this.#more.left.push(n);
      this.#schedule();
    }
    if (waits) this.#watch = setTimeout(() => this.#lookForLeft(), LEFT_AFTER_MS);
  }

  /** Takes the engine's replies. */
  take({ replies, texts }: Replies): void {
    for (let at = 0; at < texts.length; at += 2)
      this.#waiting.take(Number(texts[at]))?.resolve(texts[at + 1]);
    for (const reply of JSON.parse(replies) as Reply[]) {
      const waiting = this.#waiting.take(reply.n);
      if (waiting === null) continue;
      if ('error' in reply) waiting.reject(unpack(reply.error));
      else if ('dropped' in reply) waiting.options?.onDropped();
      else waiting.resolve('value' in reply ? reply.value : undefined);
    }
  }

  /** A request was answered. */
  observe(answered: Answered): void {
    const { method, route, status, ms } = answered;
    const key = `${method} ${route} ${status}`;
    const observed = this.#observed.get(key);
    if (observed === undefined) this.#observed.set(key, { method, route, status, ms: [ms] });
    else observed.ms.push(ms);
    if (this.#verbose) this.#answered.push(answered);
    this.#observing ??= setTimeout(() => this.tellObserved(), OBSERVED_EVERY_MS);
  }

  /** A request failed. */
  fail(error: unknown, requestId: string, path: string): void {
    this.#more.failed ??= [];
    this.#more.failed.push({ error: pack(error), requestId, path });
    this.#schedule();
  }

  /** Says at once how long answers took. */
  tellObserved(): void {
    clearTimeout(this.#observing);
    this.#observing = undefined;
    if (this.#observed.size > 0) this.#more.observed = [...this.#observed.values()];
    if (this.#answered.length > 0) this.#more.answered = this.#answered;
    this.#observed = new Map();
    this.#answered = [];
    this.#flush();
  }

  #flush(): void {
    const message = this.#more;
    if (this.#calls.length > 0) message.calls = JSON.stringify(this.#calls);
    this.#calls = [];
    this.#more = {};
    if (Object.keys(message).length > 0) this.#post(message);
  }
}
