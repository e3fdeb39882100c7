/** Refused messages: each is found, and none of them makes the record longer. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { historyOf, recordFrom, takenBy } from '../../../../src/engine/history.ts';
import type { Entry, TransactionRecord } from '../../../../src/engine/journal.ts';
import { refusalKey } from '../../../../src/engine/lookups.ts';
import type { Lookup } from '../../../../src/engine/store/lookups.ts';
import type { Store } from '../../../../src/engine/store.ts';
import { chargeCreated, chargePaid, grow, refused } from '../builders.ts';
import { type ContractContext, contractPart, same } from '../harness.ts';

/** A refused payment that is given back. */
function givenBack(at: number, id: string, messageId: string): Entry {
  const orders: Entry['orders'] = [
    { kind: 'return', endToEndId: `E${messageId}`, amount: 1, reason: 'late' },
  ];
  return { ...refused(at, id, 'paid', messageId), orders };
}

/** All pages, so many a page. */
async function pages(store: Store, id: string, limit: number): Promise<number[]> {
  const seqs: number[] = [];
  for (;;) {
    const page = await store.journal.refusals(id, seqs.at(-1) ?? 0, limit);
    assert.ok(page.length <= limit);
    if (page.length === 0) return seqs;
    seqs.push(...page);
  }
}

async function lookUps(store: Store, account: string, entries: readonly Entry[]): Promise<(string | null)[]> {
  const lookups = entries.flatMap(({ transaction, message, orders }): Lookup[] => [
    { name: 'refusal', key: refusalKey(transaction ?? '', message) },
    ...(orders.length > 0 ? [{ name: 'returned' as const, key: `E${message.id}` }] : []),
  ]);
  return (await store.journal.read(account, { transactions: [], lookups })).lookups;
}

export function refusalsContract(context: ContractContext): void {
  contractPart(context, 'journal: refusals', (test) => {
    test('batches of refused messages are listed, in pages, and are in no record', async ({
      open,
      reopen,
      now,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const [charge, other] = [chargeCreated(now()), chargeCreated(now())];
      const id = charge.transaction;
      const batches: Entry[][] = [
        [charge, other, refused(now(), id, 'waiting_payment', 'early')],
        [refused(now(), id, 'waiting_payment', 'one'), refused(now(), id, 'waiting_payment', 'two')],
        [refused(now(), other.transaction, 'waiting_payment', 'one')],
        [refused(now(), id, 'waiting_payment', 'three'), chargePaid(now(), id, 'E1')],
        [givenBack(now(), id, 'four')],
        [refused(now(), id, 'paid', 'five'), chargeCreated(now())],
      ];
      let known: readonly TransactionRecord[] = [];
      for (const entries of batches)
        known = [...known, ...(await grow(store, account, entries, { known })).append.records];
      const record = known.findLast((each) => each.id === id);
      if (record === undefined) throw new Error('the charge has no record');
      same([record.seqs, record.refusals], [[1, 4], 6]);
      const mine = batches.flat().filter(({ transaction }) => transaction === id);
      const recorded = mine.filter(({ refusal }) => refusal !== null);
      const check = async (reader: Store): Promise<void> => {
        same(await reader.journal.transaction(id), record);
        for (const limit of [1, 2, 100]) same(await pages(reader, id, limit), [1, 2, 4, 5, 6]);
        same(await pages(reader, other.transaction, 10), [3]);
        same(await pages(reader, randomUUID(), 10), []);
        same(
          (await historyOf(reader.journal, record)).map(({ entry }) => entry),
          mine,
        );
        same(await recordFrom(reader.journal, record), record);
        same(
          (await takenBy(reader.journal, record)).map(({ seq }) => seq),
          [1, 1, 4, 4],
        );
        const found = await lookUps(reader, account, recorded);
        same(
          found,
          Array.from({ length: recorded.length + 1 }, () => id),
        );
      };
      await check(store);
      await check(await reopen('b'));
    });

    test('a payment that was refused before and is given back now is listed, too', async ({ open, now }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now());
      const id = charge.transaction;
      const created = await grow(store, account, [charge]);
      const before = await grow(store, account, [refused(now(), id, 'in_analysis', 'x')], {
        known: created.append.records,
      });
      await grow(store, account, [givenBack(now(), id, 'x')], { known: before.append.records });
      same(await store.journal.refusals(id, 0, 10), [2, 3]);
    });
  });
}
