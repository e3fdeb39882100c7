import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Ending } from '../../../src/webhooks/sender/attempt.ts';
import type { Slot } from '../../../src/webhooks/sender/lanes.ts';
import { type SenderLimits, senderLimits } from '../../../src/webhooks/sender/limits.ts';
import { OriginQueue } from '../../../src/webhooks/sender/queue.ts';
import { item } from './receivers.ts';

const test = suite('order of webhook attempts');

/** A queue whose attempts end when the test says so, on a clock that the test moves. */
class Bench {
  now = 0;
  readonly running: Slot[] = [];
  readonly putOff: string[] = [];
  released = 0;
  readonly queue: OriginQueue;
  #tokens = 0;

  constructor(limits: Partial<SenderLimits> = {}) {
    this.queue = new OriginQueue(senderLimits(limits), {
      start: (slot) => this.running.push(slot),
      putOff: (token) => {
        this.putOff.push(token);
      },
      release: () => {
        this.released += 1;
      },
      clock: () => this.now,
    });
  }

  async add(url: string, count = 1, account = 'acc_1'): Promise<void> {
    for (let each = 0; each < count; each += 1) {
      this.#tokens += 1;
      this.queue.add(item(`t${this.#tokens}`, url, { account }), new URL(url));
    }
    await settled();
  }

  async end(ending: Ending, fits: (slot: Slot) => boolean = () => true, count = 1): Promise<void> {
    for (let each = 0; each < count; each += 1) {
      const index = this.running.findIndex(fits);
      const [slot] = this.running.splice(index, index < 0 ? 0 : 1);
      if (slot === undefined) throw new Error('nothing to end');
      if (ending !== 'failed' && ending !== 'timeout') this.queue.answered(slot);
      this.queue.ended(slot, ending);
      await settled();
    }
  }

  to(url: string): number {
    return this.running.filter(({ target }) => target.url === url).length;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const A = 'http://a.example/hook';
const B = 'http://b.example/hook';

test('an origin starts with 4 and grows by one for each whole answer, to 128', async () => {
  const bench = new Bench();
  await bench.add(A, 2000);
  assert.is(bench.running.length, 4);
  await bench.end('complete');
  assert.is(bench.running.length, 5);
  await bench.end('complete', undefined, 5);
  assert.is(bench.running.length, 10);
  await bench.end('complete', undefined, 500);
  assert.is(bench.running.length, 128);
});

test('answers whose rest takes too long make it grow as whole ones do', async () => {
  const bench = new Bench();
  await bench.add(A, 2000);
  await bench.end('heardOut', undefined, 6);
  assert.is(bench.running.length, 10);
  await bench.end('heardOut', undefined, 500);
  assert.is(bench.running.length, 128);
});

test('a network error halves what has grown, a cut answer does not grow it', async () => {
  const bench = new Bench();
  await bench.add(A, 1000);
  await bench.end('complete', undefined, 36);
  assert.is(bench.running.length, 40);
  await bench.end('cut');
  assert.is(bench.running.length, 40);
  await bench.end('failed', undefined, 25);
  assert.is(bench.running.length, 15);
  await bench.end('failed', undefined, 12);
  assert.is(bench.running.length, 4);
});

test('a URL that times out is probed one at a time; the rest is put off', async () => {
  const bench = new Bench();
  await bench.add(A, 10);
  bench.now = 10_000;
  await bench.end('timeout', undefined, 4);
  assert.is(bench.putOff.length, 6);

  bench.now = 12_000;
  await bench.add(A, 3);
  assert.is(bench.running.length, 1, 'the probe');
  assert.is(bench.putOff.length, 8);
  bench.now = 22_000;
  await bench.end('timeout');
  await bench.add(A, 2);
  assert.is(bench.running.length, 1, 'the next probe');
  await bench.end('complete');
  await bench.add(A, 10);
  assert.is(bench.running.length, 4, 'recovered');
});

test('another URL of the same origin goes on beside a choked one', async () => {
  const bench = new Bench();
  await bench.add(A);
  await bench.end('timeout');
  await bench.add(A, 2);
  await bench.add('http://a.example/other', 3);
  assert.is(bench.to(A), 1);
  assert.is(bench.to('http://a.example/other'), 3);
  assert.is(bench.putOff.length, 1);
});

test('a URL that is slow takes nothing from another of its origin', async () => {
  const bench = new Bench();
  const slow = 'http://a.example/slow';
  const quick = 'http://a.example/quick';
  await bench.add(slow, 8);
  assert.is(bench.to(slow), 4);
  await bench.add(quick, 8);
  for (let left = 8; left > 4; left -= 1) {
    assert.equal([bench.to(slow), bench.to(quick)], [4, 4], `${left} quick ones are left`);
    await bench.end('cut', ({ target }) => target.url === quick);
  }
  await bench.end('complete', ({ target }) => target.url === slow);
  assert.equal([bench.to(slow), bench.to(quick)], [5, 4]);
});

test('half of the places of an origin are its own in equal parts, the others are for any URL', async () => {
  for (const [count, most, left] of [
    [2, 96, 32],
    [10, 74, 6],
  ] as const) {
    const bench = new Bench();
    const [slow, quick, ...others] = Array.from({ length: count }, (_, nth) => `http://a.example/${nth}`);
    if (slow === undefined || quick === undefined) throw new Error('too few');
    for (const url of others) await bench.add(url);
    const isQuick = ({ target }: Slot): boolean => target.url === quick;
    await bench.add(quick);
    await bench.add(slow, 500);
    await bench.end('complete', ({ target }) => target.url === slow, 200);
    assert.is(bench.to(slow), most, `${count} URLs`);
    await bench.add(quick, 500);
    await bench.end('complete', isQuick, 200);
    assert.ok(bench.to(quick) >= left, `${bench.to(quick)} of ${count} URLs`);
    assert.ok(bench.running.length <= 128);
  }
});

test('a URL whose part grows as others rest goes on at once', async () => {
  const bench = new Bench();
  const urls = Array.from({ length: 10 }, (_, nth) => `http://a.example/${nth}`);
  const [greedy = '', held = ''] = urls;
  const isHeld = ({ target }: Slot): boolean => target.url === held;
  for (const url of urls) {
    await bench.add(url);
    await bench.end('complete');
  }
  await bench.add(held, 60);
  await bench.add(greedy, 900);
  await bench.end('complete', isHeld, 40);
  await bench.add(held, 200);
  await bench.end('complete', ({ target }) => target.url === greedy, 300);
  while (bench.to(held) > 6) await bench.end('cut', isHeld);
  assert.is(bench.to(greedy), 74);
  for (bench.now = 1_000; bench.now <= 6_000; bench.now += 1_000) bench.queue.sweep();
  await settled();
  assert.is(bench.to(held), 32, 'its part beside one other');
});

test('what a URL had under way when it timed out holds up no other of its origin', async () => {
  const bench = new Bench();
  const slow = 'http://a.example/slow';
  const quick = 'http://a.example/quick';
  await bench.add(quick, 200);
  await bench.add(slow, 200);
  const isQuick = ({ target }: Slot): boolean => target.url === quick;
  const isSlow = ({ target }: Slot): boolean => target.url === slow;
  await bench.end('complete', isQuick, 40);
  await bench.end('complete', isSlow, 40);
  assert.equal([bench.to(slow), bench.to(quick)], [44, 44]);
  await bench.end('timeout', isSlow);
  await bench.end('cut', isQuick, 100);
  assert.equal([bench.to(slow), bench.to(quick)], [43, 44]);
  // No more of it starts until one of these is answered.
  await bench.add(slow);
  assert.is(bench.to(slow), 43);
});

test('nor does it take all the places in which its origin waits', async () => {
  const bench = new Bench({ maxWaitingPerOrigin: 8 });
  await bench.add('http://a.example/quick');
  await bench.add('http://a.example/slow', 20);
  assert.equal([bench.to('http://a.example/slow'), bench.putOff.length], [4, 14]);
  await bench.add('http://a.example/slow', 20);
  assert.is(bench.putOff.length, 14 + 16);
  await bench.add('http://a.example/quick', 2);
  assert.is(bench.putOff.length, 14 + 16);
});

test('URLs that hang hold up no other of their origin, however many they are', async () => {
  const bench = new Bench();
  const hanging = Array.from({ length: 9 }, (_, nth) => `http://a.example/hang${nth}`);
  for (const url of [...hanging, A]) await bench.add(url);
  for (const url of [...hanging, A]) await bench.add(url, 50);
  for (const url of [...hanging, A]) assert.is(bench.to(url), 4, url);
  await bench.add(B, 5);
  assert.is(bench.to(B), 4);
  const isA = ({ target }: Slot): boolean => target.url === A;
  await bench.end('complete', isA, 12);
  assert.is(bench.to(A), 16, 'as many as if it were alone');
  await bench.end('complete', isA, 39);
  for (const url of hanging) assert.is(bench.to(url), 4, url);
});

test('all URLs of an origin have its bound together, and take turns at it', async () => {
  const bench = new Bench({ maxPerOrigin: 6 });
  for (let nth = 0; nth < 9; nth += 1) await bench.add(`http://a.example/hang${nth}`);
  bench.now = 1_000;
  bench.queue.sweep();
  await settled();
  assert.is(bench.running.length, 6);
  await bench.end('failed');
  assert.is(bench.running.length, 6);

  for (let nth = 0; nth < 9; nth += 1) await bench.add(`http://a.example/hang${nth}`, 10);
  const ended = new Map<string, number>();
  for (let each = 0; each < 45; each += 1) {
    const url = bench.running[0]?.target.url ?? '';
    ended.set(url, (ended.get(url) ?? 0) + 1);
    await bench.end('complete');
    assert.is(bench.running.length, 6);
  }
  for (let nth = 0; nth < 9; nth += 1) {
    const times = ended.get(`http://a.example/hang${nth}`) ?? 0;
    assert.ok(times >= 4 && times <= 6, `${nth}: ${times}`);
  }
});

test('a failure that is no timeout ends the choke as well: it costs nothing to try again', async () => {
  const bench = new Bench();
  await bench.add(A);
  await bench.end('timeout');
  await bench.add(A);
  await bench.end('failed');
  await bench.add(A, 4);
  assert.is(bench.running.length, 4);
});

test('one origin that fills its slots leaves room for all others', async () => {
  const bench = new Bench({ maxInFlight: 64, maxPerOrigin: 1000, maxWaitingPerOrigin: 10_000 });
  await bench.add(A, 2000);
  await bench.end('complete', undefined, 500);
  assert.is(bench.running.length, 32, 'half of the bound for one alone');
  await bench.add(B, 4, 'acc_2');
  assert.is(bench.to(B), 4);
});

test('one account with many origins leaves room for another account', async () => {
  const bench = new Bench({ maxInFlight: 64 });
  for (let origin = 0; origin < 40; origin += 1) await bench.add(`http://o${origin}.example/`, 10);
  assert.is(bench.running.length, 16, 'half of what newcomers share');
  await bench.add(B, 4, 'acc_2');
  assert.is(bench.to(B), 4);
});

test('those that never answered share half of the bound', async () => {
  const bench = new Bench({ maxInFlight: 64 });
  await bench.add(B, 1, 'proven');
  await bench.end('complete');
  for (let account = 0; account < 100; account += 1) await bench.add(A, 4, `acc_${account}`);
  assert.is(bench.running.length, 32);
  await bench.add(B, 4, 'proven');
  assert.is(bench.to(B), 4);
});

test('accounts take turns, however many origins one has', async () => {
  const bench = new Bench({ maxInFlight: 9 });
  for (let origin = 0; origin < 10; origin += 1) await bench.add(`http://o${origin}.example/`, 20, 'many');
  await bench.add(A, 100, 'one');
  await bench.add(B, 100, 'other');
  const ended = new Map<string, number>();
  for (let round = 0; round < 120; round += 1) {
    const account = bench.running[0]?.send.account ?? '';
    ended.set(account, (ended.get(account) ?? 0) + 1);
    await bench.end('complete');
  }
  for (const account of ['many', 'one', 'other']) {
    const times = ended.get(account) ?? 0;
    assert.ok(times >= 30 && times <= 50, `${account} ${times}`);
  }
});

test('what exceeds the queues is put off at once', async () => {
  const bench = new Bench({ maxWaitingPerOrigin: 10 });
  await bench.add(A, 20);
  assert.is(bench.putOff.length, 10);
  for (let origin = 0; origin < 20; origin += 1) await bench.add(`http://o${origin}.example/`, 10);
  assert.is(bench.running.length, 84);
  const before = bench.putOff.length;
  await bench.add(B, 1, 'acc_2');
  assert.is(bench.putOff.length, before, 'one account does not fill the queue of all');
});

test('nothing waits longer than its bound', async () => {
  const bench = new Bench({ maxWaitMs: 5_000 });
  await bench.add(A, 6);
  bench.now = 5_001;
  bench.queue.sweep();
  assert.is(bench.putOff.length, 2);
  await bench.end('complete', undefined, 4);
  assert.is(bench.running.length, 0);
});

test('idle origins are released, and it is remembered which of their URLs hung', async () => {
  const bench = new Bench();
  await bench.add(A);
  await bench.add(B);
  await bench.end('complete', ({ target }) => target.url === A);
  await bench.end('timeout');
  bench.now = 6_000;
  bench.queue.sweep();
  assert.is(bench.released, 2);
  bench.now = 400_000;
  bench.queue.sweep();
  await bench.add(B, 2);
  assert.is(bench.running.length, 1);
  await bench.end('failed');
  bench.now = 410_000;
  bench.queue.sweep();
  assert.is(bench.released, 3);
  await bench.add(B, 2);
  assert.is(bench.running.length, 2, 'what was no timeout has ended that');
});

/** A bench that remembers of so many accounts' URLs that they hung. */
async function hangingBench(accounts: number): Promise<Bench> {
  const bench = new Bench({ maxInFlight: 64 });
  for (let nth = 0; nth < accounts; nth += 1) {
    await bench.add(A, 1, `hangs_${nth}`);
    await bench.end('timeout');
  }
  bench.now += 100_000;
  bench.queue.sweep();
  return bench;
}

test('a newcomer has its turn at once behind however many that leave room to others', async () => {
  const bench = new Bench();
  const accounts = Array.from({ length: 126 }, (_, nth) => `acc_${nth}`);
  // Of the half of 512 they leave four places, which none of those that have two or more takes.
  for (const account of accounts) await bench.add(A, 2, account);
  await bench.add(A, 4, 'more');
  for (const account of accounts) await bench.add(A, 1, account);
  while (bench.running.length > 254) await bench.end('failed', ({ send }) => send.account === 'more');
  const before = bench.running.length;
  await bench.add(A, 1, 'newcomer');
  await settled();
  assert.is(bench.running.filter(({ send }) => send.account === 'newcomer').length, 1, `${before}`);
});

test('URLs that hang leave room to one of which nothing is known yet', async () => {
  const bench = await hangingBench(100);
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `hangs_${nth}`);
  assert.is(bench.running.length, 24, 'three eighths of the bound');
  await bench.add(B, 1, 'newcomer');
  assert.is(bench.to(B), 1);
  // Those that come for the first time and hang have the rest of the half.
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `new_${nth}`);
  assert.is(bench.running.length, 32);
});

test('a URL whose answer begins goes on at once beside all that never answered', async () => {
  const bench = new Bench({ maxInFlight: 64 });
  await bench.add(B, 1, 'quick');
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `new_${nth}`);
  await bench.add(B, 3, 'quick');
  assert.equal([bench.running.length, bench.to(B)], [32, 1]);
  const [slot] = bench.running.filter(({ target }) => target.url === B);
  if (slot === undefined) throw new Error('it is not under way');
  bench.queue.answered(slot);
  await settled();
  assert.is(bench.to(B), 4);
});

test('a URL behind which more waits counts as one that hangs, until something is known of it', async () => {
  const bench = new Bench({ maxInFlight: 64 });
  for (let nth = 0; nth < 100; nth += 1)
    bench.queue.add(item(`look${nth}`, A, { account: `waits_${nth}`, isLook: true }), new URL(A));
  await settled();
  assert.is(bench.running.length, 24, 'three eighths of the bound');
  await bench.end('complete', ({ target }) => target.url === A);
  const answered = bench.running.length;
  for (let nth = 0; nth < 4; nth += 1)
    bench.queue.add(item(`more${nth}`, A, { account: 'waits_0', isLook: true }), new URL(A));
  await settled();
  assert.is(bench.running.length - answered, 4, 'it answers');
  await bench.add(B, 4, 'newcomer');
  assert.is(bench.to(B), 4);
});

test('a URL that answered and rested finds room beside all that never answered', async () => {
  const bench = await hangingBench(100);
  await bench.add(B, 1, 'quick');
  await bench.end('complete');
  bench.now += 3_600_000;
  bench.queue.sweep();
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `hangs_${nth}`);
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `new_${nth}`);
  assert.is(bench.running.length, 32);
  await bench.add(B, 4, 'quick');
  assert.is(bench.to(B), 4);
});

test('URLs that answered, rested and now hang leave room to one that answers', async () => {
  const bench = new Bench({ maxInFlight: 64 });
  for (let nth = 0; nth < 100; nth += 1) {
    await bench.add(A, 1, `rested_${nth}`);
    await bench.end('complete');
  }
  bench.now = 10_000;
  bench.queue.sweep();
  await bench.add(B, 1, 'quick');
  await bench.end('complete');
  for (let nth = 0; nth < 100; nth += 1) await bench.add(A, 1, `rested_${nth}`);
  assert.is(bench.running.length, 48);
  await bench.add(B, 4, 'quick');
  assert.is(bench.to(B), 4);
});

test('what waits behind an attempt that ends as it starts goes on, however it ends', async () => {
  for (const ending of ['complete', 'failed'] as const) {
    let started = 0;
    const queue = new OriginQueue(senderLimits({}), {
      start: (slot) => {
        started += 1;
        if (ending === 'complete') queue.answered(slot);
        queue.ended(slot, ending);
      },
      putOff: () => assert.unreachable(),
      release: () => {},
      clock: () => 0,
    });
    // The standings have their first turns one after the other.
    for (let nth = 0; nth < 4; nth += 1) {
      const url = `http://o${nth}.example/`;
      for (let each = 0; each < 3; each += 1) queue.add(item(`t${nth} ${each}`, url), new URL(url));
      await settled();
      assert.is(started, 3 * (nth + 1), `${ending} ${nth}`);
    }
  }
});

test('after clear nothing starts', async () => {
  const bench = new Bench();
  await bench.add(A, 10);
  bench.queue.clear();
  await bench.end('complete', undefined, 4);
  assert.is(bench.running.length, 0);
});

test.run();
