/**
 * A folder that a command can't write to is read beside nobody who writes: through the server that holds it, else by
 * itself. Where the machine lets us make no such folder, it is left out, and says so.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at } from '../support/json.ts';
import { startServer } from '../support/server.ts';

const EMBEDDED = { MONGODB_URI: '' };
const ROUNDS = 4;
const test = suite('a folder for reading alone');

interface View {
  path: string;
  end(): Promise<void>;
}

function isDone(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** The folder, where this process can't write to it; null where there is no way to that. */
async function readOnlyView(folder: string): Promise<View | null> {
  if (process.getuid?.() !== 0) {
    chmodSync(join(folder, 'pixstate.server'), 0o400);
    return { path: folder, end: async () => chmodSync(join(folder, 'pixstate.server'), 0o600) };
  }
  const path = await mkdtemp(join(tmpdir(), 'pixstate-read-only-'));
  const end = async (): Promise<void> => {
    spawnSync('umount', [path], { stdio: 'ignore' });
    await rm(path, { recursive: true });
  };
  if (isDone('mount', '--bind', folder, path) && isDone('mount', '-o', 'remount,ro,bind', path))
    return { path, end };
  await end();
  return null;
}

test('it is read through the server that writes to it, and by nobody beside that', async () => {
  const folder = await Folder.make();
  const server = await startServer({ dataDir: folder.path, env: { ...EMBEDDED, SANDBOX_DELAY_MS: '5' } });
  const view = await readOnlyView(folder.path);
  try {
    const client = await merchant(server, []);
    if (view === null) {
      console.log('left out: a read-only folder, since this machine lets us mount none');
      return;
    }
    const env = { ...EMBEDDED, DATA_DIR: view.path };
    let goesOn = true;
    const writing = Array.from({ length: 8 }, async () => {
      while (goesOn) await charge(client, 1_001);
    });
    try {
      for (let round = 0; round < ROUNDS; round++)
        assert.is(at(await folder.json(['verify'], 0, env), 'ok'), true);
    } finally {
      goesOn = false;
      await Promise.all(writing);
    }
    assert.is(await server.terminate(), 0);
    assert.is(at(await folder.json(['verify'], 0, env), 'ok'), true);
  } finally {
    await view?.end();
    await server.stop();
    await folder.remove();
  }
});

test.run();
