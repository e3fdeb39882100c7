import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeTables, openTables } from '../../../src/store/lmdb/tables.ts';
import { withFolder } from '../../faults/scene.ts';
import { type Spawned, spawnNode } from '../../support/process.ts';
import { sleep, until } from '../../support/wait.ts';

const test = suite('opening the embedded store');

const WRITES_MS = 4_000;
/** More than there are cores: one that is stopped in the middle of opening is what does the harm. */
const OPENERS = 6;
/** Pages in the tree, so that a lost transaction also leaves pages that two transactions took. */
const FILLING = 2_000;
/** Starting them takes seconds on a busy machine. */
const UNDER_WAY_MS = 60_000;

function startOpeners(count: number, folder: string): Spawned[] {
  return Array.from({ length: count }, () =>
    spawnNode(['--import', 'tsx', 'test/store/lmdb/opener.ts', folder], {}),
  );
}

/** Resolves once all are well under way and have been for a while. */
async function atWork(openers: readonly Spawned[]): Promise<void> {
  const all = () => openers.every(({ stdout }) => stdout().includes('under way'));
  await until(all, UNDER_WAY_MS, 'openers under way');
  await sleep(WRITES_MS);
}

/** How often an opener that has ended did its round. */
function roundsOf({ stdout }: Spawned): number {
  return Number(/^\d+$/m.exec(stdout())?.[0]);
}

test('beside a process that writes all the time loses nothing of what it wrote', async () => {
  await withFolder(async (folder) => {
    const tables = await openTables(folder);
    const { transactions, gate, root } = tables;
    const put = (key: string): Promise<unknown> =>
      gate.write(() => root.batch(() => void transactions.put(key, 'v'.repeat(300))));
    for (let n = 0; n < FILLING; n += 1) void transactions.put(`filling-${n}`, 'v'.repeat(900));
    await put('first');
    const openers = startOpeners(OPENERS, folder);
    let isOver = false;
    const over = atWork(openers).finally(() => {
      isOver = true;
    });
    let written = 0;
    for (; !isOver; written += 1) await put(`${process.pid}-${written}`);
    await over;
    for (const opener of openers) opener.child.kill('SIGTERM');
    const ends = await Promise.all(openers.map(({ ended }) => ended));
    assert.ok(
      ends.every(({ code }) => code === 0),
      JSON.stringify(ends),
    );
    root.resetReadTxn();
    const counts = new Map(openers.map((opener) => [opener.pid, roundsOf(opener)]));
    const opened = [...counts.values()].reduce((sum, count) => sum + count, 0);
    console.log(`${written} writes beside ${2 * opened} openings and ${opened} writes of theirs`);
    assert.ok(written > 100 && opened > 100, 'one of them came to nothing');
    const keys = [...counts.set(process.pid, written)].flatMap(([pid, count]) =>
      Array.from({ length: count }, (_, n) => `${pid}-${n}`),
    );
    assert.equal(
      keys.filter((key) => transactions.get(key) === undefined),
      [],
    );
    await closeTables(tables);
  });
});

test('by several processes that come and go: each gets it whole, whoever of them was the last to close it', async () => {
  await withFolder(async (folder) => {
    const openers = startOpeners(3, folder);
    await atWork(openers);
    for (const opener of openers) opener.child.kill('SIGTERM');
    for (const opener of openers) {
      const { code, stdout, stderr } = await opener.ended;
      assert.is(code, 0, stderr);
      assert.ok(roundsOf(opener) > 10, stdout);
    }
    const tables = await openTables(folder);
    const expected = openers.reduce((sum, opener) => sum + roundsOf(opener), 0);
    assert.is(tables.transactions.getCount(), expected);
    await closeTables(tables);
  });
});

test.run();
