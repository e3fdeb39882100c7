/** What lmdb maps has its place on the disk before it is touched, so that a full one ends nobody. */
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type EnvironmentFile, openRoot } from '../../../src/store/environments/lmdb.ts';
import { withFolder } from '../../faults/scene.ts';

const test = suite('the opening of an environment');

/** As lmdb makes it, before anybody has touched it. */
const HOLE_BYTES = 8_272;
/** What `stat` counts in. */
const BLOCK = 512;

/** A file that is whole is as large on the disk. */
function expectWhole(path: string): void {
  const { size, blocks } = statSync(path);
  assert.ok(size > 0 && blocks * BLOCK >= size, `${path}: ${blocks} blocks for ${size} bytes`);
}

async function opened(file: EnvironmentFile, body: () => Promise<void> | void): Promise<void> {
  const root = openRoot(file);
  try {
    await body();
  } finally {
    await root.close();
  }
}

test('its lock file is whole, and nothing else is left', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'tables');
    await opened({ path, readOnly: false, maxDbs: 1 }, () => expectWhole(`${path}-lock`));
    assert.equal(readdirSync(folder).sort(), ['tables', 'tables-lock']);
  });
});

test('one that a process has died over is made whole, also by who only reads', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'tables');
    await opened({ path, readOnly: false, maxDbs: 1 }, () => {});
    writeFileSync(`${path}-lock`, '');
    truncateSync(`${path}-lock`, HOLE_BYTES);
    await opened({ path, readOnly: true, maxDbs: 1 }, () => expectWhole(`${path}-lock`));
  });
});

test('one that is in use stays as it is', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'tables');
    await opened({ path, readOnly: false, maxDbs: 1 }, async () => {
      const { ino } = statSync(`${path}-lock`);
      const before = readFileSync(`${path}-lock`);
      await opened({ path, readOnly: true, maxDbs: 1 }, () => {});
      assert.is(statSync(`${path}-lock`).ino, ino);
      assert.ok(readFileSync(`${path}-lock`).subarray(0, 8).equals(before.subarray(0, 8)));
      assert.ok(before.some((byte) => byte !== 0));
    });
  });
});

test.run();
