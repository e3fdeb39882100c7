/** A file of lmdb's with more free pages than a page of their list holds, written beside a reader who stays. */
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRoot } from '../../../src/store/environments/lmdb.ts';
import { Room } from '../../../src/store/environments/room.ts';
import { withFolder } from '../../faults/scene.ts';

const test = suite('free pages of an environment');

/** Of 15 pages: too many for a search of this list to settle for them when one page is wanted. */
const LARGE = 'x'.repeat(58_000);
const LARGE_ROWS = 560;
/** Of a page of its own. */
const SMALL = 'x'.repeat(3_000);
const SMALL_ROWS = 60;
/** Three to four pages are taken by each: more than the small rows leave free. */
const WRITES = 30;

function keyOf(index: number): string {
  return `row.${String(index).padStart(6, '0')}`;
}

async function withTable<Result>(
  path: string,
  work: (root: RootDatabase, table: Database<string, string>) => Promise<Result>,
): Promise<Result> {
  const root = openRoot({ path, readOnly: false, noSync: true, maxDbs: 2 });
  try {
    return await work(root, root.openDB<string, string>({ name: 'table', encoding: 'string' }));
  } finally {
    await root.close();
  }
}

/** Leaves 280 free blocks of 15 pages and 30 of a single one, all in the oldest row of lmdb's list. */
async function makeHoles(path: string): Promise<void> {
  const rows = LARGE_ROWS + SMALL_ROWS;
  await withTable(path, async (_, table) => {
    await table.batch(() => {
      for (let i = 0; i < rows; i += 1) void table.put(keyOf(i), i < LARGE_ROWS ? LARGE : SMALL);
    });
  });
  await withTable(path, async (_, table) => {
    await table.batch(() => {
      for (let i = 0; i < rows; i += 2) void table.remove(keyOf(i));
    });
    // What a transaction has freed can be had from the next but one on.
    await table.put(keyOf(1), 'changed');
  });
}

test('who writes on beside a reader loses nothing, and takes free pages before new ones', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'file');
    await makeHoles(path);
    await withTable(path, async (root, table) => {
      const room = new Room(root, path);
      const { used } = room;
      const pinned = root.useReadTransaction();
      assert.is(table.get(keyOf(1), { transaction: pinned }), 'changed');
      for (let i = 0; i < WRITES; i += 1) await table.put(keyOf(1), `write ${i}`);
      assert.is(table.get(keyOf(1), { transaction: pinned }), 'changed');
      pinned.done();
      assert.is(room.used, used);
      room.close();
    });
    await withTable(path, async (_, table) => {
      assert.is(table.get(keyOf(1)), `write ${WRITES - 1}`);
      assert.is(table.get(keyOf(LARGE_ROWS - 1)), LARGE);
      assert.is([...table.getKeys()].length, (LARGE_ROWS + SMALL_ROWS) / 2);
    });
  });
});

test.run();
