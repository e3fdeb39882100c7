/** What is stored comes back as it was given: keys, texts, numbers, and the bytes that the hash covers. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Metadata } from '../../../../src/domain/transactions.ts';
import { type Batch, type Head, type TransactionRecord, ZERO_HASH } from '../../../../src/engine/journal.ts';
import { lookupKey } from '../../../../src/engine/lookups.ts';
import { contentOf, sha256 } from '../../../../src/engine/store/content.ts';
import type { DeliveryRecord } from '../../../../src/engine/store/deliveries.ts';
import type { Lookup } from '../../../../src/engine/store/lookups.ts';
import {
  adjusted,
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  grow,
  refused,
} from '../builders.ts';
import {
  type ContractContext,
  contractPart,
  first,
  lookupsOf,
  recordsOf,
  same,
  sameSet,
} from '../harness.ts';

const WIDE = '\u{1d4b3}';

/** Printable texts that stores are known to mix up, cut or refuse. */
const ODD_KEYS = [
  ...['a', 'ab', 'abc', 'A', ' a', 'a ', ' ', '  '],
  ...[
    'a:',
    'a:b',
    ':',
    '::',
    'a/b',
    '/',
    'a.b',
    '.',
    '..',
    '$',
    '$where',
    '*',
    '%',
    '%00',
    '_',
    ',',
    ';',
    '|',
  ],
  ...['"', "'", '`', '\\', '\\u0000', '\\0', '{}', '[]', '{"$gt":""}'],
  ...[
    '\u2028',
    '\u2029',
    '\u200d',
    '\u202e',
    '\ufeff',
    '\ufeffa',
    '\uffff',
    '\ue000',
    '\ud7ff',
    '\u{10ffff}',
  ],
  ...['\u00e9', 'e\u0301', '\ufb00', 'ff', 'ß', 'ss', 'İ', 'i̇', '\u212b', '\u00c5', 'A\u030a'],
  ...['0', '1', '01', '1.0', '-1', '10', '9', 'null', 'undefined', 'true', 'NaN'],
  ...['constructor', 'toString', 'hasOwnProperty', '__proto__', 'prototype', 'length'],
  ...[WIDE.repeat(255), WIDE.repeat(254), `${WIDE.repeat(254)}\u{1d4b4}`, `\u{1d4b4}${WIDE.repeat(254)}`],
  ...['"'.repeat(255), '\\'.repeat(255), '\u2028'.repeat(255), 'x'.repeat(255), 'x'.repeat(254)],
];

const ODD_METADATA: Metadata = {
  '10': 'ten',
  '9': 'nine',
  '1': true,
  '01': false,
  '-1': 'minus',
  b: 1,
  a: 2,
  constructor: 'c',
  toString: 't',
  hasOwnProperty: 'h',
  toJSON: 'j',
  toBSON: 'f',
  _bsontype: 'ObjectId',
  length: 3,
  _id: 'i',
  $set: 's',
  'a.b': 'dot',
  '.': 'only a dot',
  '\u00e9': 'composed',
  'e\u0301': 'decomposed',
  '\u2028': '\u2029',
  '"': '\\',
  [WIDE.repeat(40)]: WIDE.repeat(500),
  empty: '',
  zero: 0,
  tiny: 5e-324,
  huge: 1.7976931348623157e308,
  third: 0.1 + 0.2,
  int32: 2_147_483_648,
  safe: Number.MAX_SAFE_INTEGER,
  beyond: 2 ** 60,
  exponent: 1e21,
  negative: -123.456,
  date: '2026-01-05T12:00:00.000Z',
};

/** The chain holds and every hash is the one of the bytes that came back. */
function sound(batches: readonly Batch[]): void {
  let previous = ZERO_HASH;
  for (const batch of batches) {
    assert.is(batch.previous, previous);
    assert.is(sha256(contentOf(batch)), batch.hash, `the hash of batch ${batch.seq}`);
    previous = batch.hash;
  }
}

/**
 * Records, heads and deliveries are handed out as the store has them, to any number of readers: whoever wrote to one
 * would not compile, to no depth. Nobody calls this; the compiler says where a line of it is no mistake any more.
 */
export function readers(record: TransactionRecord, head: Head, delivery: DeliveryRecord): void {
  const { snapshot, seqs, timers } = record;
  const { attempts } = delivery;
  // @ts-expect-error A record's parts stay as they are.
  record.messages = {};
  // @ts-expect-error Nor are members added.
  record.messages.other = '';
  // @ts-expect-error Nor elements.
  seqs.push(99);
  // @ts-expect-error Timers have times of their own.
  for (const timer of timers) timer.at = '';
  // @ts-expect-error The context is the statechart's.
  snapshot.context.amount = 1;
  // @ts-expect-error To its depth.
  snapshot.context.metadata.other = 1;
  // @ts-expect-error To its depth.
  snapshot.context.fee.totalFee = 0;
  // @ts-expect-error An account's next batch builds on it.
  head.balances.available = 4;
  // @ts-expect-error What an attempt came to.
  for (const attempt of attempts) attempt.error = null;
  // @ts-expect-error Nor are attempts added.
  attempts.pop();
}

/** Changes a value, where a store hasn't made it one that can't be changed. */
function attempt(change: () => void): void {
  try {
    change();
  } catch (error) {
    assert.instance(error, TypeError);
  }
}

export function bytesContract(context: ContractContext): void {
  contractPart(context, 'journal: bytes', (test) => {
    test('odd, long and similar keys each find their own', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charges = ODD_KEYS.map((key) => chargeCreated(now(), { externalRef: key }));
      const cashouts = ODD_KEYS.map((key) => cashoutCreated(now(), { idempotencyKey: key }));
      await grow(store, account, [adjusted(now(), 10_000_000), ...charges]);
      const { append } = await grow(store, account, cashouts);
      const lookups = ODD_KEYS.map(lookupKey).flatMap((key): Lookup[] => [
        { name: 'externalRef', key },
        { name: 'idempotencyKey', key },
        { name: 'reference', key },
        { name: 'payment', key },
      ]);
      const expected = ODD_KEYS.flatMap((_, i) => [
        charges[i]?.transaction,
        cashouts[i]?.transaction,
        null,
        null,
      ]);
      const found = await store.journal.read(account, { transactions: [], lookups });
      for (const [index, lookup] of lookups.entries()) {
        assert.is(
          found.lookups[index],
          expected[index],
          `${lookup.name} ${JSON.stringify(lookup.key).slice(0, 40)}`,
        );
      }
      const absent = [WIDE.repeat(253), 'x'.repeat(253), 'E\u0301', '', '\u00e9 '].map(
        (key): Lookup => ({ name: 'externalRef', key: lookupKey(key) }),
      );
      const none = await store.journal.read(account, { transactions: [], lookups: absent });
      same(
        none.lookups,
        absent.map(() => null),
      );
      const rows = (await lookupsOf(store, account)).filter(({ name }) => name === 'idempotencyKey');
      sameSet(rows, append.lookups);
    });

    test('odd message ids are kept and found', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      // A record keeps them as names of members, where `__proto__` would be no name.
      const ids = ODD_KEYS.filter((id) => id !== '__proto__');
      const charges = ids.map(() => chargeCreated(now()));
      const created = await grow(store, account, charges);
      const entries = ids.flatMap((id, index) => {
        const transaction = charges[index]?.transaction ?? '';
        return [
          adjusted(now(), 1, id),
          chargePaid(now(), transaction, `E${index}`, id),
          refused(now(), transaction, 'paid', id),
        ];
      });
      const { append } = await grow(store, account, entries, { known: created.append.records });
      sameSet(await recordsOf(store, account), append.records);
      sameSet(await lookupsOf(store, account), append.lookups);
      const keys = append.lookups.map(({ name, key }) => ({ name, key }));
      const found = await store.journal.read(account, { transactions: [], lookups: keys });
      same(
        found.lookups,
        append.lookups.map(({ value }) => value),
      );
      sound(await store.journal.batchesFrom(account, 1, 10));
    });

    test('metadata comes back as it was given', async ({ open, reopen, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const descriptions = ['\u2028"\\', '', 'x'.repeat(500), WIDE.repeat(500), '<script>\ufeff'];
      const charges = descriptions.map((description) =>
        chargeCreated(now(), { metadata: ODD_METADATA, description }),
      );
      const { append } = await grow(store, account, charges);
      const check = async (reader: typeof store): Promise<void> => {
        sameSet(await recordsOf(reader, account), append.records);
        for (const record of append.records) same(await reader.journal.transaction(record.id), record);
        const batches = await reader.journal.batchesFrom(account, 1, 10);
        same(batches, [append.batch]);
        assert.is(contentOf(first(batches)), append.content);
        sound(batches);
      };
      await check(store);
      await check(await reopen('b'));
    });

    test('metadata that a later batch writes anew comes back as it was given', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const names = Object.keys(ODD_METADATA);
      const cashouts = names.map(() => cashoutCreated(now()));
      const created = await grow(store, account, cashouts);
      const moved = names.map((name, index) =>
        cashoutMoved(now(), cashouts[index]?.transaction ?? '', 'pending', 'processing', {
          metadata: { [name]: ODD_METADATA[name], $$patch: '$$ROOT', $literal: { $add: ['$seq', 1] } },
          description: '$$REMOVE',
        }),
      );
      const { append } = await grow(store, account, moved, { known: created.append.records });
      sameSet(await recordsOf(store, account), append.records);
    });

    test('hashes can be recomputed from what comes back', async ({ open, reopen, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now(), {
        metadata: ODD_METADATA,
        urls: ['https://a.example/$x?y=z.w', 'https://b.example'],
      });
      const created = await grow(store, account, [charge]);
      await grow(store, account, [chargePaid(now(), charge.transaction, 'E1')], {
        known: created.append.records,
      });
      await grow(store, account, [
        adjusted(now(), -5),
        cashoutCreated(now(), { orders: [{ kind: 'payout' }] }),
      ]);
      const after = await reopen('b');
      const batches = await after.journal.batchesFrom(account, 1, 10);
      assert.is(batches.length, 3);
      sound(batches);
      sound(await after.journal.batches(account, [1, 2, 3]));
      assert.is((await after.journal.head(account)).hash, batches[2]?.hash);
    });

    test('what is changed after the call changes nothing in the store', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const empty = await store.journal.head(account);
      attempt(() => {
        // @ts-expect-error It is for reading alone.
        empty.balances.available = 4;
      });
      same((await store.journal.head(account)).balances, { available: 0, clearing: 0, fees: 0, bank: 0 });
      const { append } = await grow(store, account, [chargeCreated(now(), { metadata: { kept: 'yes' } })]);
      const untouched = structuredClone(append);
      // @ts-expect-error It is for reading alone.
      attempt(() => first(append.records).seqs.push(99));
      attempt(() => append.batch.entries.pop());
      const read = await store.journal.transaction(first(untouched.records).id);
      same(read, first(untouched.records));
      // @ts-expect-error It is for reading alone.
      attempt(() => read?.seqs.push(98));
      const head = await store.journal.head(account);
      attempt(() => {
        // @ts-expect-error It is for reading alone.
        head.balances.available = 5;
      });
      same(await store.journal.transaction(first(untouched.records).id), first(untouched.records));
      same(await store.journal.batchesFrom(account, 1, 1), [untouched.batch]);
      same((await store.journal.head(account)).balances, untouched.batch.balances);
    });

    test('a batch of 2,000 entries and 3.5 MB', async ({ open, reopen, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const note = 'n'.repeat(500);
      const entries = Array.from({ length: 2_000 }, (_, index) =>
        chargeCreated(now(), { externalRef: `big ${index}`, description: note, metadata: { note, index } }),
      );
      const { append } = await grow(store, account, entries);
      assert.ok(Buffer.byteLength(append.content) > 3_400_000, 'the batch is as large as it should be');
      const after = await reopen('b');
      sound(await after.journal.batchesFrom(account, 1, 1));
      sameSet(await recordsOf(after, account), append.records);
      const reads = await after.journal.read(account, {
        transactions: entries.map(({ transaction }) => transaction),
        lookups: append.lookups,
      });
      same(reads.transactions, append.records);
      same(
        reads.lookups,
        append.lookups.map(({ value }) => value),
      );
      await grow(after, account, [chargeCreated(now())]);
      assert.is((await after.journal.head(account)).seq, 2);
    });
  });
}
