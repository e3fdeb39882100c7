/** What was noted for a person to look at: listed, known, done with. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as assert from 'uvu/assert';
import { withCount } from '../../../src/engine/attention/counted.ts';
import { itemFor } from '../../../src/engine/attention/item.ts';
import type { AttentionKind } from '../../../src/engine/journal.ts';
import { type AttentionFilter, type AttentionItem, itemOf, type Store } from '../../../src/engine/store.ts';
import { pause } from '../../../src/waiting.ts';
import { chargeCreated, grow, iso } from './builders.ts';
import { type ContractContext, contractPart, same, sameSet } from './harness.ts';

function item(id: string, since: number, what = 'it hangs'): AttentionItem {
  const note = { kind: 'stuck', id, what, next: `pixstate inspect ${id}` } as const;
  return itemOf(note, iso(since), { account: 'an account', transaction: id }, 1_250);
}

/** Where counting costs much, a count may be a few seconds old. */
async function counted(store: Store, expected: Partial<Record<AttentionKind, number>>): Promise<void> {
  for (let round = 0; round < 50 && !isDeepStrictEqual(await store.attention.counts(), expected); round++)
    await pause(100);
  assert.equal(await store.attention.counts(), expected);
}

export function attentionContract(context: ContractContext): void {
  contractPart(context, 'attention', (test) => {
    test('attention is listed oldest first', async ({ open, now }) => {
      const store = await open('a');
      same(await store.attention.page({}, null, 100), []);
      const items = [5, 1, 9, 3, 7].map((step) => item(`m${step}`, now() + step));
      await store.attention.note(items.slice(0, 2));
      await store.attention.note(items.slice(2));
      await store.attention.note([]);
      same(
        (await store.attention.page({}, null, 100)).map(({ id }) => id),
        ['m1', 'm3', 'm5', 'm7', 'm9'],
      );
      sameSet(await store.attention.page({}, null, 100), items);
    });

    test('an item that is known stays as it is', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      await a.attention.note([item('x', now())]);
      await b.attention.note([
        item('x', now() + 1, 'something else'),
        item('y', now() + 2),
        item('y', now() + 3),
      ]);
      same(await a.attention.page({}, null, 100), [item('x', now()), item('y', now() + 2)]);
      await Promise.all([a, b].map((store, index) => store.attention.note([item('z', now() + 4 + index)])));
      assert.is((await a.attention.page({}, null, 100)).filter(({ id }) => id === 'z').length, 1);
    });

    test('what is done leaves the list and stays known', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const odd = 'msg "\u2028" : \\ é';
      await a.attention.note([item(odd, now()), item('other', now() + 1)]);
      await b.attention.dismiss([{ kind: 'stuck', id: odd }]);
      same(
        (await a.attention.page({}, null, 100)).map(({ id }) => id),
        ['other'],
      );
      await a.attention.note([item(odd, now() + 9)]);
      const entry = chargeCreated(now(), {
        attention: { kind: 'stuck', id: odd, what: 'again', next: 'look' },
      });
      await grow(a, randomUUID(), [entry]);
      await a.due.tidy(now());
      same(
        (await a.attention.page({}, null, 100)).map(({ id }) => id),
        ['other'],
      );
      await a.attention.dismiss([{ kind: 'stuck', id: 'nothing' }]);
      same(await a.attention.find('nothing'), []);
    });

    test('an item tells who was done with it, as long as it is known', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const by = {
        at: iso(now()),
        name: 'Ana "\u2028" $é',
        reason: 'asked the bank',
        role: 'operator',
      } as const;
      await a.attention.note([item('x', now()), item('y', now())]);
      same(await b.attention.doneBy('x'), null);
      await b.attention.dismiss([{ kind: 'stuck', id: 'x' }], by);
      await b.attention.dismiss([{ kind: 'stuck', id: 'y' }]);
      same([await a.attention.doneBy('x'), await a.attention.doneBy('y')], [by, null]);
      await a.attention.dismiss([{ kind: 'stuck', id: 'x' }], { ...by, name: 'a later one' });
      same(await a.attention.doneBy('x'), by);
      same([await a.attention.doneBy('x', 'stuck'), await b.attention.doneBy('x', 'dead')], [by, null]);
      await a.attention.withdraw([{ kind: 'stuck', id: 'x' }]);
      same(await a.attention.doneBy('x'), null);
      same(await a.attention.doneBy('x'.repeat(5_000)), null);
    });

    test('appends and settlements note, too', async ({ open, now }) => {
      const store = await open('a');
      const note = { kind: 'return' as const, id: 'E1', what: 'given back', next: 'look' };
      const account = randomUUID();
      const entry = chargeCreated(now(), { attention: note });
      await grow(store, account, [entry]);
      const dead = item('dlv_1', now() + 1);
      same(await store.due.settle([{ claim: null, next: null, attention: dead }]), [true]);
      same(await store.attention.page({}, null, 100), [
        itemOf(note, iso(now()), { account, transaction: entry.transaction }, 10_000),
        dead,
      ]);
      const again = { ...dead, what: 'later' };
      await store.due.settle([{ claim: null, next: null, attention: again }]);
      same((await store.attention.page({}, null, 100))[1], again, 'what happens again is news again');
      await store.attention.dismiss([{ kind: 'stuck', id: 'dlv_1' }]);
      await store.due.settle([{ claim: null, next: null, attention: dead }]);
      same((await store.attention.page({}, null, 100))[1], dead, 'also where somebody was done with it');
    });

    test('what comes in thousands is one item that counts', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const about = { account: 'an account', delivery: 'dlv_1', url: 'https://a.example' };
      const data = { day: '2026-01-31', count: 1, event: 'pix-in.paid', status: 410 };
      const rejected = (id: string, since: number): AttentionItem =>
        itemFor('DELIVERIES_REJECTED', { id, since: iso(since), about, data });
      const first = rejected('x', now());
      const settled = (store: Store, items: AttentionItem[]) =>
        store.due.settle(items.map((item) => ({ claim: null, next: null, counted: item })));
      const many = Array.from({ length: 500 }, (_, nth) => rejected('x', now() + nth));
      await settled(a, many);
      await Promise.all([settled(a, many), settled(b, many), settled(b, [rejected('y', now() + 1)])]);
      const others = rejected('y', now() + 1);
      same(await a.attention.page({}, null, 100), [withCount(first, 1_500), others]);
      await counted(a, { rejected: 2 });
      // What isn't ours doesn't count.
      const due = {
        kind: 'timer' as const,
        at: now(),
        account: randomUUID(),
        transaction: 't',
        name: 'x',
        tries: 0,
      };
      const claim = { due, token: 'nobody' };
      same(await a.due.settle([{ claim, next: null, counted: first }]), [false]);
      await b.attention.discount(first, 1_400);
      same(await a.attention.page({}, null, 100), [withCount(first, 100), others]);
      // Who is done with it hears no more of it, though it goes on counting.
      const by = { at: iso(now()), name: 'Ana', reason: 'the shop is closed', role: 'operator' } as const;
      await a.attention.dismiss([first], by);
      await settled(b, many);
      same(await a.attention.page({}, null, 100), [others]);
      same(await a.attention.doneBy('x'), by);
      await a.attention.discount(first, 599);
      await settled(a, [first]);
      same(await b.attention.page({}, null, 100), [others]);
      same(await b.attention.doneBy('x'), by);
      // None is left: the next one is news.
      await a.attention.discount(first, 3);
      await a.attention.discount(first, 1);
      await settled(a, [first]);
      same(await b.attention.page({}, null, 100), [first, others]);
    });

    test('one id may be on the list for two reasons', async ({ open, now }) => {
      const store = await open('a');
      const [stuck, dead] = [item('x', now()), { ...item('x', now() + 1), kind: 'quarantined' as const }];
      await store.attention.note([stuck]);
      await store.attention.note([dead]);
      same(await store.attention.page({}, null, 100), [stuck, dead]);
      sameSet(await store.attention.find('x'), [stuck, dead]);
      await store.attention.dismiss([stuck]);
      same(await store.attention.page({}, null, 100), [dead]);
      same(await store.attention.find('x'), [dead]);
    });

    test('the list is read in pages, by kind, account, transaction, URL and time', async ({ open, now }) => {
      const store = await open('a');
      const about = (nth: number) => ({
        ...{ account: `account ${nth % 2}`, url: `https://u${nth % 3}.test/` },
        transaction: nth % 3 === 0 ? null : `transaction ${nth % 3}`,
      });
      const items = Array.from({ length: 12 }, (_, nth) => {
        const kind = nth % 2 === 0 ? ('dead' as const) : ('unknown' as const);
        const note = { kind, id: `i${nth}`, what: 'w', next: 'n' };
        // Several of one time.
        return itemOf(note, iso(now() + Math.floor(nth / 4)), about(nth));
      });
      await store.attention.note(items);
      const place = (item: AttentionItem): string => `${item.since} ${item.kind} ${item.id}`;
      const sorted = [...items].sort((a, b) => (place(a) < place(b) ? -1 : 1));
      const paged: AttentionItem[] = [];
      for (let after: AttentionItem | null = null; ; after = paged.at(-1) ?? null) {
        const page: AttentionItem[] = await store.attention.page({}, after, 5);
        paged.push(...page);
        assert.is(await store.attention.count({}, paged.at(-1) ?? null), 12 - paged.length);
        if (page.length < 5) break;
      }
      same(paged, sorted);
      for (const [filter, fits] of [
        [{ kind: 'dead' }, ({ kind }) => kind === 'dead'],
        [{ account: 'account 1' }, (item) => item.about.account === 'account 1'],
        [{ transaction: 'transaction 1' }, (item) => item.about.transaction === 'transaction 1'],
        [{ transaction: 'transaction' }, () => false],
        [
          { kind: 'dead', transaction: 'transaction 2', since: iso(now() + 1) },
          ({ kind, since, about: { transaction } }) =>
            kind === 'dead' && transaction === 'transaction 2' && since > iso(now()),
        ],
        [{ url: 'https://u2.test/' }, (item) => item.about.url === 'https://u2.test/'],
        [{ since: iso(now() + 1) }, ({ since }) => since >= iso(now() + 1)],
        [
          { kind: 'unknown', url: 'https://u1.test/', since: iso(now() + 1) },
          (item) =>
            item.kind === 'unknown' && item.about.url === 'https://u1.test/' && item.since > iso(now()),
        ],
      ] as [AttentionFilter, (item: AttentionItem) => boolean][]) {
        same(await store.attention.page(filter, null, 100), sorted.filter(fits));
        assert.is(await store.attention.count(filter, null), sorted.filter(fits).length);
        same(
          await store.attention.page(filter, sorted[5] ?? null, 2),
          sorted.slice(6).filter(fits).slice(0, 2),
        );
      }
    });

    test('what is about a transaction is found as long as it is on the list', async ({ open, now }) => {
      const store = await open('a');
      const about = async (transaction: string): Promise<string[]> =>
        (await store.attention.page({ transaction }, null, 9)).map(({ id }) => id);
      const dead = { ...item('x', now() + 1), kind: 'dead' as const };
      await store.attention.note([item('x', now()), dead, item('y', now())]);
      same([await about('x'), await about('y'), await about('z')], [['x', 'x'], ['y'], []]);
      await store.attention.dismiss([dead]);
      same(await store.attention.page({ transaction: 'x' }, null, 9), [item('x', now())]);
      // Dead once more, later: it is in one place.
      const again = { ...dead, since: iso(now() + 5) };
      await store.due.settle([{ claim: null, next: null, attention: again }]);
      same(await store.attention.page({ transaction: 'x' }, null, 9), [item('x', now()), again]);
      await store.attention.withdraw([item('x', now()), again]);
      same([await about('x'), await about('y')], [[], ['y']]);
    });

    test('what is on the list is counted by kind, and forgotten once its cause is gone', async ({
      open,
      now,
    }) => {
      const store = await open('a');
      const dead = { ...item('d', now()), kind: 'dead' as const };
      await store.attention.note([item('a', now()), item('b', now()), item('b', now()), dead]);
      await counted(store, { stuck: 2, dead: 1 });
      await store.due.settle([{ claim: null, next: null, attention: { ...dead, since: iso(now() + 5) } }]);
      await counted(store, { stuck: 2, dead: 1 });
      await store.attention.dismiss([dead]);
      await store.attention.withdraw([item('a', now()), { kind: 'stuck', id: 'never noted' }]);
      await counted(store, { stuck: 1 });
      const entry = chargeCreated(now(), { attention: null });
      await grow(store, randomUUID(), [entry], { withdrawn: [{ kind: 'stuck', id: 'b' }] });
      await counted(store, {});
      await store.attention.note([item('a', now()), dead]);
      same(await store.attention.page({}, null, 9), [item('a', now())], 'forgotten is not done');
    });
  });
}
