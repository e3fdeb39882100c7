/** What is due is gone through by windows of time that a bounded command can do. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StoreUnavailable } from '../../../src/engine/store.ts';
import { inWindows } from '../../../src/store/mongo/due/windows.ts';
import { expectRejection } from '../../support/expect.ts';

const test = suite('windows of time');

const HOUR_MS = 3_600_000;

/** A database that changes at most so many things by one command. */
function databaseOf(times: readonly number[], most: number) {
  const changed = new Set<number>();
  let commands = 0;
  const run = (from: number): Promise<number> =>
    inWindows({
      from,
      isMore: async (after) => times.some((at) => at > after),
      change: async (after, upTo) => {
        commands += 1;
        const within = times.filter((at) => at > after && at <= upTo);
        if (within.length > most) throw new StoreUnavailable('it takes too long');
        for (const at of within) changed.add(at);
        return within.length;
      },
    });
  return { run, changed, commands: () => commands };
}

test('however much is due, and however far ahead, all of it is changed', async () => {
  const crowd = Array.from({ length: 5_000 }, (_, n) => 30 * 24 * HOUR_MS + n);
  const few = Array.from({ length: 50 }, (_, n) => (n + 1) * HOUR_MS);
  const far = [Date.UTC(2082, 0), 8.64e15];
  const { run, changed, commands } = databaseOf([...few, ...crowd, ...far], 1_000);
  assert.is(await run(0), 5_052);
  assert.is(changed.size, 5_052);
  assert.ok(commands() < 200, `${commands()} commands`);
});

test('what is due by then is left out', async () => {
  const { run, changed } = databaseOf([5, 10, 11, 20], 1_000);
  assert.is(await run(10), 2);
  assert.equal([...changed], [11, 20]);
});

test('nothing is asked where nothing is due', async () => {
  const { run, commands } = databaseOf([], 1_000);
  assert.is(await run(0), 0);
  assert.is(commands(), 0);
});

test('a database that does not even do a second of it is no matter of width', async () => {
  const { run, commands } = databaseOf([10, 20, 30], 1);
  await expectRejection(run(0), StoreUnavailable);
  assert.is(commands(), 1);
});

test('what fails whenever it is sent is not sent again', async () => {
  let commands = 0;
  const change = async (): Promise<number> => {
    commands += 1;
    if (commands > 3) throw new RangeError('never');
    return 0;
  };
  await expectRejection(inWindows({ from: 0, isMore: async () => true, change }), RangeError);
  assert.is(commands, 4);
});

test.run();
