import fc from 'fast-check';
import { BSON } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BATCH_BYTES } from '../../../src/engine/actors/batch-text.ts';
import { ZERO_HASH } from '../../../src/engine/journal.ts';
import { batchFrom, contentOf, sha256 } from '../../../src/engine/store/content.ts';
import { fromBson, mostBytes, toBson, toDate } from '../../../src/store/mongo/bson.ts';
import {
  batchFromDocument,
  checkSize,
  journalDocument,
  mostBytesOfBatch,
} from '../../../src/store/mongo/documents.ts';

const test = suite('what is stored as BSON');

test('no document takes more than what is said of it, and those of ours not much less', () => {
  const values = fc.dictionary(
    fc.string({ unit: 'binary' }).map((name) => name.replaceAll('\0', '')),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(values, (value) => {
      const document = toBson(value) as BSON.Document;
      assert.ok(mostBytes(document) >= BSON.calculateObjectSize(document));
    }),
    { seed: 7, numRuns: 500 },
  );
  const ours = toBson({
    account: 'acc_1',
    seq: 12,
    at: '2026-11-25T10:00:00.000Z',
    of: [{ id: 'a', n: 2 ** 40 }],
  });
  assert.ok(mostBytes(ours) < 4 * BSON.calculateObjectSize(ours as BSON.Document));
});

/** A batch of one message that has such data. */
function batchOf(data: object) {
  const at = '2026-11-25T10:00:00.000Z';
  const message = { data, digest: '', door: 'ops', id: 'a', type: 'ADJUST' } as const;
  const balances = { available: 1, bank: -1, clearing: 0, fees: 0 };
  const head = { account: 'acc_1', seq: 1, id: 'i.1', at, balances, previous: ZERO_HASH };
  const { entries } = batchFrom({ ...head, entries: [{ message }] }, '');
  const content = contentOf({ ...head, entries });
  return { batch: { ...head, entries, hash: sha256(content) }, content };
}

test('no batch takes more than its content allows for, and each comes back as it was', () => {
  const rows = Array.from({ length: 20_000 }, () => 0);
  const worst = [{ rows }, { rows: rows.map(() => []) }, { rows: rows.map(() => ({})) }, { rows: ['\0'] }];
  const expectSame = (data: object): void => {
    const { batch, content } = batchOf(data);
    const document = journalDocument('x-1', batch, content);
    assert.ok(mostBytesOfBatch(Buffer.byteLength(content)) >= BSON.calculateObjectSize(document));
    const read = BSON.deserialize(BSON.serialize(document), { promoteLongs: true });
    assert.is(contentOf(batchFromDocument(read as typeof document)), content);
  };
  worst.forEach(expectSame);
  const data = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
  fc.assert(fc.property(data, expectSame), { seed: 8, numRuns: 500 });
});

test('all that is decided has its place in a document, and what has none is named', () => {
  assert.ok(mostBytesOfBatch(BATCH_BYTES + 1_000) < 16 * 1024 * 1024);
  const check = (bytes: number): void => {
    const { batch, content } = batchOf({ text: 'x'.repeat(bytes) });
    checkSize(batch, content, Buffer.byteLength(content));
  };
  check(1_000);
  check(16 * 1024 * 1024 - 2_000);
  assert.throws(
    () => check(16 * 1024 * 1024),
    /^batch 1 of acc_1 is too large for MongoDB: 1677\d+ bytes of 16777216/,
  );
});

test('what is given stays as it was, and what needs no other form is no copy', () => {
  const plain = { name: 'x', of: [1, { deep: null }], metadata: { at: '2026-11-25T10:00:00.000Z' } };
  assert.is(toBson(plain), plain);
  const given = {
    before: 1,
    left: undefined,
    at: '2026-11-25T10:00:00.000Z',
    deep: [{ since: '2026-11-25T10:00:00.001Z' }, 2, { n: 2 ** 40 }],
  };
  const copy = structuredClone(given);
  const stored = toBson(given) as typeof given;
  assert.equal(given, copy);
  assert.equal(Object.keys(stored), ['before', 'at', 'deep']);
  assert.equal(fromBson(BSON.deserialize(BSON.serialize(stored))), JSON.parse(JSON.stringify(given)));
});

test('a time is a date where it would be written so again, whatever was asked for before', () => {
  const texts = [
    '2026-11-25T10:00:00.000Z',
    '2026-11-26T10:00:00.000Z',
    '2026-02-30T10:00:00.000Z',
    'soon',
    '',
  ];
  for (const first of texts)
    for (const second of texts)
      for (const text of [first, second, first, second]) {
        const time = new Date(text);
        const isTime = !Number.isNaN(time.getTime()) && time.toISOString() === text;
        assert.equal(toDate(text), isTime ? time : text);
      }
});

test.run();
