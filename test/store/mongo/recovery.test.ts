/** What a process remembers of dead ones that it looks through again. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { documentId } from '../../../src/store/mongo/appends/numbers.ts';
import { Recovery, type RecoveryParts } from '../../../src/store/mongo/recovery/recovery.ts';
import { turn } from '../../../src/waiting.ts';

const test = suite('store/mongo/recovery');

const BATCH = documentId('dead', 1);

/** A recovery that a dead process is told to, with one batch; how often that was asked for at each look. */
function looking() {
  const asked: number[] = [];
  const dead = { isForgotten: false };
  const parts = {
    numbers: { left: () => [] },
    processes: {
      takeSilent: () => [{ _id: 'dead', projected: 0 }],
      forget: async () => dead.isForgotten,
    },
    reads: {
      batchIds: async () => [BATCH],
      unfinished: async () => {
        asked.push((asked.pop() ?? 0) + 1);
        return [{ _id: BATCH, account: 'a', seq: 1, transactions: [] }];
      },
    },
    finishing: { project: async () => {} },
  };
  const recovery = new Recovery(parts as unknown as RecoveryParts);
  const look = async (): Promise<number | undefined> => {
    asked.push(0);
    recovery.begin();
    for (let turns = 0; turns < 5; turns += 1) await turn();
    return asked.at(-1);
  };
  return { dead, look };
}

test('what was finished of a dead process is remembered until that is forgotten, and no longer', async () => {
  const { dead, look } = looking();
  assert.equal([await look(), await look()], [1, 0], 'it is listed still, and looked through again');
  dead.isForgotten = true;
  assert.equal([await look(), await look()], [0, 1]);
});

test.run();
