/** Threads that read a folder for a command, and the end of the command's hold on it. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Core } from '../../src/core.ts';
import { verifyInThreads } from '../../src/reader/thread.ts';
import { turn } from '../../src/waiting.ts';
import { Folder } from '../cli/support.ts';
import { expectVerified, withServer } from '../faults/scene.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, parseJson, text } from '../support/json.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { until } from '../support/wait.ts';

const test = suite('threads that read a folder which is given up');

const LATE = ['--import', './test/holder/late-thread.js', 'dist/src/cli/pixstate.js'];
/** 2 seconds, and what a busy machine takes to start a server. */
const SOON_MS = 12_000;
const OPTIONS = { heads: false, decide: false, everyDoorSpeaks: true };

/** A folder with two accounts, and a core of this process on it. */
async function withAccounts(body: (folder: Folder, core: Core) => Promise<void>): Promise<void> {
  const folder = await Folder.make();
  try {
    await folder.account('--balance', '5000');
    await folder.account('--balance', '5000');
    await folder.withCore((core) => body(folder, core));
  } finally {
    await folder.remove();
  }
}

test('a thread that is late is gone by the time a server has the folder, and the verify goes on there', async () => {
  await withServer({ env: { MONGODB_URI: '' } }, async (server) => {
    const { dataDir, env } = server;
    await charge(await merchant(server));
    await server.terminate();
    const verify = spawnNode([...LATE, 'verify', '--json'], env);
    const held = (): boolean => readFileSync(join(dataDir, 'pixstate.server'), 'utf8').includes('"verify"');
    await until(held, SOON_MS, 'a verify that holds the folder');
    const startedAt = performance.now();
    await server.restart();
    assert.ok(performance.now() - startedAt < SOON_MS, 'the server waited for the verify');
    const client = await merchant(server);
    const made = text(await charge(client), 'id');
    const { code, stdout, stderr } = await endWithin(verify, SOON_MS);
    assert.is(code, 0, stderr);
    assert.is(at(parseJson(stdout) ?? null, 'ok'), true);
    assert.not.ok(existsSync(join(dataDir, 'too-late')), 'a thread has outlived the hold');
    await server.kill();
    await server.restart();
    assert.is((await client.get(`/pix-in?id=${made}`)).status, 200);
    await expectVerified(server);
  });
});

test('a core is closed once no thread can open its folder any more', async () => {
  for (const threads of [1, 2]) {
    let isOver = false;
    await withAccounts(async (_, { place: folder, incarnation, close }) => {
      const stopping = new AbortController();
      const apart = { folder, incarnation, signal: stopping.signal, onPage: () => {} };
      const over = verifyInThreads(OPTIONS, threads, apart).catch((error: unknown) => {
        isOver = true;
        assert.is(error, stopping.signal.reason);
      });
      // The threads are there by then, and have opened nothing yet.
      await turn();
      stopping.abort(new Error('the folder is given up'));
      await close();
      assert.ok(isOver, `${threads} threads go on`);
      await over;
    });
  }
});

test('a thread that was told to stop before it has begun opens nothing', async () => {
  await withAccounts(async (folder, core) => {
    await core.close();
    const lock = join(folder.path, 'pixstate.log-lock');
    rmSync(lock);
    const stopping = new AbortController();
    const { signal } = stopping;
    const apart = { folder: folder.path, incarnation: core.incarnation, signal, onPage: () => {} };
    const stopped = verifyInThreads(OPTIONS, 1, apart).catch((error: unknown) => error);
    await turn();
    stopping.abort(new Error('told to stop'));
    assert.is(await stopped, signal.reason);
    assert.not.ok(existsSync(lock), 'it has opened the log');
  });
});

test('a verification can be stopped at each account, once all pages were read', async () => {
  await withAccounts(async (_, { store }) => {
    const told: string[] = [];
    const why = new Error('told to stop');
    const onAccount = (): void => {
      told.push('account');
      if (told.length === 2) throw why;
    };
    const onPage = (): void => void told.push('page');
    const error = await verifyStore(store.journal, { ...OPTIONS, onPage, onAccount }).catch(
      (reason) => reason,
    );
    assert.is(error, why);
    assert.equal(told, ['page', 'account']);
  });
});

test.run();
