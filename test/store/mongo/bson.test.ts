import fc from 'fast-check';
import { BSON } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mostBytes, toBson } from '../../../src/store/mongo/bson.ts';

const test = suite('how large a document may be');

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

test.run();
