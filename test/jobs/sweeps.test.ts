/** What sweeps claim: page by page, and others have their turn in between. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type SweepOptions, sweeps } from '../../src/jobs/sweeps.ts';

const test = suite('sweeps');

test('a sweep of many timers leaves others their turn between its pages', async () => {
  const claimed: number[] = [];
  let left = 2_000;
  const parts = {
    due: {
      claim: async (_kind: string, _now: number, limit: number) => {
        const claims = Array.from({ length: Math.min(limit, left) }, () => ({}));
        left -= claims.length;
        claimed.push(claims.length);
        return claims;
      },
    },
    timers: {
      room: { reserveUpTo: (count: number) => count, release: () => undefined },
      fireAll: async () => undefined,
    },
    ...{ clock: { followed: async () => 0 }, desk: {}, dispatcher: {} },
  } as unknown;
  const job = sweeps(parts as SweepOptions).shared.find(({ name }) => name === 'timers');
  const seen: number[] = [];
  let isOver = false;
  const look = (): void => {
    seen.push(claimed.length);
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await job?.run();
  isOver = true;
  assert.equal(claimed, [250, 250, 250, 250], 'no more than a thousand');
  for (const pages of [1, 2, 3]) assert.ok(seen.includes(pages), `nobody else came after page ${pages}`);
});

test.run();
