/** What is surely wrong with the file of an environment, and what only looks as if it were. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'lmdb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  inOneTransaction,
  type Opened,
  openRoot,
  openToWrite,
} from '../../../src/store/environments/lmdb.ts';
import type { Room } from '../../../src/store/environments/room.ts';
import { flawOf } from '../../../src/store/environments/whole.ts';
import { randomOf, withFolder } from '../../faults/scene.ts';

const test = suite('whole files');

const PAGE = 4_096;
/** Rows of eight pages each. */
const ROWS = 400;
const SEED = 20_261_130;
type Rows = Database<string, number>;
type Open = Opened<Rows> & { room: Room };

/** An environment to write to. */
async function written<Result>(path: string, body: (opened: Open) => Promise<Result>): Promise<Result> {
  const opened = openToWrite({ path, maxDbs: 2, noSync: true }, (root) =>
    root.openDB<string, number>({ name: 'rows', encoding: 'string' }),
  );
  try {
    return await body(opened);
  } finally {
    await opened.root.close();
    opened.room.close();
  }
}

function putAll(
  { root, room, tables }: Open,
  rows: readonly [key: number, bytes: number][],
): Promise<unknown> {
  return inOneTransaction(root, room, () => rows.map(([key, bytes]) => tables.put(key, 'x'.repeat(bytes))));
}

test('one that was cut short is told at any length, and one that is longer than it need be is whole', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'tables');
    await written(path, async (opened) => {
      for (let nth = 0; nth < 20; nth++) await putAll(opened, [[nth, 3_000]]);
    });
    const bytes = readFileSync(path);
    assert.is(flawOf(path), null);
    appendFileSync(path, Buffer.alloc(3 * PAGE + 1));
    assert.is(flawOf(path), null);
    for (let length = bytes.length - 1; length > 0; length -= 1_000) {
      writeFileSync(path, bytes.subarray(0, length));
      assert.match(flawOf(path) ?? '', `is cut short: it has ${length} of `);
    }
    writeFileSync(path, bytes.subarray(0, -1));
    assert.throws(
      () => openRoot({ path, readOnly: true, maxDbs: 2 }),
      new RegExp(`^${path} is cut short: it has ${bytes.length - 1} of ${bytes.length} bytes: `),
    );
    writeFileSync(path, '');
    assert.is(flawOf(path), null);
    assert.is(flawOf(join(folder, 'none')), null);
  });
});

test('one in whose header there is something else is told', async () => {
  await withFolder((folder) => {
    const path = join(folder, 'tables');
    for (const bytes of [Buffer.alloc(5 * PAGE), Buffer.alloc(5 * PAGE, 'x'), Buffer.alloc(200, 'x')]) {
      writeFileSync(path, bytes);
      assert.is(flawOf(path), 'is no file of LMDB');
    }
    return Promise.resolve();
  });
});

/** Cuts as many pages off the file's end as it can do without; gives how many. */
function cutFreePages(path: string): number {
  const bytes = readFileSync(path);
  const pages = bytes.length / PAGE;
  let fewest = 2;
  let most = pages;
  while (fewest < most) {
    const half = Math.floor((fewest + most) / 2);
    writeFileSync(path, bytes.subarray(0, half * PAGE));
    if (flawOf(path) === null) most = half;
    else fewest = half + 1;
  }
  writeFileSync(path, bytes.subarray(0, most * PAGE));
  return pages - most;
}

/** How deep the tree of the lists of free pages is. */
function depthOf(path: string): number {
  const bytes = readFileSync(path);
  return Math.max(bytes.readUInt16LE(54), bytes.readUInt16LE(PAGE + 54));
}

for (const [what, writes] of [
  ['a list', 10],
  ['a tree of lists', 300],
] as const)
  test(`one without its last pages is whole where they are free, by ${what}`, async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'tables');
      const copy = join(folder, 'copy');
      const rows = (from: number): number[] => Array.from({ length: ROWS }, (_, nth) => from + nth);
      await written(path, async (opened) => {
        const { root, room, tables } = opened;
        const removed = (from: number): Promise<unknown> =>
          inOneTransaction(root, room, () => rows(from).map((key) => tables.remove(key)));
        for (const from of [1, 1 + ROWS])
          await putAll(
            opened,
            rows(from).map((key) => [key, 30_000]),
          );
        await removed(1);
        for (let nth = 0; nth < 3; nth++) await putAll(opened, [[0, 10]]);
        // Beside a reader who stays, the pages of each write have a list of their own.
        const reader = root.useReadTransaction();
        for (let nth = 0; nth < writes; nth++) await putAll(opened, [[0, 10 + nth]]);
        await removed(1 + ROWS);
        writeFileSync(copy, readFileSync(path));
        reader.done();
      });
      assert.is(depthOf(copy), writes < 100 ? 1 : 2);
      const free = cutFreePages(copy);
      assert.ok(free > ROWS * 7, `${free} pages`);
      await written(copy, async (opened) => {
        await putAll(opened, [[1, 30_000]]);
        assert.equal(
          [...opened.tables.getRange()].map(({ key, value }) => [key, value.length]),
          [
            [0, 9 + writes],
            [1, 30_000],
          ],
        );
      });
    });
  });

test('it is whole after each of many writes, and beside them', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'tables');
    const random = randomOf(SEED);
    await written(path, async (opened) => {
      for (let write = 0; write < 300; write++) {
        const rows = Array.from({ length: 1 + Math.floor(random() ** 3 * 60) }, (): [number, number] => [
          Math.floor(random() * 500),
          Math.floor(random() ** 3 * 20_000),
        ]);
        const isWritten = putAll(opened, rows);
        let hasEnded = false;
        void isWritten.then(() => {
          hasEnded = true;
        });
        while (!hasEnded) {
          assert.is(flawOf(path), null);
          await new Promise(setImmediate);
        }
        if (write % 3 === 0)
          await inOneTransaction(opened.root, opened.room, () =>
            rows.map(([key]) => opened.tables.remove(key)),
          );
        assert.is(flawOf(path), null);
      }
    });
  });
});

test.run();
