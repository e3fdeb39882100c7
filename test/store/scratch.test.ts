/** A table in the folder for temporary files: where its file may grow no more (`ulimit -f`), that is said in time. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { withFolder } from '../faults/scene.ts';
import { endWithin, spawnNode, spawnProgram } from '../support/process.ts';

const test = suite('a temporary table');

/** In KB: too little for an empty table, or a header and no table, or a few rows; the last one holds hundreds. */
const LIMITS = [0, 16, 90, 2_000];
const PATIENCE_MS = 60_000;

for (const limit of LIMITS)
  test(`of ${limit} KB at the most: a word on why no more can be put, before lmdb fails to write it`, async () => {
    await withFolder(async (folder) => {
      const command = `ulimit -f ${limit}; exec "$0" --import tsx test/store/scratch-filled.ts`;
      const env = { TMPDIR: folder, TSX_DISABLE_CACHE: '1' };
      const { code, signal, stdout, stderr } = await endWithin(
        spawnProgram('bash', ['-c', command, process.execPath], env),
        PATIENCE_MS,
      );
      assert.equal([code, signal, stderr], [0, null, '']);
      assert.match(stdout, `OperatorError: no temporary files can be written in ${folder}: EFBIG`);
      assert.equal(readdirSync(folder), [], 'it is gone');
    });
  });

test('is gone with the process that ends amid a rebuild', async () => {
  await withFolder(async (path) => {
    const TMPDIR = join(path, 'temporary');
    mkdirSync(TMPDIR);
    const folder = new Folder(join(path, 'data'));
    await folder.account('--balance', '5000');
    const env = { DATA_DIR: folder.path, TMPDIR, TSX_DISABLE_CACHE: '1' };
    const ending = spawnNode(['--import', 'tsx', 'test/store/scratch-left.ts'], env);
    const { code, stderr } = await endWithin(ending, PATIENCE_MS);
    assert.equal([code, stderr], [1, '']);
    assert.equal(readdirSync(TMPDIR), []);
  });
});

test.run();
