/** A long part of what needs a person is read and made in slices: others have their turn in between. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attentionPage } from '../../src/engine/attention/list.ts';
import type { AttentionFilter, AttentionItem, AttentionPlace } from '../../src/engine/store.ts';

const test = suite('turns beside a long list');

const COUNT = 1_000;

const ITEMS = Array.from({ length: COUNT }, (_, nth) => {
  const transaction = `00000000-0000-4000-8000-${String(nth).padStart(12, '0')}`;
  return {
    ...{ kind: 'dead', id: `dlv_${nth}`, since: new Date(nth).toISOString(), amount: null },
    ...{ what: 'It is dead.', next: 'Retry it.', code: null, data: null },
    about: { account: null, transaction, delivery: null, url: null },
  };
}) as unknown as AttentionItem[];

test('no more than a hundred are looked up in a turn', async () => {
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const next = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const looked = async (): Promise<null> => {
    inTurn += 1;
    most = Math.max(most, inTurn);
    return null;
  };
  const store = {
    journal: { waiting: async () => [], transaction: looked },
    attention: {
      dismissed: async () => [],
      count: async () => 0,
      page: async (_: AttentionFilter, after: AttentionPlace | null, limit: number) => {
        const from = after === null ? 0 : ITEMS.findIndex(({ id }) => id === after.id) + 1;
        return ITEMS.slice(from, from + limit);
      },
    },
  } as unknown as Parameters<typeof attentionPage>[0];
  const rule = { now: Date.UTC(2026, 0, 1), stuckAfterMs: 1, says: () => null };
  const { items } = await attentionPage(store, rule, {}, null, COUNT);
  isOver = true;
  assert.equal(items, ITEMS);
  assert.is(most, 100);
});

test.run();
