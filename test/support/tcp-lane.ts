import type { Socket } from 'node:net';

/**
 * Ends a connection at once, by a reset where that can be had: Node waits with it for what is not written yet, and
 * never closes a socket that was ended before.
 */
export function cut(socket: Socket): void {
  if (socket.connecting || socket.writableEnded || socket.writableLength > 0) socket.destroy();
  else socket.resetAndDestroy();
}

type Item = { message: Buffer } | { end: 'orderly' | 'abrupt' };

/** What the lanes of a proxy have in common and its tests change. */
export interface Conditions {
  stalled: boolean;
  delayMs: number;
}

/**
 * One direction of a connection through a proxy: what came in goes out in order, each part after its delay,
 * nothing while the network stalls. The sender's end travels in the same queue, so that what it sent before
 * still arrives, even long after the sender has given up: as with a network that comes back.
 */
export class Lane {
  readonly #target: Socket;
  readonly #conditions: Conditions;
  /** Whether a message may go on. */
  readonly #admit: (message: Buffer) => boolean;
  readonly #queue: { item: Item; dueMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(target: Socket, conditions: Conditions, admit: (message: Buffer) => boolean) {
    this.#target = target;
    this.#conditions = conditions;
    this.#admit = admit;
  }

  push(item: Item): void {
    if (this.#closed) return;
    // A shorter delay must not overtake.
    const before = this.#queue.at(-1)?.dueMs ?? 0;
    this.#queue.push({ item, dueMs: Math.max(before, performance.now() + this.#conditions.delayMs) });
    this.flush();
  }

  /** Sends what is due. */
  flush(): void {
    clearTimeout(this.#timer);
    while (!this.#closed && !this.#conditions.stalled) {
      const [first] = this.#queue;
      if (first === undefined) return;
      const leftMs = first.dueMs - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.flush(), leftMs);
        return;
      }
      this.#queue.shift();
      this.#send(first.item);
    }
  }

  #send(item: Item): void {
    if ('message' in item) {
      if (this.#admit(item.message)) this.#target.write(item.message);
      return;
    }
    this.close();
    if (item.end === 'abrupt') cut(this.#target);
    else this.#target.end();
  }

  /** Drops what still waits. */
  close(): void {
    this.#closed = true;
    this.#queue.length = 0;
    clearTimeout(this.#timer);
  }
}
