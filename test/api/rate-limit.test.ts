/** Buckets in memory that threads share: one limit an account, however many take from it. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BURST, BucketPlaces, RateLimit } from '../../src/api/rate-limit.ts';
import type { Account } from '../../src/domain/account.ts';
import { workerEntry } from '../../src/worker-entry.ts';

const test = suite('rate-limit');

/** Two limits as two threads have them: on one memory, and each told of the places. */
function scene(most?: number) {
  const clock = { ms: 1_000_000 };
  const elapsed = (): number => clock.ms;
  const places = new BucketPlaces(elapsed, most);
  const placeOf = ({ id }: Account): number => places.of(id);
  const [one, two] = [1, 2].map(() => new RateLimit(places.memory, placeOf, elapsed));
  if (one === undefined || two === undefined) throw new Error('there are two');
  return { clock, places, one, two };
}

function account(id: string): Account {
  return { id } as Account;
}

test('two that take in turn get one burst together, and what time gives back', () => {
  const { clock, one, two } = scene();
  const a = account('a');
  for (let left = BURST - 1; left >= 0; left -= 1) assert.is((left % 2 === 0 ? one : two).take(a), left);
  assert.equal([one.take(a), two.take(a)], [-1, -1]);
  assert.is(one.take(account('b')), BURST - 1, 'one account limits another');
  // A tenth of a millisecond is a token.
  clock.ms += 0.25;
  assert.equal([one.take(a), two.take(a), one.take(a)], [1, 0, -1]);
  clock.ms += 3_600_000;
  assert.is(two.take(a), BURST - 1, 'more was saved up than the burst');
});

test('three threads that take at the same moment get one burst together, to the token', async () => {
  const memory = new BucketPlaces(() => 0).memory;
  const gate = new SharedArrayBuffer(4);
  const options = { workerData: { memory, gate, times: 3 * BURST } };
  const workers = [1, 2, 3].map(() => new Worker(...workerEntry(import.meta.url, './taker', options)));
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const passed = workers.map((worker) => once(worker, 'message'));
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  const counts = (await Promise.all(passed)).map(([count]) => Number(count));
  assert.is(
    counts.reduce((sum, count) => sum + count),
    BURST,
    counts.join(),
  );
});

test('an account that was quiet gives its place to another, full', () => {
  const { clock, places, one } = scene(10_002);
  for (let n = 0; n < 10_000; n += 1) one.take(account(`old ${n}`));
  const first = places.of('old 0');
  for (let n = 0; n < BURST; n += 1) one.take(account('old 0'));
  assert.is(one.take(account('old 0')), -1);
  clock.ms += 5_001;
  const given = new Set(Array.from({ length: 10_000 }, (_, n) => places.of(`new ${n}`)));
  assert.is(given.size, 10_000, 'two accounts share a place');
  assert.ok(given.has(first), 'the old place is not given again');
  for (let n = 0; n < 10_000; n += 1) assert.is(one.take(account(`new ${n}`)), BURST - 1);
});

test('accounts that find no place share the last one until some are free', () => {
  const { clock, places } = scene(4);
  assert.equal(
    ['a', 'b', 'c', 'd', 'e', 'a'].map((id) => places.of(id)),
    [0, 1, 2, 3, 3, 0],
  );
  clock.ms += 5_001;
  const again = ['d', 'e', 'f', 'g'].map((id) => places.of(id));
  assert.equal([...again.slice(0, 3)].sort(), [0, 1, 2]);
  assert.is(again[3], 3);
});

test.run();
