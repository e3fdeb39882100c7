/** Requests with bodies of all kinds, as bytes: what is said of a body, how it is framed, what is in it. */
import { gzipSync } from 'node:zlib';
import { sign } from '../support/signature.ts';

/** What a request says about its body; null: nothing. */
export interface Said {
  type: string | null;
  encoding: string | null;
}

const TYPES = [
  null,
  '',
  'foo',
  'application/json',
  'APPLICATION/JSON;',
  'application/json; charset="UTF-8"',
  'application/json; charset=latin1',
  'application/json; charset=utf-8; x=y',
  'application/json, text/plain',
  'application /json',
  'application/json/x',
  'application/vnd.api+json',
  '*/*',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
];
const ENCODINGS = ['', 'identity', 'Identity', 'gzip', 'GZIP', 'x-gzip', 'deflate', 'br', 'gzip, br', 'foo'];

/** Every type with a body as it is, every encoding of JSON, and a compressed body of another type and of none. */
export const SAID: readonly Said[] = [
  ...TYPES.map((type) => ({ type, encoding: null })),
  ...ENCODINGS.map((encoding) => ({ type: 'application/json', encoding })),
  ...[null, 'foo', 'text/plain', 'multipart/form-data; boundary=x'].map((type) => ({
    type,
    encoding: 'gzip',
  })),
];

export type Framing = 'with its length' | 'in chunks';
export const FRAMINGS: readonly Framing[] = ['with its length', 'in chunks'];

const CHUNK_BYTES = 60_000;

function chunked(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < body.length; start += CHUNK_BYTES) {
    const part = body.subarray(start, start + CHUNK_BYTES);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Bodies by name, for an endpoint that takes `good` and at most `limit` bytes; null: none at all. */
export function bodies(good: string, limit: number): ReadonlyMap<string, Buffer | null> {
  const quoted = (bytes: number[]) =>
    Buffer.concat([Buffer.from('{"amount":"'), Buffer.from(bytes), Buffer.from('"}')]);
  return new Map<string, Buffer | null>([
    ['none', null],
    ['empty', Buffer.alloc(0)],
    ['good', Buffer.from(good)],
    ['blank', Buffer.from(' \r\n')],
    ['full', Buffer.from(good.padEnd(limit))],
    ['over', Buffer.from(good.padEnd(limit + 1))],
    ['bytes', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['utf8', quoted([0xc3, 0x28])],
    ['bom', Buffer.from(`\ufeff${good}`)],
    ['deep', Buffer.from(`${'['.repeat(33)}${']'.repeat(33)}`)],
    ['cut', Buffer.from('{"amount":')],
    ['array', Buffer.from('[1]')],
    ['text', Buffer.from('"é"')],
    ['null', Buffer.from('null')],
    ['form', Buffer.from('amount=1000')],
    ['parts', Buffer.from('--x\r\nContent-Disposition: form-data; name="amount"\r\n\r\n1000\r\n--x--\r\n')],
    ['gzip', gzipSync(good)],
    // It fits as it comes, and is far beyond every limit once inflated.
    ['bomb', gzipSync(good.padEnd(4 * 1_024 * 1_024))],
  ]);
}

/** A request's bytes: its first lines, what it says of the body, and the body. */
export function requestBytes(
  first: readonly string[],
  { type, encoding }: Said,
  framing: Framing,
  body: Buffer | null,
): Buffer {
  const lines = [...first];
  if (type !== null) lines.push(`Content-Type: ${type}`);
  if (encoding !== null) lines.push(`Content-Encoding: ${encoding}`);
  if (body !== null)
    lines.push(
      framing === 'with its length' ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked',
    );
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  if (body === null) return head;
  return Buffer.concat([head, framing === 'with its length' ? body : chunked(body)]);
}

/** The lines that sign a callback. */
export function signatureLines(secret: string, body: Buffer | null): string[] {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = sign(secret, 'msg_1', timestamp, body ?? Buffer.alloc(0));
  return [`webhook-id: msg_1`, `webhook-timestamp: ${timestamp}`, `webhook-signature: ${signature}`];
}
