/** The log's file: rows at its end. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Log } from '../../../src/store/lmdb/log/log.ts';

const test = suite('lmdb: log');

async function add(log: Log, rows: readonly string[]): Promise<void> {
  const group = log.begin();
  await log.write(group, () => {
    for (const row of rows) group.batch(row);
  });
}

async function withPath(work: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pixstate-test-'));
  try {
    await work(join(folder, 'log'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('rows fill the pages: the file is not much longer than what is in it', async () => {
  await withPath(async (path) => {
    const log = new Log(path);
    const row = 'x'.repeat(1_250);
    for (let group = 0; group < 200; group += 1) await add(log, new Array<string>(15).fill(row));
    assert.is(log.last, 3_000);
    // Three rows lie in a page of 4,096 bytes.
    const { size } = statSync(path);
    assert.ok(size < 1_000 * 4_096 + 200_000, `${size} bytes`);
    await log.close();
  });
});

test('a row that would not be the last is refused', async () => {
  await withPath(async (path) => {
    const log = new Log(path);
    const other = new Log(path);
    await add(log, ['ours']);
    try {
      await add(other, ['somebody else’s']);
      assert.unreachable('it was taken');
    } catch (error) {
      assert.match(String(error), /rows of somebody else/);
    }
    assert.equal(
      [...log.after(0)].map(({ text }) => text),
      ['ours'],
    );
    await other.close();
    await log.close();
  });
});

test.run();
