/** Ops hear of a process that is about to have no file descriptors left, once each time. */
import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('the watch over file descriptors');

/** What is told after so many files are open, each, by a process that may have so many descriptors. */
function told(most: number, counts: readonly number[]): string[][] {
  const command = `ulimit -n ${most} && exec "$0" --import tsx test/jobs/descriptors-process.ts "$1"`;
  const child = spawnSync('sh', ['-c', command, process.execPath, JSON.stringify(counts)], {
    encoding: 'utf8',
  });
  assert.is(child.status, 0, child.stderr);
  return child.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('it is told when four fifths are in use, and again once it was fewer', () => {
  // A process has some 20 to 40 of its own.
  const [few, many, more, fewer, again] = told(400, [0, 330, 350, 100, 340]);
  assert.equal([few, more, fewer], [[], [], []]);
  assert.match(many?.join() ?? '', /^3\d\d of 400 file descriptors are in use \(ulimit -n\)/);
  assert.match(again?.join() ?? '', /^3\d\d of 400 file descriptors/);
});

test.run();
