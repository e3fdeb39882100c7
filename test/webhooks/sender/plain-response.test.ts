import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PlainResponse, type Reading } from '../../../src/webhooks/sender/wire/plain-response.ts';

const test = suite('plain responses');

interface Read {
  reading: Reading;
  status: number | null;
  retryAfter: string | undefined;
  isUnusual: boolean;
  idleMs: number;
  endsSo: boolean;
}

/** Reads it in pieces that end at these places, as far as it wants to be read. */
function read(text: string, ends: readonly number[] = []): Read {
  const response = new PlainResponse();
  const bytes = Buffer.from(text, 'latin1');
  let reading: Reading = 'more';
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    if (reading === 'more' && end > from) reading = response.take(bytes.subarray(from, end));
    from = end;
  }
  const { status, retryAfter, isUnusual, idleMs, endsSo } = response;
  return { reading, status, retryAfter, isUnusual, idleMs, endsSo };
}

/** However the network cuts it. */
function readsAlike(text: string, expected: Read): void {
  if (text.length >= 1_000) return;
  const ends = Array.from({ length: text.length }, (_, index) => index);
  for (const end of ends) assert.equal(read(text, [end]), expected, `cut at ${end}`);
  assert.equal(read(text, ends), expected, 'byte by byte');
}

const OK = 'HTTP/1.1 200 OK\r\n';
const EMPTY = 'Content-Length: 0\r\n\r\n';
const EXPRESS = [
  'HTTP/1.1 200 OK',
  'X-Powered-By: Express',
  'Content-Type: application/json; charset=utf-8',
  'Content-Length: 15',
  'ETag: W/"f-VaSQ4oDUiZblZNAEkkN+sX+q3Sg"',
  'Date: Fri, 27 Nov 2026 01:00:00 GMT',
  'Connection: keep-alive',
  'Keep-Alive: timeout=5',
  '',
  '{"status":"ok"}',
].join('\r\n');

for (const [what, text, reading, status] of [
  ['an empty body', `${OK}${EMPTY}`, 'complete', 200],
  ["a framework's answer", EXPRESS, 'complete', 200],
  ['no reason phrase', `HTTP/1.1 500\r\n${EMPTY}`, 'complete', 500],
  ['an empty reason phrase', `HTTP/1.1 503 \r\n${EMPTY}`, 'complete', 503],
  ['a reason in Latin-1', `HTTP/1.1 404 N\xe3o\r\n${EMPTY}`, 'complete', 404],
  ['names in other letters', `${OK}cOnTeNt-LeNgTh:0\r\n\r\n`, 'complete', 200],
  ['spaces around a value', `${OK}Content-Length: \t 2 \t\r\n\r\nok`, 'complete', 200],
  ['an empty value', `${OK}X-Nothing:\r\n${EMPTY}`, 'complete', 200],
  ['204 without a length', 'HTTP/1.1 204 No Content\r\n\r\n', 'complete', 204],
  [
    '304 with the length that a body would have',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
    'complete',
    304,
  ],
  [
    'hints before it',
    `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}${EMPTY}`,
    'complete',
    200,
  ],
  ['a body that has not come', `${OK}Content-Length: 3\r\n\r\nab`, 'more', 200],
  ['a head that has not ended', `${OK}Content-Length: 0\r\n`, 'more', null],
  ['nothing but hints', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'more', null],
  ['its first letters', 'HTT', 'more', null],
  ['an empty line first', `\r\n${OK}${EMPTY}`, 'complete', 200],
  ['word to go on first', `HTTP/1.1 100 Continue\r\n\r\n${OK}${EMPTY}`, 'complete', 200],
  ['many empty lines first', `${'\r\n'.repeat(8_192)}${OK}${EMPTY}`, 'complete', 200],
  ['too many empty lines', '\r\n'.repeat(8_193), 'broken', null],
  ['a line feed first', `\n${OK}${EMPTY}`, 'complete', 200],
  ['a length of zeros and more', `${OK}Content-Length: 0000000000000000002\r\n\r\nok`, 'complete', 200],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 'broken', null],
  ['one length twice', `${OK}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`, 'broken', null],
  ['a list of lengths', `${OK}Content-Length: 0, 0\r\n\r\n`, 'broken', null],
  ['a negative length', `${OK}Content-Length: -1\r\n\r\n`, 'broken', null],
  ['a length in hexadecimal', `${OK}Content-Length: 0x1\r\n\r\n`, 'broken', null],
  ['a length of twenty digits', `${OK}Content-Length: 10000000000000000000\r\n\r\n`, 'broken', null],
  ['a folded line', `${OK}X-Long: a\r\n  b\r\n${EMPTY}`, 'broken', null],
  ['a control character in a value', `${OK}A: b\x07\r\n${EMPTY}`, 'broken', null],
  ['a NUL behind many spaces', `${OK}A:${' '.repeat(16_300)}\0\r\n${EMPTY}`, 'broken', null],
  ['lines that end with line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', 'broken', null],
  ['an end of line feeds alone', `${OK}Content-Length: 0\n\n`, 'broken', null],
  ['a wrong status line without an end', 'HTTP/1.1 2 Low\r\n', 'broken', null],
  ['no digits in its length', `${OK}Content-Length: \r\n\r\n`, 'broken', null],
  ['length and chunks', `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, 'broken', null],
  ['a space before the colon', `${OK}Content-Length : 0\r\n\r\n`, 'broken', null],
  ['a line without a colon', `${OK}nonsense\r\n${EMPTY}`, 'broken', null],
  ['a name in quotes', `${OK}"a": b\r\n${EMPTY}`, 'broken', null],
  ['a bare line feed', `${OK}A: b\nContent-Length: 5\r\n${EMPTY}`, 'broken', null],
  ['a bare carriage return', `${OK}A: b\rContent-Length: 5\r\n${EMPTY}`, 'broken', null],
  ['a NUL in a value', `${OK}A: b\0\r\n${EMPTY}`, 'broken', null],
  ['a status of two digits', `HTTP/1.1 99 Low\r\n${EMPTY}`, 'broken', null],
  ['a status of four digits', `HTTP/1.1 2000 OK\r\n${EMPTY}`, 'broken', null],
  ['a status that begins with 0', `HTTP/1.1 020 OK\r\n${EMPTY}`, 'broken', null],
  ['HTTP/1.2', `HTTP/1.2 200 OK\r\n${EMPTY}`, 'broken', null],
  ['HTTP/2', `HTTP/2 200 OK\r\n${EMPTY}`, 'broken', null],
  ['another protocol', 'SSH-2.0-OpenSSH_9\r\n', 'broken', null],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', 'broken', null],
  ['17 hints', 'HTTP/1.1 103 Hint\r\n\r\n'.repeat(17), 'broken', null],
  ['a head above 16 KiB', `${OK}A: ${'x'.repeat(16_384)}\r\n${EMPTY}`, 'broken', null],
  ['a status line above 16 KiB', `HTTP/1.1 200 ${'x'.repeat(16_384)}`, 'broken', null],
  ['a body above 64 KiB', `${OK}Content-Length: 99999\r\n\r\n${'x'.repeat(65_537)}`, 'broken', 200],
  [
    'a body above 64 KiB at its end',
    `${OK}Content-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`,
    'broken',
    200,
  ],
  ['a body of 64 KiB', `${OK}Content-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`, 'complete', 200],
] as const) {
  test(`with ${what}: ${reading}`, () => {
    const whole = read(text);
    assert.is(whole.reading, reading);
    assert.is(whole.status, status);
    readsAlike(text, whole);
  });
}

const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

for (const [what, text, reading, endsSo] of [
  ['chunks', `${CHUNKED}2\r\nok\r\n0\r\n\r\n`, 'complete', false],
  ['no chunk but the last', `${CHUNKED}0\r\n\r\n`, 'complete', false],
  ['chunks that go on', `${CHUNKED}2\r\nok\r\n`, 'more', false],
  ['a size that ends with a zero', `${CHUNKED}10\r\n\r\n`, 'more', false],
  ['trailers', `${CHUNKED}0\r\nA: b\r\n\r\n`, 'more', false],
  ['another coding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'more', false],
  ['chunks above 64 KiB', `${CHUNKED}20000\r\n${'x'.repeat(65_536)}`, 'broken', false],
  ['no length', `${OK}\r\nok`, 'more', true],
  ['no length and above 64 KiB', `${OK}\r\n${'x'.repeat(65_537)}`, 'broken', true],
  ['HTTP/1.0 and a length', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'complete', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok', 'more', true],
  ['HTTP/2.0', `HTTP/2.0 200 OK\r\n${EMPTY}`, 'complete', false],
  ['HTTP/0.9', `HTTP/0.9 200 OK\r\n${EMPTY}`, 'complete', false],
] as const) {
  test(`with ${what}: unusual, and ${reading}`, () => {
    const whole = read(text);
    const expected = { reading, status: 200, retryAfter: undefined, isUnusual: true, idleMs: 0, endsSo };
    assert.equal(whole, expected);
    readsAlike(text, expected);
  });
}

test('what ends early does not end so', () => {
  for (const text of ['', OK, `${OK}Content-Length: 3\r\n\r\nab`, `${CHUNKED}2\r\nok\r\n`]) {
    assert.is(read(text).endsSo, false, text);
  }
});

test('a length that is only begun is not taken for one', () => {
  const text = `${OK}Content-Length: 10\r\n\r\n`;
  for (let end = 1; end < text.length; end += 1) {
    const response = new PlainResponse();
    assert.is(response.take(Buffer.from(text.slice(0, end))), 'more', text.slice(0, end));
    assert.is(response.status, null);
  }
});

test('says how long a connection may idle', () => {
  for (const [fields, idleMs] of [
    ['', 4_000],
    ['Connection: keep-alive\r\n', 4_000],
    ['Connection: close\r\n', 0],
    ['Connection: Upgrade, CLOSE\r\n', 0],
    ['Keep-Alive: timeout=5\r\n', 3_000],
    ['Keep-Alive: timeout=60, max=100\r\n', 4_000],
    ['Keep-Alive: max=100, timeout=3\r\n', 1_000],
    ['Keep-Alive: timeout=2\r\n', 0],
    ['Keep-Alive: timeout=0\r\n', 0],
    ['Connection: close\r\nKeep-Alive: timeout=60\r\n', 0],
    ['Keep-Alive: soon\r\n', 4_000],
  ] as const) {
    assert.is(read(`${OK}${fields}${EMPTY}`).idleMs, idleMs, fields);
  }
});

test('a connection is of no more use where more comes than was told', () => {
  assert.is(read(`${OK}${EMPTY}${OK}${EMPTY}`).reading, 'complete');
  assert.is(read(`${OK}${EMPTY}${OK}${EMPTY}`).idleMs, 0);
  assert.is(read('HTTP/1.1 204 No Content\r\n\r\nbody').idleMs, 0);
  assert.is(read('HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n').idleMs, 0);
  assert.is(read('HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n').idleMs, 0);
  assert.is(read('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n').idleMs, 4_000);
  assert.is(read(`${OK}Content-Length: 1\r\n\r\nab`, [OK.length + 24]).idleMs, 0);
});

test('gives Retry-After as it stands, the first one', () => {
  assert.is(read(`HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nRetry-After: 9\r\n${EMPTY}`).retryAfter, '120');
  assert.is(
    read(`HTTP/1.1 103 Hint\r\nRetry-After: 9\r\n\r\nHTTP/1.1 429 Slow\r\n${EMPTY}`).retryAfter,
    undefined,
  );
});

test.run();
