/** The rate limit to the request: the real application on a clock that stands still. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Accounts, type IssuedAccount, PLAIN_ACCOUNT } from '../../src/accounts/manage.ts';
import { type Process, type SetClock, seal } from './in-process.ts';
import { withApp } from './in-process-app.ts';
import { type Answer, pipelined, requestText } from './pipeline.ts';

const test = suite('rate');

const BURST = 5_000;
const PER_MS = 10;

async function newAccount({ store }: Process, clock: SetClock): Promise<IssuedAccount> {
  return new Accounts(store.accounts, seal(), () => clock.ms).create({ ...PLAIN_ACCOUNT, name: 'Merchant' });
}

function burst(port: number, account: IssuedAccount, count: number): Promise<Answer[]> {
  const request = requestText(account, 'GET', '/balance');
  return pipelined(
    port,
    Array.from({ length: count }, () => request),
    50,
  );
}

function count(answers: readonly Answer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

test('a burst of 5,000 passes, what is more gets 429, and time lets as many more pass as the rate says', async () => {
  await withApp(null, async ({ port, process, clock, failures }) => {
    const [account, other] = await Promise.all([newAccount(process, clock), newAccount(process, clock)]);
    const first = await burst(port, account, BURST + 700);
    assert.is(count(first, 200), BURST);
    const limited = first.filter(({ status }) => status === 429);
    assert.is(limited.length, 700);
    for (const { headers, body } of limited) {
      assert.is((body as { error: string }).error, 'RATE_LIMITED');
      assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/);
      assert.match(headers.ratelimit ?? '', /r=0\b/);
      assert.ok((headers['ratelimit-policy'] ?? '').includes('q=10000'));
      assert.ok((headers['x-request-id'] ?? '') !== '');
    }
    assert.is(count(await burst(port, other, 10), 200), 10, 'one account limits another');
    clock.ms += 30;
    const second = await burst(port, account, 30 * PER_MS + 200);
    assert.is(count(second, 200), 30 * PER_MS);
    clock.ms += 3_600_000;
    const third = await burst(port, account, BURST + 100);
    assert.is(count(third, 200), BURST, 'more was saved up than the burst');
    assert.equal(failures, []);
  });
});

test.run();
