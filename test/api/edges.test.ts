/** What only another configuration shows, and the 29 seconds. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Deadlines } from '../../src/api/deadlines.ts';
import { merchant } from '../support/client.ts';
import { startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const s = suite('edges');

s(
  'an IPv4-mapped address counts as its IPv4 address, and CHARGE_EXPIRY_S is the last word on expiry',
  async () => {
    const server = await startServer({ env: { HOST: '::', CHARGE_EXPIRY_S: '1' } });
    try {
      const client = await merchant(server);
      const created = await client.post('/pix-in', { amount: 1_000 });
      assert.is(created.status, 201);
      const { id, createdAt, expiresAt } = created.body as Record<string, string>;
      assert.is(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? ''), 1_000);
      const status = async () => ((await client.get(`/pix-in?id=${id}`)).body as { status: string }).status;
      await until(async () => (await status()) === 'expired', 5_000, 'the expiry');
    } finally {
      await server.stop();
    }
  },
);

s('a request that takes longer than it may is told so once, one that ended is not', async () => {
  const clock = { ms: 0 };
  const deadlines = new Deadlines(29_000, () => clock.ms);
  const expired: string[] = [];
  deadlines.add(() => expired.push('slow'));
  deadlines.add(() => expired.push('ended')).done = true;
  clock.ms = 28_999;
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(expired, []);
  deadlines.add(() => expired.push('later'));
  clock.ms = 29_000;
  await until(async () => expired.length > 0, 5_000, 'the deadline');
  assert.equal(expired, ['slow']);
  clock.ms = 28_999 + 29_000;
  await until(async () => expired.length > 1, 5_000, 'the second deadline');
  assert.equal(expired, ['slow', 'later']);
});

s.run();
