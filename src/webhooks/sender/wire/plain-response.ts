/**
 * Reads the response that nearly every receiver gives: HTTP/1.1, a head, and a body of a told length. What is allowed
 * and goes beyond that `isUnusual`: its status counts, and what follows is read away as far as one can tell where it
 * ends, but its connection serves no other exchange. Strict on purpose: what could be read in two ways is broken
 * (RFC 9112, 2.2, 5 and 6.3), and so is what undici would not read.
 */
import {
  BODY_BYTES_MAX,
  CLOSES_SOONER_MS,
  HEAD_BYTES_MAX,
  IDLE_MS,
  INFORMATIONAL_MAX,
} from './connection.ts';

const END_OF_HEAD = '\r\n\r\n';
const BEGINNING = 'HTTP/';
const STATUS_LINE = /^HTTP\/(0\.9|1\.[01]|2\.0) ([1-9]\d\d)(?: [^\r\n]*)?$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const BARE_LINE_FEED = /[^\r]\n/;
const LENGTH = /^\d{1,19}$/;
/** A chunked body ends so, where it has no trailers; the first line break may be the head's. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

export type Reading = 'more' | 'complete' | 'broken';

/** The fields that say where a response ends, and what follows. */
interface Fields {
  length: string | null;
  isCoded: boolean;
  closes: boolean;
  keepAlive: string;
  retryAfter: string | undefined;
}

/** Null where the lines aren't those of a head, or contradict each other. */
function fieldsIn(lines: readonly string[]): Fields | null {
  const fields: Fields = {
    length: null,
    isCoded: false,
    closes: false,
    keepAlive: '',
    retryAfter: undefined,
  };
  for (const line of lines) {
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    if (name === undefined) return null;
    switch (name.toLowerCase()) {
      case 'content-length':
        if (fields.length !== null || !LENGTH.test(value.trim())) return null;
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
        fields.retryAfter ??= value.trim();
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
  isUnusual = false;
  /** How long the connection may idle after it, ms; 0: it is of no more use. */
  idleMs = 0;
  /** What came of the head, and how much of it was looked at. */
  #head = '';
  #seen = 0;
  #skipped = 0;
  #informational = 0;
  /** Bytes of the body that are missing; null where that isn't told. */
  #left: number | null = 0;
  #came = 0;
  /** The last of what came of a chunked body; null for any other. */
  #tail: string | null = null;

  /** Takes what comes next; nothing after anything but `more`. */
  take(chunk: Buffer): Reading {
    const text = this.status === null || this.#tail !== null ? chunk.toString('latin1') : '';
    if (this.status !== null) return this.#takeBody(chunk.length, text);
    this.#head += text;
    for (;;) {
      if (!this.#skipEmptyLines()) return 'broken';
      const end = this.#head.indexOf(END_OF_HEAD, Math.max(0, this.#seen - END_OF_HEAD.length));
      if (end === -1) return this.#canBegin() ? 'more' : 'broken';
      const head = this.#head.slice(0, end);
      const rest = this.#head.slice(end + END_OF_HEAD.length);
      this.#head = rest;
      this.#seen = 0;
      if (end > HEAD_BYTES_MAX || !this.#takeHead(head)) return 'broken';
      if (this.status === null) continue;
      this.#head = '';
      return this.#takeBody(rest.length, rest);
    }
  }

  /** The connection was closed by the receiver; whether the response is whole. */
  get endsSo(): boolean {
    return this.status !== null && this.#left === null && this.#tail === null;
  }

  /** Before a head they are nothing; false where there are too many. */
  #skipEmptyLines(): boolean {
    const [empty = ''] = /^[\r\n]+/.exec(this.#head) ?? [];
    this.#head = this.#head.slice(empty.length);
    this.#skipped += empty.length;
    return this.#skipped <= HEAD_BYTES_MAX;
  }

  /** Whether what is there of a head can be the beginning of one. */
  #canBegin(): boolean {
    const head = this.#head;
    const isNew = head.slice(Math.max(0, this.#seen - 1));
    this.#seen = head.length;
    if (head.length > HEAD_BYTES_MAX || BARE_LINE_FEED.test(isNew)) return false;
    const line = head.indexOf('\r\n');
    return line === -1
      ? BEGINNING.startsWith(head.slice(0, BEGINNING.length))
      : STATUS_LINE.test(head.slice(0, line));
  }

  /** False where it is none. Behind a 1xx there comes another. */
  #takeHead(head: string): boolean {
    const [first = '', ...lines] = head.split('\r\n');
    const [, version, code] = STATUS_LINE.exec(first) ?? [];
    const fields = fieldsIn(lines);
    if (code === undefined || fields === null) return false;
    const status = Number(code);
    if (status < 200) {
      this.#informational += 1;
      // Word to go on may come unasked (RFC 9110, 15.2); what follows a switch is no HTTP.
      return status !== 101 && this.#informational <= INFORMATIONAL_MAX;
    }
    this.status = status;
    this.retryAfter = fields.retryAfter;
    const length = fields.length === null ? null : Number(fields.length);
    const isEmpty = status === 204 || status === 304;
    this.#left = isEmpty ? 0 : length;
    this.isUnusual = version !== '1.1' || fields.isCoded || this.#left === null;
    if (fields.isCoded && !isEmpty) this.#tail = '\r\n';
    // Where an empty one is told to have a body, it may come all the same.
    if (!this.isUnusual && !(isEmpty && length)) this.idleMs = idleMs(fields);
    return true;
  }

  #takeBody(bytes: number, text: string): Reading {
    this.#came += bytes;
    if (this.#came > BODY_BYTES_MAX) return 'broken';
    if (this.#tail !== null) {
      this.#tail = (this.#tail + text).slice(-LAST_CHUNK.length);
      return this.#tail === LAST_CHUNK ? 'complete' : 'more';
    }
    if (this.#left === null) return 'more';
    this.#left -= bytes;
    // Behind the end nobody asked for anything.
    if (this.#left < 0) this.idleMs = 0;
    return this.#left <= 0 ? 'complete' : 'more';
  }
}
