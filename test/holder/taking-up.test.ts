/**
 * Who opens a store whose log is to be taken up: a command, and whoever wants to have the folder meanwhile; a server, and
 * whoever asks it or ends it meanwhile.
 */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { codeOf } from '../../src/errors.ts';
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
import { fetchReply, type Reply } from '../support/client.ts';
import { at, parseJson } from '../support/json.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { serverEnv } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';

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

/** What a server that takes up the log answers; a connection of its own for each, as probes have. */
async function expectStarting(root: string): Promise<void> {
  const get = (path: string): Promise<Reply> =>
    fetchReply('GET', `${root}${path}`, null, { connection: 'close' });
  const [alive, ready, balance] = await Promise.all(['/livez', '/readyz', '/v1/balance'].map(get));
  assert.equal([alive?.status, alive?.body], [200, { status: 'alive' }]);
  assert.equal([ready?.status, ready?.body], [503, { status: 'not ready', reason: 'starting' }]);
  assert.equal([balance?.status, at(balance?.body ?? null, 'error')], [503, 'SERVICE_UNAVAILABLE']);
  assert.ok(balance?.headers['retry-after'] !== undefined);
}

/** Whether it is ready; null where it doesn't listen. @throws where it answers nothing, or anything else */
async function readiness(root: string): Promise<boolean | null> {
  try {
    const { status, body } = await fetchReply('GET', `${root}/readyz`, null, { connection: 'close' });
    if (status === 503) assert.equal(body, { status: 'not ready', reason: 'starting' });
    else assert.is(status, 200);
    return status === 200;
  } catch (error) {
    if (codeOf(error) === 'ECONNREFUSED') return null;
    throw error;
  }
}

for (const HTTP_THREADS of ['0', '1'])
  test(`a server with ${HTTP_THREADS} HTTP threads answers meanwhile, and ends in order`, async () => {
    await withLostProjections(async (folder) => {
      const port = await freePort();
      const root = `http://127.0.0.1:${port}`;
      const own = { MONGODB_URI: '', HTTP_THREADS };
      const env = serverEnv(folder, port, await freePort(), own);
      const listens = async (): Promise<boolean> => (await readiness(root)) !== null;
      const ended = spawnNode(['dist/src/main.js'], env);
      await until(listens, SOON_MS, 'a server that listens');
      await expectStarting(root);
      ended.child.kill('SIGTERM');
      const { code, stderr } = await endWithin(ended, SOON_MS);
      assert.is(code, 0, stderr);
      const told = stderr
        .trim()
        .split('\n')
        .map((line) => at(parseJson(line) ?? null, 'msg'));
      assert.equal(told, ['requests are refused'], stderr);
      assert.ok((await rowsLeft(folder)) > 0, 'it took up all of the log first');

      const served = spawnNode(['dist/src/main.js'], env);
      try {
        await until(listens, SOON_MS, 'a server that listens');
        for (let isReady: boolean | null = false; isReady !== true; isReady = await readiness(root)) {
          assert.is.not(isReady, null, 'a connection was refused');
          await sleep(5);
        }
        await expectVerified(folder);
      } finally {
        served.child.kill('SIGTERM');
        assert.is((await endWithin(served, SOON_MS)).code, 0);
      }
    });
  });

test.run();
