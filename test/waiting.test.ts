/** What ends work that takes too long. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deadlines, pause } from '../src/waiting.ts';

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

test.run();
