/** Two gates of one process have two descriptors: to the operating system they are two processes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StoreUnavailable } from '../../../src/engine/store.ts';
import { FolderGate } from '../../../src/store/lmdb/gate.ts';
import { withFolder } from '../../faults/scene.ts';
import { spawnNode } from '../../support/process.ts';
import { sleep, until } from '../../support/wait.ts';

const test = suite('the gate of a folder');

interface Step {
  done: Promise<void>;
  end(): void;
}

/** Work that goes on until `end`. */
function step(begun: () => void): Step & { work(): Promise<void> } {
  let end: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    done,
    end: () => end(),
    work: () => {
      begun();
      return done;
    },
  };
}

async function withGates(body: (one: FolderGate, other: FolderGate, log: string[]) => Promise<void>) {
  await withFolder(async (folder) => {
    const [one, other] = [new FolderGate(folder), new FolderGate(folder)];
    await body(one, other, []);
    one.close();
    other.close();
  });
}

const A_WHILE_MS = 30;
/** Longer than it takes to suspect that a writer is stopped. */
const SLOW_MS = 2_500;

test('lets writers of several processes in together', async () => {
  await withGates(async (one, other, log) => {
    const first = step(() => log.push('one'));
    const writing = one.write(first.work);
    await other.write(async () => log.push('other'));
    assert.equal(log, ['one', 'other']);
    first.end();
    await writing;
  });
});

test('an opener waits for all who write, and those who come after it wait for the opener, in their order', async () => {
  await withGates(async (one, other, log) => {
    const [first, second] = [step(() => log.push('write')), step(() => log.push('write too'))];
    const opener = step(() => log.push('open'));
    const writing = [one.write(first.work), one.write(second.work)];
    const opening = other.alone(opener.work);
    await sleep(A_WHILE_MS);
    const later = [1, 2, 3].map((n) => one.write(async () => void log.push(`later ${n}`)));
    first.end();
    await sleep(A_WHILE_MS);
    assert.equal(log, ['write', 'write too']);
    second.end();
    await Promise.all(writing);
    await sleep(A_WHILE_MS);
    assert.equal(log.slice(2), ['open']);
    opener.end();
    await Promise.all([opening, ...later]);
    assert.equal(log.slice(3), ['later 1', 'later 2', 'later 3']);
    await one.write(async () => void log.push('again'));
    assert.is(log.at(-1), 'again');
  });
});

test('openers come one after the other', async () => {
  await withGates(async (one, other, log) => {
    const first = step(() => log.push('first'));
    const opening = one.alone(first.work);
    const next = other.alone(() => void log.push('second'));
    await sleep(A_WHILE_MS);
    assert.equal(log, ['first']);
    first.end();
    await Promise.all([opening, next]);
    assert.equal(log, ['first', 'second']);
  });
});

test('who waits for a process that is stopped is let in beside it, but not beside one that is only slow', async () => {
  await withFolder(async (folder) => {
    const gate = new FolderGate(folder);
    const log: string[] = [];
    const holder = spawnNode(['--import', 'tsx', 'test/store/lmdb/gate-holder.ts', folder], {});
    await until(() => holder.stdout().includes('inside'), 15_000, 'a writer inside');
    const opening = gate.besideStopped(() => void log.push('opened'));
    await sleep(SLOW_MS);
    assert.equal(log, []);
    holder.child.kill('SIGSTOP');
    await opening;
    assert.equal(log, ['opened']);
    const patient = gate.alone(() => void log.push('opened alone'));
    await sleep(SLOW_MS);
    assert.equal(log, ['opened']);
    holder.child.kill('SIGKILL');
    await patient;
    assert.equal(log, ['opened', 'opened alone']);
    await holder.ended;
    gate.close();
  });
});

test('after its end a gate lets no more writes in, and knows when the last one is over', async () => {
  await withFolder(async (folder) => {
    const gate = new FolderGate(folder);
    const log: string[] = [];
    const last = step(() => log.push('write'));
    const writing = gate.write(last.work);
    const ending = gate.end().then(() => log.push('ended'));
    const late = await gate.write(async () => log.push('late')).catch((error) => error);
    assert.instance(late, StoreUnavailable);
    assert.equal(log, ['write']);
    last.end();
    await Promise.all([writing, ending]);
    assert.equal(log, ['write', 'ended']);
    gate.close();
  });
});

test('what a process held is free once it is gone, and what fails holds nothing', async () => {
  await withGates(async (one, other, log) => {
    await withFolder(async (folder) => {
      const [dead, alive] = [new FolderGate(folder), new FolderGate(folder)];
      void dead.write(step(() => {}).work);
      dead.close();
      await alive.alone(() => void log.push('opened'));
      alive.close();
    });
    await one.write(() => Promise.reject(new Error('a write'))).catch((error) => log.push(error.message));
    await one
      .alone(() => {
        throw new Error('an opening');
      })
      .catch((error) => log.push(error.message));
    await other.alone(() => void log.push('opened'));
    assert.equal(log, ['opened', 'a write', 'an opening', 'opened']);
  });
});

test.run();
