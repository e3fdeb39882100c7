/** The parts of GET /statement that need no server: times, windows, cursors, CSV. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { csvOf } from '../../../src/api/statement/csv.ts';
import { cursorText, parseCursor } from '../../../src/api/statement/cursor.ts';
import { FIRST, LAST, parseMoment } from '../../../src/api/statement/moments.ts';
import { parseQuery } from '../../../src/api/statement/query.ts';

const test = suite('statement/parts');

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const NONE = { from: null, to: null, limit: null, cursor: null };
const CURSOR = { from: 1, to: 2, place: { seq: 3, index: 4 } };

function shown(text: string): string | null {
  const ms = parseMoment(text);
  return ms === null ? null : new Date(ms).toISOString();
}

/** The names of the fields that are wrong; what is asked for where none is. */
function asked(query: Partial<typeof NONE> | Record<string, string>) {
  const parsed = parseQuery('one', { ...NONE, ...query }, NOW);
  return parsed.ok ? parsed.wish : parsed.details.map(({ field }) => field);
}

test('dates and times of RFC 3339', () => {
  const right: Record<string, string> = {
    '2026-02-28': '2026-02-28T00:00:00.000Z',
    '2024-02-29': '2024-02-29T00:00:00.000Z',
    '2026-02-28T23:59:59Z': '2026-02-28T23:59:59.000Z',
    '2026-02-28t23:59:59.5z': '2026-02-28T23:59:59.500Z',
    '2026-02-28T23:59:59.123000000Z': '2026-02-28T23:59:59.123Z',
    '2026-02-28T23:59:59.123000001Z': '2026-02-28T23:59:59.124Z',
    '2026-02-28T21:00:00-03:00': '2026-03-01T00:00:00.000Z',
    '0001-01-01': '0001-01-01T00:00:00.000Z',
    '0000-01-01': '0000-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
  };
  for (const [text, time] of Object.entries(right)) assert.is(shown(text), time, text);
  const wrong = [
    ...['', 'now', '20260228', '2026-2-28', '2026-02-30', '2026-13-01', '2026-02-28Z', ' 2026-02-28'],
    ...['2026-02-28T23:59Z', '2026-02-28T23:59:59', '2026-02-28T24:00:00Z', '2026-02-28T23:60:00Z'],
    ...['2026-02-28 23:59:59Z', '2026-02-28T23:59:60Z', '2026-02-28T23:59:59.Z', '2026-02-28T23:59:59+0300'],
    ...['2026-02-28T23:59:59+99:00', '1772323199000', '2026-02-28\n'],
    ...['9999-12-31T23:59:59-00:01', '9999-12-31T23:59:59.9991Z', '0000-01-01T00:00:00+00:01'],
  ];
  for (const text of wrong) assert.is(shown(text), null, JSON.stringify(text));
});

test('a window ends now, and begins a day before its end', () => {
  const day = 86_400_000;
  assert.equal(asked({}), { from: NOW - day, to: NOW, limit: 100, place: null });
  const to = Date.parse('2026-02-02');
  assert.equal(asked({ to: '2026-02-02' }), { from: to - day, to, limit: 100, place: null });
  assert.equal(asked({ from: '2026-02-02', limit: '1000' }), {
    from: to,
    to: NOW,
    limit: 1_000,
    place: null,
  });
  const first = Date.parse('0000-01-01T00:00:00.000Z');
  assert.equal(asked({ to: '0000-01-01' }), { from: first, to: first, limit: 100, place: null });
  const ahead = { from: '2027-01-01', to: '2027-01-01' };
  const there = Date.parse('2027-01-01');
  assert.equal(asked(ahead), { from: there, to: there, limit: 100, place: null });
});

test('every parameter that breaks its rule is named', () => {
  assert.equal(asked({ from: 'x', to: 'y', limit: '0', cursor: 'z' }), ['from', 'to', 'limit', 'cursor']);
  assert.equal(asked({ from: '2026-03-02' }), ['from']);
  assert.equal(asked({ from: '2026-02-02', to: '2026-02-01' }), ['from']);
  for (const limit of ['0', '1001', '-1', '1.5', '1e2', ' 1', '0x10', '99999'])
    assert.equal(asked({ limit }), ['limit'], limit);
});

test('a cursor brings its window and its place, and no other window stands beside it', () => {
  const [from, to] = [Date.parse('2026-02-01'), Date.parse('2026-02-02')];
  const place = { seq: 7, index: 1 };
  const cursor = cursorText('one', { from, to, place });
  const wish = { from, to, limit: 100, place };
  assert.equal(asked({ cursor }), wish);
  assert.equal(asked({ cursor, from: '2026-02-01', to: '2026-02-02T00:00:00Z' }), wish);
  assert.equal(asked({ cursor, limit: '5' }), { ...wish, limit: 5 });
  assert.equal(asked({ cursor, from: '2026-01-31' }), ['cursor']);
  assert.equal(asked({ cursor, to: '2026-02-03' }), ['cursor']);
  assert.equal(asked({ cursor, to: 'x' }), ['to']);
});

test("a strange cursor, or another account's, is none", () => {
  const text = cursorText('one', CURSOR);
  assert.equal(parseCursor('one', text), CURSOR);
  assert.is(parseCursor('two', text), null);
  const inner = Buffer.from(text, 'base64url').toString();
  const otherPlace = Buffer.from(inner.replace('1 2 3 4', '1 2 3 5')).toString('base64url');
  for (const strange of ['x', `${text}=`, `${text}A`, ` ${text}`, text.slice(0, -1), otherPlace, '💰'])
    assert.is(parseCursor('one', strange), null, strange);
  for (let n = 0; n < text.length; n += 1) {
    const changed = `${text.slice(0, n)}${text[n] === 'A' ? 'B' : 'A'}${text.slice(n + 1)}`;
    assert.is(parseCursor('one', changed), null, `character ${n}`);
  }
});

test('a cursor that nothing has given out is none, however well it is sealed', () => {
  const widest = { from: FIRST, to: LAST, place: { seq: 1, index: 0 } };
  assert.equal(parseCursor('one', cursorText('one', widest)), widest);
  const wrong = [
    { ...CURSOR, place: { seq: 0, index: 0 } },
    { ...CURSOR, from: 3 },
    ...[FIRST - 1, -8_999_999_999_999_999].map((from) => ({ ...CURSOR, from })),
    ...[LAST + 1, 8_640_000_000_000_001].map((to) => ({ ...CURSOR, to })),
  ];
  for (const each of wrong)
    assert.is(parseCursor('one', cursorText('one', each)), null, JSON.stringify(each));
});

test('CSV has a header, CRLF, nothing for null, and quotes where they must be', () => {
  const header = 'at,type,transactionId,refundId,what,externalRef,amount,balance\r\n';
  assert.is(csvOf([]), header);
  const row = {
    ...({ at: '2026-03-01T12:00:00.000Z', type: 'pix-in', transactionId: 't', refundId: null } as const),
    ...{ what: 'pix-in.paid', amount: -5, balance: 0 },
  };
  const refs = [null, 'plain', 'a,b', 'say "hi"', '=1+1', ' é ', ''];
  const lines = refs.map((externalRef) => csvOf([{ ...row, externalRef }]).slice(header.length));
  const shownRefs = ['', 'plain', '"a,b"', '"say ""hi"""', '=1+1', ' é ', ''];
  assert.equal(
    lines,
    shownRefs.map((ref) => `2026-03-01T12:00:00.000Z,pix-in,t,,pix-in.paid,${ref},-5,0\r\n`),
  );
});

test.run();
