/** Of a batch of hundreds of entries nothing is parsed but what was asked for. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryList } from '../../../src/engine/history.ts';
import type { TransactionRecord } from '../../../src/engine/journal.ts';
import type { Store } from '../../../src/engine/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { chargeCreated, chargePaid, grow } from '../contract/builders.ts';
import { storeOptions, withStore } from './opened.ts';

const test = suite('a batch as it is stored');

const ENTRIES = 512;
const AT = Date.UTC(2026, 0, 5, 12);

/** So many characters of JSON were parsed meanwhile. */
async function parsed(work: () => Promise<unknown>): Promise<number> {
  const { parse } = JSON;
  let length = 0;
  JSON.parse = (text, reviver) => {
    length += text.length;
    return parse(text, reviver);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return length;
}

/** An account whose charges were created and paid in two batches; one of them. */
async function hotAccount(store: Store): Promise<{ record: TransactionRecord; bytes: number }> {
  const account = randomUUID();
  const urls = ['https://example.com/hook'];
  const charges = Array.from({ length: ENTRIES }, () => chargeCreated(AT, { urls }));
  const created = await grow(store, account, charges);
  const payments = charges.map(({ transaction }, index) => chargePaid(AT, transaction, `E${index}`));
  const paid = await grow(store, account, payments, { known: created.append.records });
  const record = paid.append.records[ENTRIES / 2];
  if (record === undefined) throw new Error('nothing was paid');
  return { record, bytes: created.append.content.length + paid.append.content.length };
}

test('a list of webhooks parses what it shows, and a head no entry', async () => {
  await withFolder(async (folder) => {
    await withStore(
      storeOptions(folder, () => AT),
      async (store) => {
        const { record, bytes } = await hotAccount(store);
        assert.ok(bytes > 500_000, `${bytes} characters in two batches`);
        const list = await parsed(async () =>
          assert.is((await deliveryList(store.journal, record)).length, 1),
        );
        assert.ok(list < 10_000, `${list} characters were parsed for a list`);
        const head = await parsed(async () => store.journal.head(record.account));
        assert.ok(head < 1_000, `${head} characters were parsed for a head`);
      },
    );
  });
});

test.run();
