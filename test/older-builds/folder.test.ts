/**
 * Data folders that older builds left are served by this one, as they are; commands that only read want them to have
 * been brought up to date.
 */
import { readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { takeOver } from '../../src/store/lmdb/former/takeover.ts';
import { cli } from '../support/cli.ts';
import { type Copy, copyFolder } from '../support/older-build.ts';
import { readsTheSame } from './reads.ts';
import { goesOn } from './serves.ts';

async function broughtUpToDate(build: string): Promise<Copy> {
  const copy = await copyFolder(build);
  await takeOver({ folder: copy.dataDir, now: Date.now(), onProgress: () => {} });
  return copy;
}

for (const build of ['70ffb18', '9d9e428']) {
  readsTheSame(`a data folder of ${build} reads the same`, () => broughtUpToDate(build));
  goesOn(`a data folder of ${build} goes on`, () => copyFolder(build));

  const test = suite(`a data folder of ${build} as it was left`);

  test('is not touched by commands that only read: they say what it takes', async () => {
    const copy = await copyFolder(build);
    try {
      const before = await readFile(`${copy.dataDir}/pixstate.lmdb`);
      for (const args of [['attention'], ['verify'], ['account', 'list']]) {
        const { code, stdout, stderr } = await cli(copy.dataDir, args, copy.env);
        assert.is(code, 1);
        assert.is(stdout, '');
        assert.match(stderr, /^error: the store in \S+ is a former build's: start the server once[^\n]*\n$/);
      }
      assert.ok((await readFile(`${copy.dataDir}/pixstate.lmdb`)).equals(before));
    } finally {
      await copy.remove();
    }
  });

  test('is brought up to date by a command that writes', async () => {
    const copy = await copyFolder(build);
    try {
      const created = await cli(copy.dataDir, ['account', 'create', '--name', 'Later'], copy.env);
      assert.is(created.code, 0, created.stderr);
      const { code, stderr } = await cli(copy.dataDir, ['verify', '--decide'], copy.env);
      assert.is(code, 0, stderr);
    } finally {
      await copy.remove();
    }
  });

  test.run();
}
