/** Servers of former builds took no lock: one that lives keeps its folder, one that is dead leaves it. */
import { readlinkSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FolderHeld } from '../../../src/store/folder.ts';
import { isFormer } from '../../../src/store/lmdb/files.ts';
import { takeOver } from '../../../src/store/lmdb/former/takeover.ts';
import { within } from '../../../src/waiting.ts';
import { withFolder } from '../../faults/scene.ts';
import { copyFolder } from '../../support/older-build.ts';
import { spawnUnreaped, type Unreaped } from '../../support/unreaped.ts';
import { until } from '../../support/wait.ts';
import { openFormerTables } from './former-tables.ts';

const test = suite('those who held a folder before');

async function withFormerFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const copy = await copyFolder('70ffb18');
  try {
    await body(copy.dataDir);
  } finally {
    await copy.remove();
  }
}

/** Writes down a holder, and when its heart beat last (ms). */
async function name(folder: string, holder: object, beat: number): Promise<void> {
  const { root, lock, beats } = openFormerTables(folder);
  await root.transaction(() => {
    void lock.put('server', JSON.stringify({ since: '2026-01-05T12:00:00.000Z', ...holder }));
    void beats.put('former', beat);
  });
  await root.close();
}

/** A server of a former build that nobody waits for; the body runs once it has the folder. */
async function withFormer(
  folder: string,
  body: (former: Unreaped) => Promise<void>,
  ...more: string[]
): Promise<void> {
  const command = ['--import', 'tsx', 'test/store/lmdb/former-holder.ts', folder, ...more];
  const former = await spawnUnreaped(command, {});
  try {
    await until(() => former.parent.stdout().includes('serving'), 30_000, 'a former server');
    await body(former);
  } finally {
    await former.end();
  }
}

function taken(folder: string): Promise<void> {
  return takeOver({ folder, now: Date.now(), onProgress: () => {} });
}

async function expectHeld(folder: string, pid: number): Promise<void> {
  const waited = within(20_000, taken(folder), () => new Error('it waits for the holder'));
  const error = await waited.catch((reason: unknown) => reason);
  assert.instance(error, FolderHeld);
  assert.match(String(error), `the data folder ${folder} is served by process ${pid} since 2026-01-05`);
  assert.is(isFormer(folder), true);
}

async function expectTaken(folder: string): Promise<void> {
  await taken(folder);
  assert.is(isFormer(folder), false);
}

test('a server that lives or is frozen keeps its folder; a copy of the folder is free', async () => {
  await withFormerFolder(async (folder) => {
    await withFormer(folder, async ({ pid }) => {
      await expectHeld(folder, pid);
      process.kill(pid, 'SIGSTOP');
      await expectHeld(folder, pid);
      await withFolder(async (other) => {
        await cp(folder, other, { recursive: true });
        await expectTaken(other);
      });
    });
  });
});

test('a server that is frozen in a write turns a successor away, and keeps nobody waiting', async () => {
  await withFormerFolder(async (folder) => {
    const body = async ({ pid }: Unreaped): Promise<void> => {
      process.kill(pid, 'SIGSTOP');
      await expectHeld(folder, pid);
    };
    await withFormer(folder, body, 'writing');
  });
});

test('a server that was killed leaves its folder, though nobody ever waits for it', async () => {
  await withFormerFolder(async (folder) => {
    await withFormer(folder, async (former) => {
      await former.killGroup();
      await expectTaken(folder);
      assert.is(former.state(), 'Z');
    });
  });
});

test('a pid of an earlier boot is nobody: only a heartbeat tells', async () => {
  await withFormerFolder(async (folder) => {
    const place = `host another-boot ${readlinkSync('/proc/self/ns/pid')}`;
    const former = { incarnation: 'former', pid: process.ppid, started: '4711', place };
    await name(folder, former, Date.now());
    await expectHeld(folder, process.ppid);
    await name(folder, former, Date.now() - 6_000);
    await expectTaken(folder);
  });
});

test('a server in another container lives as long as its heart beats', async () => {
  await withFormerFolder(async (folder) => {
    const former = { incarnation: 'former', pid: process.pid, started: '4711', place: 'host boot pid:[1]' };
    await name(folder, former, Date.now());
    await expectHeld(folder, process.pid);
    await name(folder, former, Date.now() - 6_000);
    await expectTaken(folder);
  });
});

test.run();
