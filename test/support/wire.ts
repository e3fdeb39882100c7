/** MongoDB's wire protocol as far as a proxy has to know it: where a message ends, and what answers what. */

/** Length, request id, id of what it answers, and operation: four int32. */
const HEADER_BYTES = 16;
/** The server's own limit for a message. */
const MOST_BYTES = 48_000_000;

/** Whether a request is the one that is meant; `message` is the whole of it, with its header. */
export type Predicate = (message: Buffer) => boolean;

export function requestIdOf(message: Buffer): number {
  return message.readInt32LE(4);
}

/** The id of the request that a message answers. */
export function answersTo(message: Buffer): number {
  return message.readInt32LE(8);
}

/** A BSON string element, as it lies in a command. */
function element(name: string, value: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32LE(Buffer.byteLength(value) + 1);
  return Buffer.concat([Buffer.from(`\x02${name}\0`), length, Buffer.from(`${value}\0`)]);
}

/** Requests of one command (`insert`, `update`, `find`...) on one collection. */
export function command(name: string, collection: string): Predicate {
  const bytes = element(name, collection);
  return (message) => message.includes(bytes);
}

/** Requests that have all these words in them somewhere. */
export function including(...words: readonly string[]): Predicate {
  return (message) => words.every((word) => message.includes(word));
}

/** Puts the chunks of one direction of a connection together to whole messages. */
export class MessageSplitter {
  #pending: Buffer[] = [];
  #size = 0;
  /** What the first bytes of `#pending` say that they belong to; 0 while they are too few to say. */
  #wanted = 0;

  /**
   * The messages that are whole now.
   * @throws where this is not MongoDB's protocol.
   */
  push(chunk: Buffer): Buffer[] {
    this.#pending.push(chunk);
    this.#size += chunk.length;
    const whole: Buffer[] = [];
    while (this.#size >= Math.max(this.#wanted, 4)) {
      const bytes = this.#pending.length === 1 ? (this.#pending[0] ?? chunk) : Buffer.concat(this.#pending);
      const length = bytes.readInt32LE(0);
      if (length < HEADER_BYTES || length > MOST_BYTES) throw new Error(`a message of ${length} bytes`);
      const isWhole = bytes.length >= length;
      if (isWhole) whole.push(bytes.subarray(0, length));
      const rest = isWhole ? bytes.subarray(length) : bytes;
      this.#pending = rest.length > 0 ? [rest] : [];
      this.#size = rest.length;
      this.#wanted = isWhole ? 0 : length;
    }
    return whole;
  }
}
