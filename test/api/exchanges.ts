/** What is sent over a connection, in the order and by the pieces in which it is sent. */

/** Bytes; ms, or how many answers, to wait for before what follows; or the end of what the client has to say. */
export type Piece = string | Uint8Array | number | { answers: number } | 'FIN';

const FOLLOWING = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
const GOOD = '{"amount":1000}';
const JSON_TYPE = 'Content-Type: application/json';
const OVER = 64 * 1_024 + 1;
/** More than the sockets on both sides hold while nobody reads. */
const HUGE = 32 * 1_024 * 1_024;

function chunk(body: string | Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`${body.length.toString(16)}\r\n`),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ]);
}

const LAST_CHUNK = '0\r\n\r\n';

/** Exchanges by name; `authorization` is the header's line of an account. */
export function exchanges(authorization: string): ReadonlyMap<string, readonly Piece[]> {
  const request = (first: string, ...lines: string[]): string =>
    `${[first, 'Host: x', ...lines].join('\r\n')}\r\n\r\n`;
  const post = (...lines: string[]): string =>
    request('POST /v1/pix-in HTTP/1.1', authorization, JSON_TYPE, ...lines);
  const length = (bytes: number | string): string => `Content-Length: ${bytes}`;
  const chunked = 'Transfer-Encoding: chunked';
  const good = post(length(GOOD.length)) + GOOD;
  const over = length(OVER);
  const overBody = 'x'.repeat(OVER);
  const accented = Buffer.from('{"amount":1000,"description":"é€😀"}');
  const each = [...accented].flatMap((byte): Piece[] => [Buffer.from([byte]), 2]);
  return new Map<string, readonly Piece[]>([
    // Checks that come before the body.
    ['too large, without credentials', [request('POST /v1/pix-in HTTP/1.1', over) + overBody, FOLLOWING]],
    [
      'too large, wrong method',
      [request('PUT /v1/pix-in HTTP/1.1', authorization, over) + overBody, FOLLOWING],
    ],
    [
      'too large, no such path',
      [request('POST /v1/nowhere HTTP/1.1', authorization, over) + overBody, FOLLOWING],
    ],
    ['too large, outside the base address', [request('POST /livez HTTP/1.1', over) + overBody, FOLLOWING]],
    [
      'a GET with a large body',
      [request('GET /v1/balance HTTP/1.1', authorization, over) + overBody, FOLLOWING],
    ],
    [
      'a GET with a good body',
      [request('GET /v1/balance HTTP/1.1', authorization, JSON_TYPE, length(GOOD.length)) + GOOD, FOLLOWING],
    ],
    ['a HEAD with a large body', [request('HEAD /v1/balance HTTP/1.1', authorization, over) + overBody]],
    // Lengths.
    ['too large by its length, and nothing of it sent', [post(length(2 ** 31 + 5)), 100, FOLLOWING]],
    ['a length beyond all numbers', [post(length('9'.repeat(30))), FOLLOWING]],
    ['a length below zero', [post(length(-1)), FOLLOWING]],
    ['a length that is no number', [post(length('abc')), FOLLOWING]],
    ['two lengths', [post(length(15), length(16)) + GOOD, FOLLOWING]],
    ['the same length twice', [post(length(15), length(15)) + GOOD, FOLLOWING]],
    ['a length and chunks', [post(length(15), chunked) + GOOD, FOLLOWING]],
    ['a length with zeros before it', [post(length('000015')) + GOOD, FOLLOWING]],
    ['a body longer than its length', [`${good}xyz`, FOLLOWING]],
    ['a body shorter than its length, then the end', [post(length(15)), '{"amount"', 'FIN']],
    ['no body of a given length, then the end', [post(length(15)), 'FIN']],
    ['too large, broken off, then the end', [post(length(OVER)), 'x', { answers: 1 }, 'FIN']],
    // Chunks.
    ['chunks broken off, then the end', [post(chunked), chunk('{"amo'), 'FIN']],
    ['chunks that are none', [post(chunked), chunk('{"amo'), 'zz\r\n', FOLLOWING]],
    ['a chunk without its end', [post(chunked), '5\r\n{"amount', FOLLOWING]],
    ['many small chunks', [post(chunked), ...[...GOOD].map(chunk), LAST_CHUNK, FOLLOWING]],
    [
      'chunks with extensions and a trailer',
      [post(chunked), `f;a=b\r\n${GOOD}\r\n0\r\nX-A: b\r\n\r\n`, FOLLOWING],
    ],
    [
      'another transfer encoding',
      [post('Transfer-Encoding: gzip, chunked'), chunk(GOOD), LAST_CHUNK, FOLLOWING],
    ],
    ['a transfer encoding without chunks', [post('Transfer-Encoding: gzip'), GOOD, FOLLOWING]],
    ['one byte too many in chunks', [post(chunked), chunk('x'.repeat(OVER)), LAST_CHUNK, FOLLOWING]],
    [
      'far too large in chunks',
      [post(chunked), ...Array.from({ length: 4 }, () => chunk('x'.repeat(OVER))), LAST_CHUNK, FOLLOWING],
    ],
    ['far too large in chunks, then the end', [post(chunked), chunk('x'.repeat(HUGE)), 'FIN']],
    // Headers that come twice.
    ['two types', [post('Content-Type: text/plain', length(15)) + GOOD, FOLLOWING]],
    [
      'two types, the other first',
      [
        request(
          'POST /v1/pix-in HTTP/1.1',
          authorization,
          'Content-Type: text/plain',
          JSON_TYPE,
          length(15),
        ) + GOOD,
        FOLLOWING,
      ],
    ],
    [
      'two encodings',
      [post('Content-Encoding: identity', 'Content-Encoding: gzip', length(15)) + GOOD, FOLLOWING],
    ],
    // Time.
    ['a byte at a time', [post(length(accented.length)), ...each, FOLLOWING]],
    ['two charges at once', [good + good, FOLLOWING]],
    ['the body long after the head', [post(length(15)), 300, GOOD, FOLLOWING]],
    // Versions and expectations.
    ['HTTP/1.0', [good.replace('HTTP/1.1', 'HTTP/1.0')]],
    [
      'HTTP/1.0, kept open',
      [good.replace('HTTP/1.1', 'HTTP/1.0').replace('Host: x', 'Connection: keep-alive'), FOLLOWING],
    ],
    ['HTTP/1.0 without a length', [post().replace('HTTP/1.1', 'HTTP/1.0'), GOOD, 'FIN']],
    ['asked to close', [post('Connection: close', length(15)) + GOOD]],
    ['asked to close, too large', [post('Connection: close', over) + overBody]],
    ['asked to upgrade', [post('Connection: Upgrade', 'Upgrade: websocket', length(15)) + GOOD, FOLLOWING]],
    ['waits to be asked for the body', [post('Expect: 100-continue', length(15)), 100, GOOD, FOLLOWING]],
    [
      'waits to be asked for a body that is too large',
      [post('Expect: 100-continue', length(OVER)), { answers: 2 }, 'FIN'],
    ],
  ]);
}
