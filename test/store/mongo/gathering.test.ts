import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Groups } from '../../../src/store/mongo/gathering.ts';
import { sleep } from '../../support/wait.ts';

const test = suite('groups of what waits for the database');

/** What waits, sent by the rule; each group ends when the test says so. */
function sender() {
  const sent: number[] = [];
  const ends: (() => void)[] = [];
  let waiting = 0;
  const send = (): void => {
    if (!groups.admits(waiting)) return;
    sent.push(waiting);
    const work = new Promise<void>((resolve) => ends.push(resolve));
    groups.follow(waiting, work);
    waiting = 0;
  };
  const groups = new Groups(send);
  return {
    sent,
    come(count: number): void {
      waiting += count;
      send();
    },
    /** Ends a group, and waits until that is known. */
    async end(index: number): Promise<void> {
      ends[index]?.();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

test('the first is sent at once, and what is as large as all under way', () => {
  const { sent, come } = sender();
  come(1);
  come(3);
  assert.equal(sent, [1, 3]);
  come(3);
  assert.equal(sent, [1, 3]);
  come(1);
  assert.equal(sent, [1, 3, 4]);
});

test('a small group waits for the end of what is under way', async () => {
  const { sent, come, end } = sender();
  come(10);
  come(4);
  assert.equal(sent, [10]);
  await end(0);
  assert.equal(sent, [10, 4]);
});

test('but not for long, and what comes after it waits again', async () => {
  const { sent, come } = sender();
  come(10);
  come(4);
  await sleep(50);
  assert.equal(sent, [10, 4]);
  come(5);
  assert.equal(sent, [10, 4]);
  await sleep(50);
  assert.equal(sent, [10, 4, 5]);
});

test('nothing is sent where nothing waits; a group that fails ends as well', async () => {
  let calls = 0;
  const groups = new Groups(() => {
    calls += 1;
  });
  assert.is(groups.admits(0), false);
  groups.follow(3, Promise.reject(new Error('no')));
  assert.is(groups.admits(2), false);
  await sleep(1);
  assert.ok(calls >= 1);
  assert.is(groups.admits(2), true);
});

test.run();
