import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FolderHeld } from '../../../src/store/folder.ts';
import { succeed } from '../../../src/store/lmdb/predecessors.ts';
import { closeTables, openTables, type Tables } from '../../../src/store/lmdb/tables.ts';
import { type OpenStore, openFolderStore } from '../../../src/store/open.ts';
import { within } from '../../../src/waiting.ts';
import { withFolder } from '../../faults/scene.ts';
import { spawnUnreaped, type Unreaped } from '../../support/unreaped.ts';
import { until } from '../../support/wait.ts';

const test = suite('those who held a folder before');

const NOW = Date.UTC(2026, 0, 5, 12);
const SUCCESSOR = { incarnation: 'heir', now: NOW, silentAfterMs: 5_000 };

async function withTables<Value>(folder: string, body: (tables: Tables) => Value): Promise<Awaited<Value>> {
  const tables = await openTables(folder);
  try {
    return await body(tables);
  } finally {
    await closeTables(tables);
  }
}

function put(folder: string, beats: Record<string, number>, former: object | null = null): Promise<unknown> {
  return withTables(folder, (tables) =>
    tables.gate.write(() =>
      tables.root.transaction(() => {
        for (const [incarnation, beat] of Object.entries(beats)) void tables.beats.put(incarnation, beat);
        if (former !== null) void tables.lock.put('server', JSON.stringify(former));
      }),
    ),
  );
}

/** The signs of life in a folder, and its holder in the words of a former build. */
function read(folder: string): Promise<{ beats: Record<string, number>; former: string | undefined }> {
  return withTables(folder, ({ beats, lock }) => ({
    beats: Object.fromEntries([...beats.getRange()].map(({ key, value }) => [key, value])),
    former: lock.get('server'),
  }));
}

function hold(folder: string): Promise<OpenStore> {
  const onFatal = (error: Error): void => {
    throw error;
  };
  const opener = { incarnation: `heir-${randomUUID()}`, now: () => Date.now() };
  return openFolderStore(folder, { ...opener, access: 'hold', onFatal });
}

/** A script on the folder whose parent never waits for it; the body runs once it has written the word. */
async function withProcess(
  script: string,
  folder: string,
  word: string,
  body: (unreaped: Unreaped) => Promise<void>,
  ...more: string[]
): Promise<void> {
  const command = ['--import', 'tsx', `test/store/lmdb/${script}`, folder, ...more];
  const unreaped = await spawnUnreaped(command, {});
  try {
    await until(() => unreaped.parent.stdout().includes(word), 30_000, word);
    await body(unreaped);
  } finally {
    await unreaped.end();
  }
}

async function expectHeld(folder: string, pid: number): Promise<void> {
  const error = await succeed(folder, { ...SUCCESSOR, now: Date.now() }).catch((reason: unknown) => reason);
  assert.instance(error, FolderHeld);
  assert.match(String(error), `the data folder ${folder} is served by process ${pid} since 2026-01-05`);
  assert.type((await read(folder)).former, 'string');
}

test('what a dead holder had claimed is free at once', async () => {
  await withFolder(async (folder) => {
    await withProcess('holder.ts', folder, 'claims', async (dead) => {
      assert.equal(JSON.parse(dead.parent.stdout()).claims, ['delivery']);
      await dead.killGroup();
      const { store, close } = await hold(folder);
      const claims = await store.due.claim('delivery', Date.now() + 60_000, 10);
      assert.is(dead.state(), 'Z');
      await close();
      assert.equal(
        claims.map(({ due }) => due.kind),
        ['delivery'],
      );
    });
  });
});

test('of the signs of life only the own one stays, and the marks of those whose claims were taken over', async () => {
  await withFolder(async (folder) => {
    await put(folder, { dead: NOW - 100, older: NOW - 60_000, marked: -1 });
    await succeed(folder, SUCCESSOR);
    assert.equal(await read(folder), { beats: { heir: NOW, marked: -1 }, former: undefined });
  });
});

test('a server of a former build that lives or is frozen keeps its folder; a copy of the folder is free', async () => {
  await withFolder(async (folder) => {
    await withProcess('former-holder.ts', folder, 'serving', async (former) => {
      await expectHeld(folder, former.pid);
      process.kill(former.pid, 'SIGSTOP');
      await expectHeld(folder, former.pid);
      await withFolder(async (other) => {
        await cp(folder, other, { recursive: true });
        await succeed(other, SUCCESSOR);
        assert.equal(await read(other), { beats: { heir: NOW }, former: undefined });
      });
    });
  });
});

test('a server of a former build that is frozen in a write turns a successor away, and keeps nobody waiting', async () => {
  await withFolder(async (folder) => {
    const body = async (former: Unreaped): Promise<void> => {
      process.kill(former.pid, 'SIGSTOP');
      const refused = succeed(folder, { ...SUCCESSOR, now: Date.now() }).catch((reason: unknown) => reason);
      const error = await within(20_000, refused, () => new Error('it waits for the frozen one'));
      assert.instance(error, FolderHeld);
      assert.match(String(error), `is served by process ${former.pid}`);
    };
    await withProcess('former-holder.ts', folder, 'serving', body, 'writing');
  });
});

test('a pid of an earlier boot is nobody: only a heartbeat tells', async () => {
  const namespace = readlinkSync('/proc/self/ns/pid');
  const parent = { incarnation: 'former', pid: process.ppid, started: '4711' };
  const former = { ...parent, place: `host another-boot ${namespace}`, since: '2026-01-05T12:00:00.000Z' };
  await withFolder(async (folder) => {
    await put(folder, { former: Date.now() }, former);
    await expectHeld(folder, process.ppid);
    await put(folder, { former: NOW - 6_000 }, former);
    await succeed(folder, SUCCESSOR);
  });
});

test('a server of a former build that was killed leaves its folder, though nobody ever waits for it', async () => {
  await withFolder(async (folder) => {
    await withProcess('former-holder.ts', folder, 'serving', async (former) => {
      await former.killGroup();
      await succeed(folder, SUCCESSOR);
      assert.is(former.state(), 'Z');
      assert.equal(await read(folder), { beats: { heir: NOW }, former: undefined });
    });
  });
});

test('a server of a former build in another container lives as long as its heart beats', async () => {
  const elsewhere = { incarnation: 'former', pid: process.pid, started: '4711', place: 'host boot pid:[1]' };
  const former = { ...elsewhere, since: '2026-01-05T12:00:00.000Z' };
  await withFolder(async (folder) => {
    await put(folder, { former: Date.now() }, former);
    await expectHeld(folder, process.pid);
    await put(folder, { former: NOW - 6_000 }, former);
    await succeed(folder, SUCCESSOR);
    assert.equal(await read(folder), { beats: { heir: NOW }, former: undefined });
  });
});

test.run();
