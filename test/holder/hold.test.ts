/** Two holds of one process have two descriptors: to the operating system they are two processes. */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { tryLock } from 'fs-native-extensions';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FolderHold, type Self, takeWithPrecedence } from '../../src/holder/hold.ts';
import { FolderHeld } from '../../src/store/folder.ts';
import { withFolder } from '../faults/scene.ts';
import { spawnUnreaped, type Unreaped } from '../support/unreaped.ts';
import { sleep, until } from '../support/wait.ts';

const test = suite('the hold on a folder');

/** "At once", on a machine with much else to do. */
const AT_ONCE_MS = 3_000;
const SINCE = '2026-01-05T12:00:00.000Z';

function self(pid: number): Self {
  return { incarnation: `of ${pid}`, pid, since: SINCE, version: '1.2.3', what: 'serve' };
}

/** As the lock's file names it. */
function named(folder: string, pid: number): object {
  return { ...self(pid), socket: `${folder}/pixstate.socket` };
}

/** Takes a folder as a server does. */
function take(folder: string, pid: number): Promise<FolderHold> {
  return takeWithPrecedence(folder, self(pid), new Promise(() => {}));
}

/** The sentence that turns a process away. */
function sentence(folder: string, pid: number, since = SINCE): string {
  return `the data folder ${folder} is served by process ${pid} since ${since}: one server writes a folder`;
}

async function refused(folder: string): Promise<string> {
  const startedAt = performance.now();
  const lock = await take(folder, 99).catch((error: unknown) => error);
  assert.instance(lock, FolderHeld);
  assert.ok(performance.now() - startedAt < AT_ONCE_MS, 'not at once');
  return lock instanceof FolderHeld ? lock.message : '';
}

async function text(folder: string): Promise<string> {
  return (await readFile(`${folder}/pixstate.server`, 'utf8')).trim();
}

/** A process that holds the folder, and whose parent never waits for it. */
async function withHolder(folder: string, body: (holder: Unreaped) => Promise<void>): Promise<void> {
  const held = await spawnUnreaped(['--import', 'tsx', 'test/store/lmdb/holder.ts', folder], {});
  try {
    await until(() => held.parent.stdout().includes('claims'), 30_000, 'a holder');
    await body(held);
  } finally {
    await held.end();
  }
}

test('is one process at a time; another is turned away with the name of the holder', async () => {
  await withFolder(async (folder) => {
    const lock = await take(folder, 1);
    assert.equal(JSON.parse(await text(folder)), named(folder, 1));
    assert.is(await refused(folder), sentence(folder, 1));
    assert.equal(JSON.parse(await text(folder)), named(folder, 1));
    await lock.release();
    assert.is(await text(folder), '');
    const next = await take(folder, 2);
    assert.is(await refused(folder), sentence(folder, 2));
    await next.release();
  });
});

test('a hold that ended already ends once: the descriptor may be another file by then', async () => {
  await withFolder(async (folder) => {
    const lock = await take(folder, 1);
    await lock.release();
    const path = `${folder}/another`;
    const another = openSync(path, constants.O_RDWR | constants.O_CREAT);
    try {
      writeSync(another, 'the content of another file', 0);
      await lock.release();
      assert.is(await readFile(path, 'utf8'), 'the content of another file');
    } finally {
      closeSync(another);
    }
  });
});

test('of several that ask at once one gets it, and the others are told which', async () => {
  await withFolder(async (folder) => {
    for (let round = 0; round < 5; round += 1) {
      const asked = Array.from({ length: 5 }, (_, n) => take(folder, n + 1));
      const ends = await Promise.allSettled(asked);
      const winner = ends.findIndex(({ status }) => status === 'fulfilled');
      const told = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason.message)] : []));
      assert.equal(told, Array(4).fill(sentence(folder, winner + 1)));
      await (await asked[winner])?.release();
    }
  });
});

test('a holder that has not said its name yet is waited for; one that never does is another process', async () => {
  await withFolder(async (folder) => {
    await writeFile(`${folder}/pixstate.server`, 'half a na');
    const file = openSync(`${folder}/pixstate.server`, constants.O_RDWR);
    assert.ok(tryLock(file));
    assert.is(
      await refused(folder),
      `the data folder ${folder} is served by another process: one server writes a folder`,
    );
    const told = refused(folder);
    await sleep(50);
    writeSync(file, JSON.stringify(named(folder, 3)), 0);
    assert.is(await told, sentence(folder, 3));
    closeSync(file);
  });
});

test('a dead command’s name stands where a server is about to write its own: no other one takes its commands', async () => {
  await withFolder(async (folder) => {
    const lock = await take(folder, 1);
    try {
      // In containers a dead process may have had the same id.
      for (const pid of [4, 1]) {
        const dead = { ...named(folder, pid), incarnation: 'dead', what: 'verify' };
        await writeFile(`${folder}/pixstate.server`, JSON.stringify(dead));
        const told = refused(folder);
        await sleep(500);
        await writeFile(`${folder}/pixstate.server`, JSON.stringify(named(folder, 1)));
        assert.is(await told, sentence(folder, 1));
        assert.is(await lock.works.run({ kind: 'reads', name: 'verify' }, async () => 'done'), 'done');
      }
    } finally {
      await lock.release();
    }
  });
});

test('what stands in the file counts for nothing while nobody holds it, in a copy of the folder neither', async () => {
  await withFolder(async (folder) => {
    const lock = await take(folder, process.ppid);
    await withFolder(async (other) => {
      // A socket can't be copied.
      const filter = (path: string): boolean => !path.endsWith('.socket');
      await cp(folder, other, { recursive: true, filter });
      assert.equal(JSON.parse(await text(other)), named(folder, process.ppid));
      await (await take(other, 5)).release();
      await writeFile(`${other}/pixstate.server`, `${'long'.repeat(200)}\n`);
      const after = await take(other, 6);
      assert.is(await refused(other), sentence(other, 6));
      await after.release();
    });
    await lock.release();
  });
});

test('ends with the process, though nobody ever waits for it', async () => {
  await withFolder(async (folder) => {
    await withHolder(folder, async (dead) => {
      const { pid, since } = JSON.parse(await text(folder));
      assert.is(pid, dead.pid);
      assert.is(await refused(folder), sentence(folder, pid, since));
      await dead.killGroup();
      const startedAt = performance.now();
      const lock = await take(folder, 7);
      assert.is(dead.state(), 'Z');
      assert.ok(performance.now() - startedAt < AT_ONCE_MS, 'not at once');
      await lock.release();
      assert.is(dead.state(), 'Z');
    });
  });
});

test('lasts while the process is frozen', async () => {
  await withFolder(async (folder) => {
    await withHolder(folder, async (frozen) => {
      process.kill(frozen.pid, 'SIGSTOP');
      await until(() => frozen.state() === 'T', 10_000, 'a stopped process');
      const { pid, since } = JSON.parse(await text(folder));
      assert.is(await refused(folder), sentence(folder, pid, since));
    });
  });
});

test('a folder that cannot be written to is told in a sentence', async () => {
  await withFolder(async (folder) => {
    const error = await take(`${folder}/nowhere`, 8).catch((reason: unknown) => reason);
    assert.match(String(error), `the data folder ${folder}/nowhere can't be held: ENOENT`);
  });
});

test.run();
