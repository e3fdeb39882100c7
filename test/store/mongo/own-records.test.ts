import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TransactionRecord } from '../../../src/engine/journal.ts';
import { OwnRecords } from '../../../src/store/mongo/appends/own-records.ts';

const test = suite('records of the last batches of one process');

function record(id: string, account: string, ...seqs: number[]): TransactionRecord {
  return { id, account, seqs } as unknown as TransactionRecord;
}

test('a record is known as of the account’s last batch, whichever of them changed it', () => {
  const own = new OwnRecords();
  own.appended('a', 1, [record('t', 'a', 1)]);
  assert.equal(own.find('a', 1, 't')?.seqs, [1]);
  own.appended('a', 2, [record('u', 'a', 2)]);
  own.appended('b', 9, [record('v', 'b', 9)]);
  assert.equal(own.find('a', 2, 't')?.seqs, [1]);
  own.appended('a', 3, [record('t', 'a', 1, 3)]);
  assert.equal(own.find('a', 3, 't')?.seqs, [1, 3]);
});

test('as of any other batch it isn’t', () => {
  const own = new OwnRecords();
  own.appended('a', 1, [record('t', 'a', 1)]);
  assert.is(own.find('a', 2, 't'), null, 'another process may have appended it');
  own.appended('a', 2, []);
  assert.is(own.find('a', 1, 't'), null);
  assert.is(own.find('a', 2, 'x'), null);
  assert.is(own.find('b', 2, 't'), null);
});

test('what was known before another process’s batch is known no more', () => {
  const own = new OwnRecords();
  own.appended('a', 1, [record('t', 'a', 1)]);
  own.appended('a', 3, [record('u', 'a', 3)]);
  assert.is(own.find('a', 3, 't'), null);
  assert.equal(own.find('a', 3, 'u')?.seqs, [3]);
  own.appended('a', 4, []);
  assert.is(own.find('a', 4, 't'), null);
  assert.equal(own.find('a', 4, 'u')?.seqs, [3]);
});

test('what was begun before them, so that its document was read, isn’t kept: that may have been wrong', () => {
  const own = new OwnRecords();
  own.appended('a', 3, [record('t', 'a', 1, 3), record('u', 'a', 3)]);
  assert.is(own.find('a', 3, 't'), null);
  own.appended('a', 4, [record('t', 'a', 1, 3, 4), record('u', 'a', 3, 4)]);
  assert.is(own.find('a', 4, 't'), null);
  assert.equal(own.find('a', 4, 'u')?.seqs, [3, 4]);
  for (let seq = 5; seq <= 10_000; seq++) own.appended('a', seq, [record(`t${seq}`, 'a', seq)]);
  own.appended('a', 10_001, [record('u', 'a', 3, 4, 10_001)]);
  assert.is(own.find('a', 10_001, 'u'), null, 'nor what was forgotten meanwhile');
});

test('a transaction of another account isn’t the account’s', () => {
  const own = new OwnRecords();
  own.appended('a', 1, [record('t', 'a', 1)]);
  own.appended('b', 1, []);
  assert.is(own.find('b', 1, 't'), null);
});

test('no more records are held than it says: those that changed last', () => {
  const own = new OwnRecords();
  for (let seq = 1; seq <= 10_000; seq++) own.appended('a', seq, [record(`t${seq}`, 'a', seq)]);
  for (let seq = 1; seq <= 10_000 - 8_192; seq++) assert.is(own.find('a', 10_000, `t${seq}`), null);
  for (let seq = 10_001 - 4_096; seq <= 10_000; seq++)
    assert.equal(own.find('a', 10_000, `t${seq}`)?.seqs, [seq]);
});

test.run();
