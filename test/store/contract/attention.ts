/** What was noted for a person to look at: listed, known, done with. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { type AttentionItem, itemOf } from '../../../src/engine/store.ts';
import { chargeCreated, grow, iso } from './builders.ts';
import { type ContractContext, contractPart, same, sameSet } from './harness.ts';

function item(id: string, since: number, what = 'it hangs'): AttentionItem {
  const note = { kind: 'stuck', id, what, next: `pixstate inspect ${id}` } as const;
  return itemOf(note, iso(since), { account: 'an account', transaction: id }, 1_250);
}

export function attentionContract(context: ContractContext): void {
  contractPart(context, 'attention', (test) => {
    test('attention is listed oldest first', async ({ open, now }) => {
      const store = await open('a');
      same(await store.attention.list(), []);
      const items = [5, 1, 9, 3, 7].map((step) => item(`m${step}`, now() + step));
      await store.attention.note(items.slice(0, 2));
      await store.attention.note(items.slice(2));
      await store.attention.note([]);
      same(
        (await store.attention.list()).map(({ id }) => id),
        ['m1', 'm3', 'm5', 'm7', 'm9'],
      );
      sameSet(await store.attention.list(), items);
    });

    test('an item that is known stays as it is', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      await a.attention.note([item('x', now())]);
      await b.attention.note([
        item('x', now() + 1, 'something else'),
        item('y', now() + 2),
        item('y', now() + 3),
      ]);
      same(await a.attention.list(), [item('x', now()), item('y', now() + 2)]);
      await Promise.all([a, b].map((store, index) => store.attention.note([item('z', now() + 4 + index)])));
      assert.is((await a.attention.list()).filter(({ id }) => id === 'z').length, 1);
    });

    test('what is done leaves the list and stays known', async ({ open, now }) => {
      const [a, b] = [await open('a'), await open('b')];
      const odd = 'msg "\u2028" : \\ é';
      await a.attention.note([item(odd, now()), item('other', now() + 1)]);
      assert.is(await b.attention.dismiss(odd), true);
      same(
        (await a.attention.list()).map(({ id }) => id),
        ['other'],
      );
      await a.attention.note([item(odd, now() + 9)]);
      const entry = chargeCreated(now(), {
        attention: { kind: 'stuck', id: odd, what: 'again', next: 'look' },
      });
      await grow(a, randomUUID(), [entry]);
      await a.due.tidy(now());
      same(
        (await a.attention.list()).map(({ id }) => id),
        ['other'],
      );
      assert.is(await a.attention.dismiss('nothing'), false);
    });

    test('appends and settlements note, too', async ({ open, now }) => {
      const store = await open('a');
      const note = { kind: 'return' as const, id: 'E1', what: 'given back', next: 'look' };
      const account = randomUUID();
      const entry = chargeCreated(now(), { attention: note });
      await grow(store, account, [entry]);
      const dead = item('dlv_1', now() + 1);
      same(await store.due.settle([{ claim: null, next: null, attention: dead }]), [true]);
      same(await store.attention.list(), [
        itemOf(note, iso(now()), { account, transaction: entry.transaction }, 10_000),
        dead,
      ]);
      const again = { ...dead, what: 'later' };
      await store.due.settle([{ claim: null, next: null, attention: again }]);
      same((await store.attention.list())[1], again, 'what happens again is news again');
      assert.is(await store.attention.dismiss('dlv_1'), true);
      await store.due.settle([{ claim: null, next: null, attention: dead }]);
      same((await store.attention.list())[1], dead, 'also where somebody was done with it');
    });

    test('one id may be on the list for two reasons', async ({ open, now }) => {
      const store = await open('a');
      const [stuck, dead] = [item('x', now()), { ...item('x', now() + 1), kind: 'quarantined' as const }];
      await store.attention.note([stuck]);
      await store.attention.note([dead]);
      same(await store.attention.list(), [stuck, dead]);
      assert.is(await store.attention.dismiss('x'), true);
      same(await store.attention.list(), []);
    });
  });
}
