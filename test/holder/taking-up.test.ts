/** A command that opens a store whose log is to be taken up, and whoever wants to have the folder meanwhile. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { askForWay } from '../../src/holder/asking.ts';
import { FolderHold, type Self } from '../../src/holder/hold.ts';
import { GivenWay } from '../../src/holder/works.ts';
import { holderOf } from '../../src/store/folder-lock.ts';
import { logIn, projectionsIn } from '../../src/store/lmdb/files.ts';
import { Log } from '../../src/store/lmdb/log/log.ts';
import { ProjectionsFile } from '../../src/store/lmdb/projections/file.ts';
import { packageVersion } from '../../src/version.ts';
import { expectVerified, withFolder } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { at, parseJson } from '../support/json.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { until } from '../support/wait.ts';

const test = suite('a log that is taken up');

/** Taken up for longer than it takes to be asked. */
const ACCOUNTS = 10_000;
const SOON_MS = 20_000;
const VERSION = packageVersion();
const SELF: Self = {
  ...{ incarnation: 'of a test', pid: process.pid, since: '2026-01-05T12:00:00.000Z' },
  ...{ version: VERSION, what: 'serve' },
};

/** How many rows of the log nobody has taken up yet, where this process holds the folder. */
async function rowsLeft(folder: string): Promise<number> {
  const log = new Log(logIn(folder), { readOnly: true });
  try {
    const file = await ProjectionsFile.toRead(projectionsIn(folder), log);
    const left = log.end() - (file?.mark ?? 0);
    await file?.close();
    return left;
  } finally {
    await log.close();
  }
}

async function away(): Promise<never> {
  throw new GivenWay();
}

/** A folder whose log is to be taken up anew, as after a power cut. */
async function withLostProjections(body: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await cliJson(folder, ['account', 'create', '--count', String(ACCOUNTS), '--balance', '5']);
    for (const name of ['', '-lock']) await rm(`${projectionsIn(folder)}${name}`);
    await body(folder);
  });
}

for (const args of [
  ['account', 'list'],
  ['account', 'create'],
])
  test(`${args.join(' ')} gives way in the middle of that, and does its work afterwards`, async () => {
    await withLostProjections(async (folder) => {
      const env = { DATA_DIR: folder, LOG_LEVEL: 'warn' };
      const command = spawnNode(['dist/src/cli/pixstate.js', ...args, '--json'], env);
      const holder = await until(() => holderOf(folder), SOON_MS, 'a command that holds the folder');
      const startedAt = performance.now();
      assert.is(await askForWay(folder, holder, VERSION), null);
      const take = (): Promise<FolderHold | null> => FolderHold.take(folder, SELF, Promise.resolve(away));
      const hold = await until(take, SOON_MS, 'the folder');
      const elapsedMs = performance.now() - startedAt;
      try {
        assert.ok((await rowsLeft(folder)) > 0, `all was taken up first, in ${elapsedMs} ms`);
      } finally {
        await hold.release();
      }
      const { code, stdout, stderr } = await endWithin(command, SOON_MS);
      assert.is(code, 0, stderr);
      assert.ok(at(parseJson(stdout) ?? null, args[1] === 'list' ? 'accounts' : 'accountId') !== undefined);
      await expectVerified(folder);
    });
  });

test.run();
