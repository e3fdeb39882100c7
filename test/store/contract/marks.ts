/** What a store as a whole is remembered by: kept, put and swapped, and there for whoever opens it next. */
import * as assert from 'uvu/assert';
import { type ContractContext, contractPart } from './harness.ts';

export function marksContract(context: ContractContext): void {
  contractPart(context, 'marks', (test) => {
    test('a mark is kept by the first, and put by the last', async ({ open, reopen }) => {
      const [a, b] = [await open('a'), await open('b')];
      assert.is(await a.marks.mark('m'), null);
      await a.marks.keepMark('m', 'one');
      await b.marks.keepMark('m', 'two');
      assert.is(await b.marks.mark('m'), 'one');
      await b.marks.putMark('m', 'three');
      await b.marks.putMark('other', 'x');
      assert.is(await a.marks.mark('m'), 'three');
      assert.is(await (await reopen('c')).marks.mark('m'), 'three');
    });

    test('a mark is swapped only from what lies there', async ({ open, reopen }) => {
      const store = await open('a');
      assert.is(await store.marks.swapMark('m', 'one', 'two'), false, 'nothing lies there');
      assert.is(await store.marks.mark('m'), null);
      assert.is(await store.marks.swapMark('m', null, 'one'), true);
      assert.is(await store.marks.swapMark('m', null, 'two'), false);
      assert.is(await store.marks.swapMark('m', 'two', 'three'), false);
      assert.is(await store.marks.mark('m'), 'one');
      assert.is(await store.marks.swapMark('m', 'one', ''), true);
      assert.is(await store.marks.swapMark('m', null, 'two'), false, 'an empty text is one');
      assert.is(await store.marks.swapMark('m', '', 'four'), true);
      assert.is(await (await reopen('b')).marks.mark('m'), 'four');
    });

    test('of racers who swap exactly one wins, round after round', async ({ open }) => {
      const stores = [await open('a'), await open('b')];
      let before: string | null = null;
      for (let round = 0; round < context.rounds; round++) {
        const texts = Array.from({ length: 12 }, (_, index) => `${round} ${index}`);
        const swapped = await Promise.all(
          texts.map((text, index) => stores[index % 2]?.marks.swapMark('m', before, text)),
        );
        const winners = texts.filter((_, index) => swapped[index]);
        assert.is(winners.length, 1, `round ${round}`);
        before = winners[0] ?? null;
        for (const store of stores) assert.is(await store.marks.mark('m'), before);
      }
    });
  });
}
