import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeTables, openTables } from '../../src/store/lmdb-tables.ts';
import { withFolder } from '../faults/scene.ts';
import { spawnNode } from '../support/process.ts';
import { sleep } from '../support/wait.ts';

const test = suite('opening the embedded store');

const WRITES_MS = 4_000;
/** More than there are cores: one that is stopped in the middle of opening is what does the harm. */
const OPENERS = 6;
/** Pages in the tree, so that a lost transaction also leaves pages that two transactions took. */
const FILLING = 2_000;

test('beside a process that writes all the time loses nothing of what it wrote', async () => {
  await withFolder(async (folder) => {
    const tables = await openTables(folder);
    const { transactions, gate, root } = tables;
    const put = (key: string): Promise<unknown> =>
      gate.write(() => root.batch(() => void transactions.put(key, 'v'.repeat(300))));
    for (let n = 0; n < FILLING; n += 1) void transactions.put(`filling-${n}`, 'v'.repeat(900));
    await put('first');
    const openers = Array.from({ length: OPENERS }, () =>
      spawnNode(['--import', 'tsx', 'test/store/opener.ts', folder], {}),
    );
    let written = 0;
    const until = performance.now() + WRITES_MS;
    for (; performance.now() < until; written += 1) await put(`${process.pid}-${written}`);
    for (const opener of openers) opener.child.kill('SIGTERM');
    const ends = await Promise.all(openers.map(({ ended }) => ended));
    assert.ok(
      ends.every(({ code }) => code === 0),
      JSON.stringify(ends),
    );
    root.resetReadTxn();
    const counts = new Map(openers.map(({ pid, stdout }) => [pid, Number(stdout())]));
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
    const openers = Array.from({ length: 3 }, () =>
      spawnNode(['--import', 'tsx', 'test/store/opener.ts', folder], {}),
    );
    await sleep(WRITES_MS);
    for (const opener of openers) opener.child.kill('SIGTERM');
    for (const { ended } of openers) {
      const { code, stdout, stderr } = await ended;
      assert.is(code, 0, stderr);
      assert.ok(Number(stdout) > 10, stdout);
    }
    const tables = await openTables(folder);
    const expected = openers.reduce((sum, { stdout }) => sum + Number(stdout()), 0);
    assert.is(tables.transactions.getCount(), expected);
    await closeTables(tables);
  });
});

test.run();
