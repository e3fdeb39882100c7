/** Entries of batches that were read lately: the same as those of a batch that is read for the first time. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { batchValue, parseEntriesOf } from '../../../src/store/lmdb/log/batch-value.ts';
import { KeptBatches } from '../../../src/store/lmdb/log/kept-batches.ts';
import { MemoryState } from '../../support/memory-store/state.ts';
import { MemoryStore } from '../../support/memory-store/store.ts';
import { chargeCreated, chargePaid, grow } from '../contract/builders.ts';
import { START } from '../contract/harness.ts';

const test = suite('lmdb: batches that are kept');

function store(): MemoryStore {
  return new MemoryStore({
    state: new MemoryState(),
    incarnation: 'a',
    now: () => START,
    silentAfterMs: 10_000,
  });
}

test('whoever asks first, again or for what is not there gets the entries of that transaction', async () => {
  const charges = Array.from({ length: 5 }, () =>
    chargeCreated(START, { urls: ['https://a.example/{"},{'] }),
  );
  const [first] = charges;
  if (first === undefined) throw new Error('there are five');
  const both = [...charges, chargePaid(START, first.transaction, 'E1')];
  const { append } = await grow(store(), randomUUID(), both);
  const value = Buffer.from(batchValue(append));
  const kept = new KeptBatches();
  for (let round = 0; round < 2; round += 1)
    for (const { transaction } of charges) {
      const entries = kept.of(1, () => value)?.entriesOf(transaction);
      assert.equal(entries, parseEntriesOf(transaction, value));
      assert.is(entries?.length, transaction === first.transaction ? 2 : 1);
    }
  assert.equal(kept.of(1, () => value)?.entriesOf(randomUUID()), []);
  assert.equal(kept.of(1, () => value)?.number, { account: append.batch.account, seq: append.batch.seq });
});

test('of a short batch and of a long one the same is told, and whose it is', async () => {
  for (const count of [1, 2, 3, 12]) {
    const charges = Array.from({ length: count }, () =>
      chargeCreated(START, { description: 'é"transaction":' }),
    );
    const { append } = await grow(store(), randomUUID(), charges);
    const value = Buffer.from(batchValue(append));
    const kept = new KeptBatches().of(1, () => value);
    for (const { transaction } of charges)
      assert.equal(kept?.entriesOf(transaction), parseEntriesOf(transaction, value));
    assert.equal(kept?.number, { account: append.batch.account, seq: append.batch.seq });
    assert.is(value.length > 4_096, count === 12);
  }
  const spoilt = new KeptBatches().of(1, () =>
    Buffer.from(`${'0'.repeat(64)}{"account":"a","at":"","entries":[]}`),
  );
  assert.throws(() => spoilt?.entriesOf('t'), /the batch has no number/);
});

test('what one caller does to an entry is not seen by the next', async () => {
  const charge = chargeCreated(START);
  const { append } = await grow(store(), randomUUID(), [charge]);
  const kept = new KeptBatches();
  const read = (): Buffer => Buffer.from(batchValue(append));
  for (let round = 0; round < 3; round += 1) {
    const [entry] = kept.of(1, read)?.entriesOf(charge.transaction) ?? [];
    if (entry === undefined) throw new Error('it is there');
    assert.not.equal(entry.events, ['changed']);
    Object.assign(entry, { events: ['changed'] });
  }
});

test('so many are kept, and so many bytes: those that nobody asked for longest are read again', () => {
  const kept = new KeptBatches();
  let reads = 0;
  const ask = (number: number, bytes: number): void => {
    kept.of(number, () => {
      reads += 1;
      return Buffer.alloc(bytes);
    });
  };
  for (let number = 1; number <= 64; number += 1) ask(number, 10);
  ask(1, 10);
  assert.is(reads, 64);
  ask(65, 10);
  ask(1, 10);
  assert.is(reads, 65, 'the first was asked for again');
  ask(2, 10);
  assert.is(reads, 66, 'the second was not');
  ask(100, 3_000_000);
  ask(101, 3_000_000);
  ask(101, 3_000_000);
  assert.is(reads, 68);
  ask(100, 10);
  assert.is(reads, 69, 'both are too much together');
});

test('a row without a batch is asked for again', () => {
  const kept = new KeptBatches();
  assert.is(
    kept.of(1, () => null),
    null,
  );
  assert.ok(kept.of(1, () => Buffer.alloc(1)));
});

test.run();
