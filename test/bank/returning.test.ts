/** A return that failed is told of by who has its order in hand, and by nobody else. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Returning, type ReturningOptions } from '../../src/bank/returning.ts';
import type { AttentionItem } from '../../src/engine/store.ts';

const test = suite('payments on their way back');

const NOW = Date.UTC(2026, 0, 5, 12);
const ORDER = { kind: 'return' as const, endToEndId: 'E'.repeat(32), amount: 5_000, reason: 'expired' };

/** What is noted after a turn whose return has failed. */
async function noted(isOurs: boolean): Promise<AttentionItem[]> {
  const items: AttentionItem[] = [];
  const engine = {
    note: async (all: readonly AttentionItem[]) => void items.push(...all),
    withdraw: async () => {},
  };
  const options = {
    ...{ engine, now: () => NOW, stuckAfterMs: 300_000 },
    bank: { canRepeatSubmit: false, giveBack: async () => ({ wakeInMs: null, failed: 'conta encerrada' }) },
    isOurs: async () => isOurs,
  } as unknown as ReturningOptions;
  const due = { kind: 'bank', at: NOW, account: 'a', transaction: 't', order: ORDER, tries: 0 };
  const [turn, claim, record] = [
    { isFirst: true, turn: 0, refusedAt: null },
    { due, token: '1' },
    { id: 't' },
  ];
  const given = [claim, due, record, turn] as unknown as Parameters<Returning['turn']>;
  await new Returning(options).turn(...given);
  return items;
}

test('whoever has lost its order tells of no failure: the next return may be done by then', async () => {
  assert.equal(await noted(false), []);
  const [item, ...others] = await noted(true);
  assert.is(item?.code, 'RETURN_FAILED');
  assert.equal(others, []);
});

test.run();
