/** What all accounts know a text by: found whatever the name, page by page. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Lookup } from '../../../../src/engine/store/lookups.ts';
import type { Store } from '../../../../src/engine/store.ts';
import { chargeCreated, chargePaid, grow, settings } from '../builders.ts';
import { type ContractContext, contractPart } from '../harness.ts';

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
  });
}
