/** kill -9 of `migrate-store` at random moments, and the same command again. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { randomOf } from '../faults/scene.ts';
import { NOW, openFolderStore, Scene, START } from '../migration/support.ts';
import { chargeCreated, chargePaid, grow, iso, settings } from '../store/contract/builders.ts';
import { cli, cliJson } from '../support/cli.ts';
import { at, type Json, list } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { type Env, endWithin, spawnNode } from '../support/process.ts';

const test = suite('kill -9 of migrate-store');
const SECRETS_KEY = Buffer.alloc(32, 2).toString('base64');
const SEED = 20_260_305;
const ROUNDS = 3;
const BATCHES = 150;
const scene = new Scene();
test.after(() => scene.remove());

/** The scene's folder, with its key, and an account of many batches. */
async function folderToMove(): Promise<string> {
  const folder = await scene.copy();
  await writeFile(join(folder, 'secrets.key'), Buffer.alloc(32, 1).toString('base64'), { mode: 0o600 });
  const store = await openFolderStore(folder);
  await store.accounts.put(settings({ id: 'acc_long', clientId: 'cli_long', webhooks: [] }));
  for (let nth = 0; nth < BATCHES; nth++) {
    const timers = [{ name: 'EXPIRE', at: iso(NOW * 2) }];
    const charge = chargeCreated(START, { timers });
    const { append } = await grow(store, 'acc_long', [charge, chargeCreated(START, { timers })]);
    await grow(store, 'acc_long', [chargePaid(START, charge.transaction, `E${nth}`)], {
      known: append.records,
    });
  }
  await store.close();
  return folder;
}

const headsOf = async (folder: string, env: Env): Promise<Json[]> => {
  const report = await cliJson(folder, ['verify', '--heads'], env);
  assert.equal(at(report, 'differences'), []);
  return list(report, 'heads');
};

test(`killed at random moments, seed ${SEED}`, async () => {
  const random = randomOf(SEED);
  let killed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const folder = await folderToMove();
    const database = await freshDatabase();
    const heads = await headsOf(folder, { MONGODB_URI: '' });
    const env: Env = { DATA_DIR: folder, SECRETS_KEY, LOG_LEVEL: 'warn' };
    const args = ['migrate-store', '--to', database.uri, '--json'];
    // Until one comes to its end before it is killed.
    for (let longest = 1_000; ; longest += 2_000) {
      const running = spawnNode(['dist/src/cli/pixstate.js', ...args], env);
      const timer = sleep(300 + random() * longest).then(() => running.child.kill('SIGKILL'));
      const { code } = await endWithin(running, 120_000);
      await timer;
      if (code !== null) {
        assert.is(code, 0, running.stdout() + running.stderr());
        break;
      }
      killed += 1;
    }
    const again = await cli(folder, args, { MONGODB_URI: '', SECRETS_KEY });
    assert.is(again.code, 0, again.stdout + again.stderr);
    assert.equal(await headsOf(folder, { MONGODB_URI: '' }), heads);
    assert.equal(await headsOf(folder, { MONGODB_URI: database.uri, SECRETS_KEY }), heads);
  }
  assert.ok(killed >= ROUNDS, `${killed} were killed`);
});

test.run();
