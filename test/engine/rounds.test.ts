/** Whose turn it is: all that waits in one turn, in order and bounded; on LMDB what is decided shares a group. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Rounds } from '../../src/engine/actors/rounds.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { openLmdbStore } from '../../src/store/lmdb/store.ts';
import { turn } from '../../src/waiting.ts';
import { engineOn } from './on-store.ts';

const test = suite('rounds');

/** Actors that say when their turn came. */
function actorsOf(count: number, commands: number, begun: number[]): { begin(): number }[] {
  return Array.from({ length: count }, (_, index) => ({
    begin: () => {
      begun.push(index);
      return commands;
    },
  }));
}

test('accounts have their turns in order, so many commands in a turn', async () => {
  const rounds = new Rounds();
  const begun: number[] = [];
  for (const actor of actorsOf(40, 1, begun)) rounds.add(actor);
  assert.equal(begun, [], 'nothing before the end of the turn');
  await turn();
  assert.is(begun.length, 16);
  await turn();
  assert.is(begun.length, 32);
  await turn();
  assert.equal(
    begun,
    Array.from({ length: 40 }, (_, index) => index),
  );
});

test('the batch of one account is not split, and the others come after it', async () => {
  const rounds = new Rounds();
  const begun: number[] = [];
  for (const actor of actorsOf(3, 500, begun)) rounds.add(actor);
  await turn();
  assert.equal(begun, [0]);
  await turn();
  await turn();
  assert.equal(begun, [0, 1, 2]);
});

test('commands of many accounts that come in one turn are written in one group', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pixstate-test-'));
  const groups: number[] = [];
  const store = await openLmdbStore({
    folder,
    incarnation: 'a',
    now: Date.now,
    onFatal: (error) => {
      throw error;
    },
    onFlush: (_ms, writes) => groups.push(writes),
  });
  try {
    const engine = engineOn(store, Date.now, { settings: () => null });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        adjust(engine, `acc_${index}`, { id: 'x', amount: index + 1, reason: 'test', allowNegative: false }),
      ),
    );
    assert.equal(
      answers.map((answer) => answer.kind === 'adjusted' && answer.balance),
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
    assert.equal(groups, [12]);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test.run();
