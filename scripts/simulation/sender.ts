/** Sends webhooks to the simulation's URLs: the real queue, and attempts that take simulated time. */

import { onceATurn } from '../../src/waiting.ts';
import type { Slot } from '../../src/webhooks/sender/lanes.ts';
import { senderLimits } from '../../src/webhooks/sender/limits.ts';
import type { Send, SendResult, WebhookSender } from '../../src/webhooks/sender/port.ts';
import { OriginQueue } from '../../src/webhooks/sender/queue.ts';
import type { Receivers, Reply } from './receivers.ts';
import type { SettingsHistory } from './settings.ts';
import type { World } from './world.ts';

export interface SimulatedSenderOptions {
  world: World;
  receivers: Receivers;
  /** Holds what is sent against the settings. */
  history: SettingsHistory;
  /** Whose attempts they are: they end with it. */
  owner: string;
  /** The wall clock, ms since 1970. */
  now(): number;
}

export class SimulatedSender implements WebhookSender {
  inFlight = 0;
  readonly #options: SimulatedSenderOptions;
  readonly #queue: OriginQueue;
  readonly #listeners: ((results: SendResult[]) => void)[] = [];
  #results: SendResult[] = [];
  readonly #scheduleFlush = onceATurn(() => this.#flush());

  constructor(options: SimulatedSenderOptions) {
    this.#options = options;
    this.#queue = new OriginQueue(senderLimits({}), {
      start: (slot) => this.#start(slot),
      putOff: (token) => this.#report({ token, kind: 'putOff' }),
      release: () => {},
      clock: () => performance.now(),
    });
  }

  /** To be called about once a second. */
  sweep(): void {
    this.#queue.sweep();
  }

  send(items: Send[]): void {
    this.inFlight += items.length;
    for (const item of items) this.#queue.add(item, new URL(item.url));
  }

  onResults(listener: (results: SendResult[]) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#queue.clear();
  }

  #start(slot: Slot): void {
    const { world, receivers, history, owner, now } = this.#options;
    const at = now();
    history.judge(slot.send);
    const { reply, told } = receivers.attempt(slot.send);
    const end = (): void => {
      told();
      this.#end(slot, reply, at);
    };
    world.after(reply.afterMs, end, owner);
  }

  #end(slot: Slot, { afterMs, ...reply }: Reply, at: number): void {
    if (reply.statusCode !== null) this.#queue.answered(slot);
    this.#report({ token: slot.send.token, kind: 'attempted', at, durationMs: afterMs, ...reply });
    const failed = reply.error === 'TIMEOUT' ? 'timeout' : 'failed';
    this.#queue.ended(slot, reply.error === null ? 'complete' : failed);
  }

  #report(result: SendResult): void {
    this.#results.push(result);
    this.#scheduleFlush();
  }

  #flush(): void {
    const results = this.#results.splice(0);
    this.inFlight -= results.length;
    for (const listener of this.#listeners) listener(results);
  }
}
