/**
 * Reads the response that nearly every receiver gives: HTTP/1.1, a head, and a body of a told length. What is allowed
 * and goes beyond that is `unusual`: its status counts, but where it ends isn't known here. Strict on purpose: what
 * could be read in two ways is broken (RFC 9112, 2.2, 5 and 6.3).
 */
import {
  BODY_BYTES_MAX,
  CLOSES_SOONER_MS,
  HEAD_BYTES_MAX,
  IDLE_MS,
  INFORMATIONAL_MAX,
} from './connection.ts';

const END_OF_HEAD = '\r\n\r\n';
const BEGINNING = 'HTTP/1.';
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/;
const FOLDED = /^[ \t]/;
const LENGTH = /^\d{1,15}$/;

export type Reading = 'more' | 'complete' | 'unusual' | 'broken';

/** The fields that say where a response ends, and what follows. */
interface Fields {
  length: string | null;
  isCoded: boolean;
  isFolded: boolean;
  closes: boolean;
  keepAlive: string;
  retryAfter: string | undefined;
}

/** Null where the lines aren't those of a head, or contradict each other. */
function fieldsIn(lines: readonly string[]): Fields | null {
  const fields: Fields = {
    length: null,
    isCoded: false,
    isFolded: false,
    closes: false,
    keepAlive: '',
    retryAfter: undefined,
  };
  for (const line of lines) {
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    if (name === undefined) {
      if (!FOLDED.test(line)) return null;
      fields.isFolded = true;
      continue;
    }
    switch (name.toLowerCase()) {
      case 'content-length':
        if (fields.length !== null || !LENGTH.test(value.trimEnd())) return null;
        fields.length = value;
        break;
      case 'transfer-encoding':
        fields.isCoded = true;
        break;
      case 'connection':
        fields.closes ||= /\bclose\b/i.test(value);
        break;
      case 'keep-alive':
        fields.keepAlive = value;
        break;
      case 'retry-after':
        fields.retryAfter ??= value;
        break;
    }
  }
  return fields.isCoded && fields.length !== null ? null : fields;
}

/** How long a connection may idle: as long as the receiver's word says, ms. */
function idleMs({ closes, keepAlive }: Fields): number {
  if (closes) return 0;
  const [, seconds] = /\btimeout=(\d{1,9})\b/i.exec(keepAlive) ?? [];
  return seconds === undefined
    ? IDLE_MS
    : Math.max(0, Math.min(IDLE_MS, Number(seconds) * 1000 - CLOSES_SOONER_MS));
}

export class PlainResponse {
  /** The final one, as soon as its head is there. */
  status: number | null = null;
  retryAfter: string | undefined;
  /** How long the connection may idle after it, ms; 0: it is of no more use. */
  idleMs = 0;
  #head = '';
  #informational = 0;
  /** Bytes of the body: those that are missing, and those that came. */
  #left = 0;
  #came = 0;

  /** Takes what comes next; nothing after anything but `more`. */
  take(chunk: Buffer): Reading {
    if (this.status !== null) return this.#takeBody(chunk.length);
    this.#head += chunk.toString('latin1');
    for (;;) {
      const end = this.#head.indexOf(END_OF_HEAD);
      if ((end === -1 ? this.#head.length : end) > HEAD_BYTES_MAX) return 'broken';
      if (end === -1) return BEGINNING.startsWith(this.#head.slice(0, BEGINNING.length)) ? 'more' : 'broken';
      const head = this.#head.slice(0, end);
      this.#head = this.#head.slice(end + END_OF_HEAD.length);
      const reading = this.#takeHead(head);
      if (reading !== null) return reading;
      if (this.status !== null) return this.#takeBody(this.#head.length);
    }
  }

  /** Null where it goes on: behind a 1xx with another head, else with the body. */
  #takeHead(head: string): Reading | null {
    const [first = '', ...lines] = head.split('\r\n');
    const [, minor, code] = STATUS_LINE.exec(first) ?? [];
    const fields = fieldsIn(lines);
    if (code === undefined || fields === null) return 'broken';
    const status = Number(code);
    if (status < 200) {
      this.#informational += 1;
      // Nobody asked to switch protocols.
      return status === 101 || this.#informational > INFORMATIONAL_MAX ? 'broken' : null;
    }
    this.status = status;
    this.retryAfter = fields.retryAfter;
    const isEmpty = status === 204 || status === 304;
    const isTold = isEmpty || fields.length !== null;
    if (minor === '0' || fields.isFolded || fields.isCoded || !isTold) return 'unusual';
    this.#left = isEmpty ? 0 : Number(fields.length);
    this.idleMs = idleMs(fields);
    return null;
  }

  #takeBody(bytes: number): Reading {
    this.#left -= bytes;
    this.#came += bytes;
    // Behind the end nobody asked for anything.
    if (this.#left < 0) this.idleMs = 0;
    if (this.#left <= 0) return 'complete';
    return this.#came > BODY_BYTES_MAX ? 'broken' : 'more';
  }
}
