/** A transaction's entries are found in its batches, whatever else stands there. */
import { randomUUID } from 'node:crypto';
import type { Entry } from '../../../../src/engine/journal.ts';
import { adjusted, chargeCreated, chargePaid, grow } from '../builders.ts';
import { type ContractContext, contractPart, same } from '../harness.ts';

/** An entry's message with other data: merchants and banks choose it. */
function saying(entry: Entry, data: object): Entry {
  return { ...entry, message: { ...entry.message, data } };
}

/** Data that looks like entries of a transaction: as texts, as names, as objects in objects. */
function masks(id: string): object[] {
  const member = `"transaction":"${id}"`;
  const inner = { message: { id: 'x' }, transaction: id, type: 'pix-in' };
  return [
    { transaction: id, type: 'pix-in' },
    { list: [inner, { deep: [inner, inner] }, '}', '{', inner] },
    { text: `},{${member},"type":"pix-in"},{` },
    { [member]: member, '{': '"', '\\': '\\"', '}': `\\\\"${member}` },
    { open: '{"{[', shut: '}]}"', quote: '\\', entries: [{ transaction: id }] },
    { 'end\\': 'end\\', next: '\\\\', wide: '\u{1d4b3}"é{' },
  ];
}

export function entriesContract(context: ContractContext): void {
  contractPart(context, 'journal: entries', (test) => {
    test('the entries of one transaction are found among those that look like them', async ({
      open,
      now,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const [one, two] = [chargeCreated(now()), chargeCreated(now())];
      const odd = [
        ...masks(one.transaction).map((data) => saying(chargeCreated(now()), data)),
        adjusted(now(), 5),
        saying(one, { transaction: two.transaction, '"': '{' }),
        ...masks(one.transaction).map((data) => saying(chargeCreated(now(), { description: '}\\' }), data)),
        saying(two, { of: [{ transaction: one.transaction }] }),
      ];
      const { append } = await grow(store, account, odd);
      const known = append.records;
      const [early, late] = [
        chargePaid(now() + 1, one.transaction, 'E1'),
        chargePaid(now(), two.transaction, 'E2'),
      ];
      const paid = await grow(store, account, [saying(early, { lone: '\ud800' }), late], { known });
      const batches = [append.batch, paid.append.batch];
      for (const id of [one.transaction, two.transaction, randomUUID(), 'null']) {
        const expected = batches.flatMap(({ seq, entries }) =>
          entries.filter(({ transaction }) => transaction === id).map((entry) => ({ seq, entry })),
        );
        same(await store.journal.entries(account, id, [1, 2]), expected);
      }
    });

    test('several entries of one batch come in their order, batches that are not there are passed over', async ({
      open,
      now,
    }) => {
      const store = await open('a');
      const account = randomUUID();
      const charge = chargeCreated(now());
      const entries = [charge, chargeCreated(now()), chargePaid(now(), charge.transaction, 'E1')];
      await grow(store, account, entries);
      await grow(store, account, [chargeCreated(now())]);
      const expected = [entries[0], entries[2]].map((entry) => ({ seq: 1, entry }));
      same(await store.journal.entries(account, charge.transaction, [2, 1, 99]), expected);
      same(await store.journal.entries(account, charge.transaction, []), []);
      same(await store.journal.entries(account, charge.transaction, [2]), []);
      same(await store.journal.entries(randomUUID(), charge.transaction, [1]), []);
    });
  });
}
