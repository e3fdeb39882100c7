/** What shares a group of the log, and who waits for whom. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LogGroup } from '../../../src/store/lmdb/log/group.ts';
import { WriteQueue } from '../../../src/store/lmdb/log/write-queue.ts';
import { sleep, until } from '../../support/wait.ts';

const test = suite('write queue');

/** A queue over no disk: each group's names, and its end when it is told. */
function scene() {
  const groups: string[][] = [];
  const ends: (() => void)[] = [];
  const done: string[] = [];
  const queue = new WriteQueue({
    begin: () => new LogGroup(() => 1),
    write: (_group, issue) => {
      groups.push([]);
      issue();
      return new Promise((resolve) => ends.push(resolve));
    },
    onWritten: () => {},
    onFatal: (error) => {
      throw error;
    },
  });
  const add = (name: string, isPatient = false): void =>
    queue.add(
      {
        issue: () => void groups.at(-1)?.push(name),
        done: () => void done.push(name),
        reject: (error) => {
          throw error;
        },
      },
      isPatient,
    );
  return { queue, groups, ends, done, add };
}

/** All that comes of what was done, before any timer's turn. */
async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

test('what nobody waits for goes with what somebody does, in the order in which they came', async () => {
  const { groups, ends, done, add } = scene();
  add('an end', true);
  add('another', true);
  await settled();
  assert.equal(groups, []);
  add('a batch');
  await until(() => groups.length === 1, 1_000);
  assert.equal(groups, [['an end', 'another', 'a batch']]);
  ends[0]?.();
  await until(() => done.length === 3, 1_000);
  await sleep(20);
  assert.is(groups.length, 1);
});

test('what nobody waits for goes alone after a while', async () => {
  const { groups, ends, done, add } = scene();
  add('an end', true);
  await until(() => groups.length === 1, 1_000);
  assert.equal(groups, [['an end']]);
  ends[0]?.();
  await until(() => done.length === 1, 1_000);
});

test('a group that ends takes nothing along that nobody waits for', async () => {
  const { groups, ends, add } = scene();
  add('a batch');
  await until(() => groups.length === 1, 1_000);
  add('an end', true);
  ends[0]?.();
  await settled();
  assert.equal(groups, [['a batch']]);
  await until(() => groups.length === 2, 1_000);
  assert.equal(groups[1], ['an end']);
});

test('the end of the queue writes what waits, at once', async () => {
  const { queue, groups, ends, done, add } = scene();
  add('an end', true);
  const closed = queue.close();
  assert.equal(groups, [['an end']]);
  ends[0]?.();
  await closed;
  assert.equal(done, ['an end']);
});

test.run();
