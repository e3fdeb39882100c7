/**
 * A disk without a byte left: beside a store whose server was killed what only reads tells all that was answered, and what
 * can't be done says why; none that is for temporary files ends a server. Where the machine lets us make no such disk, it
 * is left out, and says so.
 */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { cli } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, list, object, text } from '../support/json.ts';
import { endWithin, spawnNode } from '../support/process.ts';
import { type Server, startServer } from '../support/server.ts';

const EMBEDDED = { MONGODB_URI: '' };
const DISK_BYTES = 24 * 1024 * 1024;
const NO_SPACE = /: ENOSPC: no space left on device, write\n$/;
const PATIENCE_MS = 15_000;
const test = suite('a full disk');

/** A small disk of its own, for the body; it is left out where there is no way to that. */
async function withSmallDisk(body: (disk: string) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'pixstate-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path]);
  try {
    if (status === 0) await body(path);
    else console.log('left out: a full disk, since this machine lets us mount none');
  } finally {
    if (status === 0) spawnSync('umount', [path]);
    await rm(path, { recursive: true });
  }
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

/** What a server that was killed has left on a disk. */
async function leftOn(disk: string): Promise<{ folder: Folder; server: Server; ids: string[] }> {
  const folder = new Folder(join(disk, 'data'));
  const server = await startServer({ dataDir: folder.path, env: { ...EMBEDDED, SANDBOX_DELAY_MS: '5' } });
  const client = await merchant(server, []);
  const created = await Promise.all(Array.from({ length: 40 }, () => charge(client, 10_000)));
  await server.kill();
  return { folder, server, ids: created.map((each) => text(each, 'id')) };
}

async function digestOf(path: string): Promise<string> {
  return hash('sha256', await readFile(path), 'hex');
}

test('commands that read go on where the disk is full, and what writes says why it cannot', async () => {
  await withSmallDisk(async (disk) => {
    const { folder, ids } = await leftOn(disk);
    fill(disk);
    const log = (): Promise<string> => digestOf(join(folder.path, 'pixstate.log'));
    const before = await log();
    const id = ids.at(-1) ?? '';
    assert.is(at(await folder.json(['inspect', id], 0, EMBEDDED), 'transaction.id'), id);
    assert.equal(list(await folder.json(['attention'], 0, EMBEDDED), 'items'), []);
    // The folder for temporary files may lie on it, too: nothing is made there unless it must be.
    const TMPDIR = disk;
    assert.is(at(await folder.json(['inspect', id], 0, { ...EMBEDDED, TMPDIR }), 'transaction.id'), id);
    assert.is(at(await folder.json(['verify', '--decide'], 0, EMBEDDED), 'ok'), true);
    assert.is(await log(), before, 'nothing was written');
    // The log has room for a few rows yet.
    let made = 1;
    let refused = await folder.run(['account', 'create'], EMBEDDED);
    for (; refused.code === 0; made += 1) {
      assert.match(refused.stdout, /client secret {2}sk_/);
      refused = await folder.run(['account', 'create'], EMBEDDED);
    }
    assert.is(refused.code, 1);
    assert.match(refused.stderr, /space/);
    await rm(join(disk, 'full'));
    const accounts = list(await folder.json(['account', 'list'], 0, EMBEDDED), 'accounts');
    // The sandbox's demo account, and the merchant's.
    assert.is(accounts.length, made + 1);
    assert.is(at(await folder.json(['verify', '--decide'], 0, EMBEDDED), 'ok'), true);
  });
});

/** What opens the folder says that there is no space, and is ended by nothing else. */
async function expectRefused(folder: Folder, server: Server, commands: string[][]): Promise<void> {
  const start = await endWithin(spawnNode(['dist/src/main.js'], server.env), PATIENCE_MS);
  assert.equal([start.code, start.signal], [1, null]);
  assert.match(start.stderr, NO_SPACE);
  for (const args of commands) {
    const { code, stderr } = await folder.run(args, EMBEDDED);
    assert.is(code, 1, args.join(' '));
    assert.match(stderr, NO_SPACE);
  }
}

test('what must be made anew on a full disk, as after a power cut, is said to have no space', async () => {
  await withSmallDisk(async (disk) => {
    const { folder, server, ids } = await leftOn(disk);
    const made = (name: string): string => join(folder.path, `pixstate.${name}`);
    await rm(made('projections'));
    await rm(made('projections-lock'));
    fill(disk);
    await expectRefused(folder, server, [['account', 'create']]);
    // What only reads makes them elsewhere.
    assert.is(at(await folder.json(['inspect', ids[0] ?? ''], 0, EMBEDDED), 'transaction.id'), ids[0]);
    const elsewhere = await folder.run(['attention'], { ...EMBEDDED, TMPDIR: disk });
    assert.is(elsewhere.code, 1);
    assert.match(elsewhere.stderr, `no temporary files can be written in ${disk}: ENOSPC`);
    await rm(made('log-lock'));
    fill(disk);
    await expectRefused(folder, server, [['attention'], ['verify'], ['account', 'create']]);
    await rm(join(disk, 'full'));
    const { ok, entries } = object(await folder.json(['verify', '--decide'], 0, EMBEDDED));
    assert.is(ok, true);
    assert.ok(Number(entries) >= ids.length);
  });
});

test('a folder for temporary files that is full ends a verify or rebuild, and not the server', async () => {
  await withSmallDisk(async (disk) => {
    const server = await startServer({ env: { ...EMBEDDED, TMPDIR: disk } });
    try {
      const client = await merchant(server, []);
      await charge(client, 10_000);
      fill(disk);
      // With nothing left, with a page, with a header and no more: lmdb fails in another place each time.
      for (const free of [0, 4_096, 8_192, 20_480, 32_768, 49_152]) {
        const full = statSync(join(disk, 'full')).size;
        truncateSync(join(disk, 'full'), full - free);
        for (const command of ['verify', 'rebuild']) {
          const { code, stderr } = await cli(server, [command]);
          assert.is(code, 1, `${command} with ${free}`);
          assert.match(stderr, `error: no temporary files can be written in ${disk}: ENOSPC`);
        }
        fill(disk);
      }
      assert.equal(readdirSync(disk), ['full']);
      await rm(join(disk, 'full'));
      for (const command of ['verify', 'rebuild']) assert.is((await cli(server, [command])).code, 0);
      await charge(client, 10_000);
      assert.is(server.stderr(), '');
    } finally {
      await server.stop();
    }
  });
});

test.run();
