/** What ends work that takes too long, and work in slices. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deadlines, inSlices, pause } from '../src/waiting.ts';

const test = suite('waiting');

test('who asks within the spread gets one signal, who asks later another, and each aborts in its time', async () => {
  const deadline = deadlines(100, 50);
  const askedAt = performance.now();
  const first = deadline();
  assert.is(first.aborted, false);
  assert.is(deadline(), first);
  await pause(60);
  const second = deadline();
  assert.is.not(second, first);
  assert.is(first.aborted, false);
  const aborted = new Promise<number>((resolve) => {
    first.addEventListener('abort', () => resolve(performance.now()));
  });
  // Timers may be a millisecond early, and the process has nothing else that keeps it up.
  const [abortedAt] = await Promise.all([aborted, pause(300)]);
  assert.ok(abortedAt - askedAt >= 149, `after ${abortedAt - askedAt} ms`);
  assert.is(second.aborted, true);
  assert.is((first.reason as DOMException).name, 'TimeoutError');
});

test('one signal has many listeners without a warning, and its timer keeps no process up', async () => {
  const warnings: Error[] = [];
  const keep = (warning: Error): void => void warnings.push(warning);
  process.on('warning', keep);
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const signal = deadlines(60_000, 60_000)();
  assert.is(timers(), before);
  for (let listener = 0; listener < 100; listener++) signal.addEventListener('abort', () => {});
  await pause(20);
  process.off('warning', keep);
  assert.equal(warnings, []);
});

test('work in slices gives way after each hundred, and keeps the order', async () => {
  const turns: number[] = [];
  let turn = 0;
  let isOver = false;
  const next = (): void => {
    turn += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const numbers = [...Array(250).keys()];
  const results = await inSlices(numbers, (number) => {
    turns.push(turn);
    return number % 2 === 0 ? number : Promise.resolve(number);
  });
  isOver = true;
  assert.equal(results, numbers);
  assert.is(new Set(turns.slice(0, 100)).size, 1);
  assert.equal([turns[99] === turns[100], turns[199] === turns[200]], [false, false]);
  assert.equal(await inSlices([], () => 1), []);
});

test.run();
