/** A stored record beside a replayed one: the same whatever the order of its parts, and what may still come of the other. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StoredRecord } from '../../src/audit/screening/stored-record.ts';
import type { TransactionRecord } from '../../src/engine/journal.ts';

const s = suite('stored record');

function recordOf(parts: Partial<TransactionRecord>): TransactionRecord {
  const record = { id: 'a', account: 'acc', seqs: [2, 5], events: 1, messages: { m: 'digest' } };
  return { ...record, ...parts } as TransactionRecord;
}

const stored = new StoredRecord(JSON.stringify(recordOf({})));

s('it is the one that reads the same, to the letter or in another order of its parts', () => {
  assert.is(stored.is(recordOf({})), true);
  const { messages, ...rest } = recordOf({});
  assert.is(stored.is({ messages, ...rest } as TransactionRecord), true);
  assert.is(stored.is(recordOf({})), true, 'also once it was read');
  for (const other of [{ events: 2 }, { account: 'other' }, { messages: {} }, { seqs: [2] }, { seqs: [5] }])
    assert.is(stored.is(recordOf(other)), false, JSON.stringify(other));
});

s('it may be what comes of one whose batches it names, and whose refusals it counts', () => {
  const refused = new StoredRecord(JSON.stringify(recordOf({ refusals: 2 })));
  for (const seqs of [[], [2], [5], [2, 5]]) assert.is(refused.isAheadOf(recordOf({ seqs })), true);
  for (const seqs of [[3], [2, 3], [2, 5, 6]]) assert.is(refused.isAheadOf(recordOf({ seqs })), false);
  assert.is(refused.isAheadOf(recordOf({ refusals: 2 })), true);
  assert.is(refused.isAheadOf(recordOf({ refusals: 3 })), false);
  assert.is(stored.isAheadOf(recordOf({ refusals: 1 })), false);
});

s('what can not be read is none of them', () => {
  const rotten = new StoredRecord(`${JSON.stringify(recordOf({})).slice(0, -1)},`);
  assert.throws(() => rotten.is(recordOf({})), SyntaxError);
  assert.throws(() => rotten.isAheadOf(recordOf({})), SyntaxError);
});

s.run();
