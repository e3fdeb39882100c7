/** Histograms are handed their observations many at a time; whoever asks gets every one. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Metrics } from '../../src/server/metrics.ts';

const test = suite('metrics');

const nothing = {
  activeAccounts: () => 0,
  attention: async () => ({}),
  waitingCommands: () => 0,
  oldestDue: async () => ({}),
  now: () => 0,
  deliveriesBehind: async () => 0,
};

async function sample(metrics: Metrics, name: string): Promise<number | null> {
  const line = (await metrics.registry.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}

test('whoever asks gets each observation once, however many came since', async () => {
  const metrics = new Metrics(nothing);
  const delivered = 'pixstate_webhook_attempt_seconds_count{status="delivered"}';
  assert.is(await sample(metrics, 'pixstate_commit_seconds_count'), 0);
  assert.is(await sample(metrics, delivered), null, 'nothing was delivered yet');
  let told = 0;
  for (const more of [1, 2_500, 0, 7]) {
    for (let n = 0; n < more; n++) {
      metrics.attempted('delivered', 20);
      metrics.committed(2, 3);
    }
    told += more;
    assert.is(await sample(metrics, delivered), told);
    assert.is(
      await sample(metrics, 'pixstate_webhook_attempt_seconds_bucket{le="0.025",status="delivered"}'),
      told,
    );
    assert.is(await sample(metrics, 'pixstate_commit_seconds_count'), told);
    assert.is(await sample(metrics, 'pixstate_batch_entries_sum'), 3 * told);
  }
});

test('series of one histogram are told apart', async () => {
  const metrics = new Metrics(nothing);
  metrics.attempted('delivered', 20);
  metrics.attempted('dead', 20);
  metrics.observed({ method: 'GET', route: '/v1/balance', status: 200, ms: [1, 2, 3] });
  assert.is(await sample(metrics, 'pixstate_webhook_attempt_seconds_count{status="delivered"}'), 1);
  assert.is(await sample(metrics, 'pixstate_webhook_attempt_seconds_count{status="dead"}'), 1);
  const answered = 'pixstate_http_request_seconds_count{method="GET",route="/v1/balance",status="200"}';
  assert.is(await sample(metrics, answered), 3);
});

test('what is in hand and waits for its turn counts as due', async () => {
  let [stored, inHand] = [7_000, Number.POSITIVE_INFINITY];
  const metrics = new Metrics({
    ...nothing,
    now: () => 10_000,
    oldestDue: async () => ({ timer: stored, bank: 9_000 }),
  });
  const seconds = async (): Promise<(number | null)[]> => [
    await sample(metrics, 'pixstate_due_oldest_seconds{kind="timer"}'),
    await sample(metrics, 'pixstate_due_oldest_seconds{kind="bank"}'),
  ];
  assert.equal(await seconds(), [3, 1]);
  metrics.dateInHand({ timer: () => inHand, bank: () => inHand + 4_500 });
  assert.equal(await seconds(), [3, 1]);
  inHand = 4_000;
  assert.equal(await seconds(), [6, 1.5]);
  stored = 2_000;
  assert.equal(await seconds(), [8, 1.5]);
});

test.run();
