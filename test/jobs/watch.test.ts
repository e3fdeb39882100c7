/** What is on the list goes once its cause is gone, though nobody said so. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { itemFor } from '../../src/engine/attention/item.ts';
import { targetId } from '../../src/engine/store/backlog.ts';
import { Watch } from '../../src/jobs/watch.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, START } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('the review of what needs a person');

test('a URL that hung is a case for as long as anything waits behind it', async () => {
  const now = (): number => START;
  const store = new MemoryStore({ state: new MemoryState(), incarnation: 'a', now, silentAfterMs: 10_000 });
  const target = { account: 'one', url: 'https://hangs.example/hook' };
  await grow(store, target.account, [chargeCreated(START, { urls: [target.url] })]);
  const claim = first(await store.due.claim('delivery', START, 1));
  assert.ok(claim.due.kind === 'delivery');
  const since = new Date(START).toISOString();
  const item = itemFor('URL_HANGS', { id: targetId(target), since, about: target, data: { waiting: 1_000 } });
  await store.backlog.put([{ target, claims: [claim], lookAt: START }]);
  await store.attention.note([item]);
  const engine = { note: async (): Promise<void> => {} };
  const watch = new Watch({ engine, store, now, stuckAfterMs: 600_000, says: () => null });
  const listed = async (): Promise<string[]> =>
    (await store.attention.page({ kind: 'hanging' }, null, 10)).map(({ id }) => id);
  await watch.review();
  assert.equal(await listed(), [item.id]);
  await store.backlog.take(target, START, 1);
  await store.backlog.lookAgain(target, START);
  await watch.review();
  assert.equal(await listed(), []);
});

test.run();
