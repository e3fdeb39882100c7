/**
 * A disk without a byte left beside a store whose server was killed: what only reads tells all that was answered. Where
 * the machine lets us make no such disk, it is left out, and says so.
 */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import { startServer } from '../support/server.ts';

const EMBEDDED = { MONGODB_URI: '' };
const DISK_BYTES = 24 * 1024 * 1024;
const test = suite('a full disk');

/** A small disk of its own; null where there is no way to that. */
async function smallDisk(): Promise<string | null> {
  const path = await mkdtemp(join(tmpdir(), 'pixstate-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path]);
  if (status === 0) return path;
  await rm(path, { recursive: true });
  return null;
}

/** Takes what is left, to the last byte. */
function fill(disk: string): void {
  for (let bytes = DISK_BYTES; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) writeFileSync(join(disk, 'full'), Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      // Half of it may still fit.
    }
  }
}

async function digestOf(path: string): Promise<string> {
  return hash('sha256', await readFile(path), 'hex');
}

test('commands that read go on where the disk is full, and what writes says why it cannot', async () => {
  const disk = await smallDisk();
  if (disk === null) {
    console.log('left out: a full disk, since this machine lets us mount none');
    return;
  }
  try {
    const folder = new Folder(join(disk, 'data'));
    const server = await startServer({ dataDir: folder.path, env: { ...EMBEDDED, SANDBOX_DELAY_MS: '5' } });
    const client = await merchant(server, []);
    const created = await Promise.all(Array.from({ length: 40 }, () => charge(client, 10_000)));
    await server.kill();
    fill(disk);
    const log = (): Promise<string> => digestOf(join(folder.path, 'pixstate.log'));
    const before = await log();
    const id = text(created.at(-1) ?? {}, 'id');
    assert.is(at(await folder.json(['inspect', id], 0, EMBEDDED), 'transaction.id'), id);
    assert.equal(list(await folder.json(['attention'], 0, EMBEDDED), 'items'), []);
    assert.is(at(await folder.json(['verify', '--decide'], 0, EMBEDDED), 'ok'), true);
    assert.is(await log(), before, 'nothing was written');
    const refused = await folder.run(['account', 'create'], EMBEDDED);
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /space/);
    await rm(join(disk, 'full'));
    assert.is(at(await folder.json(['verify', '--decide'], 0, EMBEDDED), 'ok'), true);
  } finally {
    spawnSync('umount', [disk]);
    await rm(disk, { recursive: true });
  }
});

test.run();
