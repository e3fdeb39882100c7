/** GET /webhooks: of an account one list is put together at a time, and none that nobody waits for. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readDeliveries } from '../../src/api/account-endpoints.ts';
import type { ApiServices, Context } from '../../src/api/context.ts';
import { sleep } from '../support/wait.ts';

const s = suite('lists');

const ID = '00000000-0000-4000-8000-000000000001';

s('one at a time, and those whose callers have left are not read', async () => {
  let underWay = 0;
  let most = 0;
  let reads = 0;
  const journal = {
    transaction: async () => ({ id: ID, account: 'a', type: 'pix-in', seqs: [1] }),
    deliveries: async () => [],
    entries: async () => {
      reads += 1;
      most = Math.max(most, ++underWay);
      await sleep(20);
      underWay -= 1;
      return [];
    },
  };
  const read = readDeliveries({ journal } as unknown as ApiServices);
  const contextOf = (destroyed: boolean) =>
    ({
      query: { transactionId: ID },
      querystring: '',
      state: { account: { id: 'a' }, timedOut: false },
      req: { socket: { destroyed } },
    }) as unknown as Context;
  const outcomes = await Promise.allSettled([false, false, true, false].map((left) => read(contextOf(left))));
  assert.equal([most, reads], [1, 3]);
  assert.equal(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
});

s.run();
