/** What all accounts know a text by: found whatever the name, page by page. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Entry } from '../../../../src/engine/journal.ts';
import type { Lookup } from '../../../../src/engine/store/lookups.ts';
import type { Store } from '../../../../src/engine/store.ts';
import {
  cashoutCreated,
  cashoutMoved,
  chargeCreated,
  chargePaid,
  grow,
  refused,
  settings,
} from '../builders.ts';
import { type ContractContext, contractPart } from '../harness.ts';

/** A payment that is refused and goes back, by its end-to-end id. */
function givenBack(at: number, id: string, endToEndId: string): Entry {
  const order = { kind: 'return', endToEndId, amount: 10_000, reason: 'it came twice' } as const;
  return { ...refused(at, id, 'waiting_payment', randomUUID()), orders: [order] };
}

/** A transfer of which something has come back, by the return's id. */
function cameBack(at: number, id: string, returnId: string): Entry {
  const entry = cashoutMoved(at, id, 'pending', 'completed');
  return { ...entry, message: { ...entry.message, type: 'RETURN', data: { returnId, amount: 100 } } };
}

async function pages(store: Store, lookups: readonly Lookup[], limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = '', count = 0; after !== null; count++) {
    const page = await store.journal.quoted(lookups, after, limit);
    found.push(...page.rows.map(({ name, transaction }) => `${name} ${transaction}`));
    after = page.next;
    assert.ok(count < 100, 'it comes to an end');
  }
  return found.sort();
}

export function quotedContract(context: ContractContext): void {
  contractPart(context, 'journal: quoted', (test) => {
    test('a text is found in every account that knows it, under each of its names', async ({
      open,
      reopen,
      now,
    }) => {
      const store = await open('a');
      const reference = `order ${randomUUID()}`;
      const lookups: Lookup[] = [
        { name: 'externalRef', key: reference },
        { name: 'payment', key: reference },
      ];
      assert.equal(await pages(store, lookups, 10), []);
      const expected: string[] = [];
      for (let count = 0; count < 7; count++) {
        const account = settings({ id: `acc_${count}_${randomUUID()}` });
        assert.is(await store.accounts.put(account), true);
        const older = chargeCreated(now(), { externalRef: reference });
        const charge = chargeCreated(now(), { externalRef: count % 2 === 0 ? reference : randomUUID() });
        const known = (await grow(store, account.id, count === 0 ? [older, charge] : [charge])).append
          .records;
        if (count % 2 === 0) expected.push(`externalRef ${charge.transaction}`);
        if (count !== 3) continue;
        await grow(store, account.id, [chargePaid(now(), charge.transaction, reference)], { known });
        expected.push(`payment ${charge.transaction}`);
      }
      for (const limit of [1, 3, 100]) assert.equal(await pages(store, lookups, limit), [...expected].sort());
      const again = await reopen('b');
      assert.equal(await pages(again, lookups, 2), [...expected].sort());
      assert.equal(await pages(again, [{ name: 'externalRef', key: 'another' }], 2), []);
    });

    test('an account is asked for what it has its first of later', async ({ open, reopen, now }) => {
      const account = settings({ id: `acc_${randomUUID()}` });
      const text = randomUUID();
      const lookups = (['payment', 'idempotencyKey', 'externalRef'] as const).map((name) => ({
        ...{ name, key: text },
      }));
      const first = await open('a');
      assert.is(await first.accounts.put(account), true);
      const charge = chargeCreated(now(), { externalRef: text });
      const { records } = (await grow(first, account.id, [charge])).append;
      const expected = [`externalRef ${charge.transaction}`];
      const store = await reopen('b');
      assert.equal(await pages(store, lookups, 2), expected);
      const transfer = cashoutCreated(now(), { idempotencyKey: text });
      await grow(store, account.id, [chargePaid(now(), charge.transaction, text), transfer], {
        known: records,
      });
      expected.push(`payment ${charge.transaction}`, `idempotencyKey ${transfer.transaction}`);
      assert.equal(await pages(store, lookups, 2), expected.sort());
      assert.equal(await pages(await reopen('c'), lookups, 2), expected);
    });

    test('what hardly any account knows is found as the rest is, page by page', async ({
      open,
      reopen,
      now,
    }) => {
      const store = await open('a');
      const text = `D${randomUUID().replaceAll('-', '').slice(0, 31)}`;
      const lookups = (['externalRef', 'returned', 'refundKey', 'return'] as const).map((name) => ({
        ...{ name, key: text },
      }));
      const expected: string[] = [];
      const accounts = Array.from({ length: 9 }, (_, nth) => settings({ id: `acc_${nth}_${randomUUID()}` }));
      for (const [nth, account] of accounts.entries()) {
        assert.is(await store.accounts.put(account), true);
        const charge = chargeCreated(now(), { externalRef: nth % 4 === 0 ? text : null });
        const transfer = cashoutCreated(now());
        const known = (await grow(store, account.id, [charge, transfer])).append.records;
        if (nth % 4 === 0) expected.push(`externalRef ${charge.transaction}`);
        if (nth % 3 === 1) {
          await grow(store, account.id, [givenBack(now(), charge.transaction, text)], { known });
          expected.push(`returned ${charge.transaction}`);
        }
        if (nth % 3 !== 2) continue;
        await grow(store, account.id, [cameBack(now(), transfer.transaction, text)], { known });
        expected.push(`return ${transfer.transaction}`);
      }
      // One without settings isn't asked.
      const nobodys = chargeCreated(now());
      const { append } = await grow(store, randomUUID(), [nobodys]);
      await grow(store, append.batch.account, [givenBack(now(), nobodys.transaction, text)], {
        known: append.records,
      });
      for (const limit of [1, 4, 100]) assert.equal(await pages(store, lookups, limit), [...expected].sort());
      const again = await reopen('b');
      assert.equal(await pages(again, lookups, 2), [...expected].sort());
      assert.equal(await pages(again, [{ name: 'return', key: `${text} 1` }], 2), []);
    });
  });
}
