/** A disk that is full: under a limit on the size of its files (`ulimit -f`), a write fails for real (EFBIG). */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { clientOf } from '../support/client.ts';
import { type Env, endWithin, type Spawned, spawnProgram } from '../support/process.ts';
import { serverEnv, startServer } from '../support/server.ts';
import { expectCleanEnd } from './broken-disk.ts';
import { expectVerified, withFolder } from './scene.ts';

const test = suite('disk');

/** `ulimit -f` counts 1024 bytes in bash. */
function spawnLimited(kilobytes: number, env: Env): Spawned {
  const command = `ulimit -f ${kilobytes}; exec "$0" dist/src/main.js`;
  return spawnProgram('bash', ['-c', command, process.execPath], env);
}

test('a file that may not grow: no more success, a word on why, an exit status, and a clean start', async () => {
  await expectCleanEnd({}, (server) => {
    const bytes = statSync(join(server.dataDir, 'pixstate.log')).size;
    return spawnLimited(Math.ceil(bytes / 1024) + 1_500, server.env);
  });
});

test('a first start on a full disk leaves nothing behind that a second one stumbles over', async () => {
  await withFolder(async (folder) => {
    const env = serverEnv(folder, await freePort(), await freePort());
    const outcome = await endWithin(spawnLimited(0, env), 15_000);
    assert.ok(outcome.code !== 0 && outcome.code !== null, `it ended with ${outcome.code}`);
    const again = await startServer({ dataDir: folder });
    try {
      assert.is((await clientOf(again).get('/balance')).status, 401);
      await expectVerified(again);
    } finally {
      await again.stop();
    }
  });
});

test.run();
