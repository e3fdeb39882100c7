import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { at, parseJson, text, whole } from '../support/json.ts';
import { spawnNode } from '../support/process.ts';
import { testServer } from '../support/store.ts';
import { sleep, until } from '../support/wait.ts';
import { openAccountCount } from './account-count.ts';
import { accountsOf, expectVerified, randomOf, withFolder, withServer } from './scene.ts';

const test = suite('kill -9 of a command');

const SEED = 20_260_205;

test('a command in the middle of 200 accounts: the server beside it goes on, each account is whole', async () => {
  await withServer({}, async (server) => {
    const random = randomOf(SEED);
    const client = await merchant(server);
    const accounts = await openAccountCount(server.dataDir);
    try {
      let running = true;
      const statuses: number[] = [];
      const writers = Array.from({ length: 4 }, async () => {
        while (running) statuses.push((await client.post('/pix-in', { amount: 10_000 })).status);
      });
      const args = ['dist/src/cli/pixstate.js', 'account', 'create', '--count', '200', '--balance', '1000'];
      for (let round = 0; round < 6; round += 1) {
        const before = await accounts.now();
        const command = spawnNode([...args, '--json'], server.env);
        // Half of them die as soon as the first account is there, the others whenever.
        if (round % 2 === 0) {
          const ended = command.ended.then(() => true);
          const grown = async () => (await accounts.now()) > before;
          await Promise.race([ended, until(grown, 10_000, 'the first account')]);
        } else await sleep(200 + random() * 400);
        command.child.kill('SIGKILL');
        await command.ended;
      }
      running = false;
      await Promise.all(writers);
      // On a data folder it is the server that makes them: it comes to the end of what it was asked.
      let [count, before] = [await accounts.now(), -1];
      const isSteady = async (): Promise<boolean> => {
        await sleep(500);
        [count, before] = [await accounts.now(), count];
        return count === before;
      };
      await until(isSteady, 30_000, 'the end of the last ones');
      assert.ok(statuses.length > 0);
      assert.equal([...new Set(statuses)], [201], 'the server beside it was disturbed');
      const all = await accountsOf(server);
      assert.is(all.length, await accounts.now());
      const balances = all
        .filter((account) => text(account, 'name') === 'Merchant')
        .map((one) => whole(one, 'balance'));
      assert.ok(
        balances.every((balance) => balance === 0 || balance === 1_000),
        'an opening balance by halves',
      );
      const one = await cliJson(server, ['account', 'create', '--balance', '7']);
      assert.is(typeof at(one, 'clientSecret'), 'string');
      await expectVerified(server);
    } finally {
      await accounts.close();
    }
  });
});

/** The process that a folder's lock names. */
function holderPid(folder: string): number {
  return whole(parseJson(readFileSync(`${folder}/pixstate.server`, 'utf8')) ?? { pid: -1 }, 'pid');
}

async function names(folder: string, pid: number): Promise<void> {
  await until(() => holderPid(folder) === pid, 15_000, 'a command that holds the folder');
}

if (testServer() === null)
  test('a command in the middle of many accounts, without a server: the next one finds each of them whole', async () => {
    await withFolder(async (folder) => {
      const random = randomOf(SEED);
      await cliJson(folder, ['account', 'create']);
      const args = ['dist/src/cli/pixstate.js', 'account', 'create', '--count', '2000', '--balance', '1000'];
      let count = 1;
      let partly = 0;
      for (let round = 0; round < 20 && partly < 4; round += 1) {
        const command = spawnNode([...args, '--json'], { DATA_DIR: folder });
        await names(folder, command.pid);
        await sleep(100 + random() * 700);
        command.child.kill('SIGKILL');
        await command.ended;
        const more = (await accountsOf(folder)).length - count;
        if (more > 0 && more < 2_000) partly += 1;
        count += more;
      }
      assert.ok(partly > 0, 'none was killed in the middle');
      const balances = (await accountsOf(folder)).map((one) => whole(one, 'balance'));
      assert.ok(
        balances.every((balance) => balance === 0 || balance === 1_000),
        'an opening balance by halves',
      );
      await expectVerified(folder);
    });
  });

test.run();
