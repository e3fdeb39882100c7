/** Who opens a store to read while another process writes to it: what it sees belongs together. */
import { existsSync, writeFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../../src/audit/verify.ts';
import { Log } from '../../../src/store/lmdb/log/log.ts';
import { openLmdbToRead } from '../../../src/store/lmdb/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { spawnNode } from '../../support/process.ts';
import { until } from '../../support/wait.ts';
import { storeOptions } from './opened.ts';

const test = suite('opened beside a writer');

const AT = Date.UTC(2026, 0, 5, 12);
const LONG_MS = 20_000;

/** Has the body's look at the log's state be followed by what the writer writes ahead. */
async function withWritingIn(folder: string, body: () => Promise<void>): Promise<void> {
  const looked = Log.prototype.state;
  Log.prototype.state = function state(): ReturnType<typeof looked> {
    const known = looked.call(this);
    writeFileSync(`${folder}/go`, '');
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    // The thread stands still: it sees the log as it was at that look.
    for (let ms = 0; ms < LONG_MS && !existsSync(`${folder}/gone`); ms += 10) Atomics.wait(nothing, 0, 0, 10);
    return known;
  };
  try {
    await body();
  } finally {
    Log.prototype.state = looked;
  }
}

test('a share that looks at the log before, and at the projections after they are written ahead', async () => {
  await withFolder(async (folder) => {
    const writer = spawnNode(['--import', 'tsx', 'test/store/lmdb/writing-ahead.ts', folder], {});
    try {
      await until(() => writer.stdout().includes('ready'), LONG_MS, 'a writer');
      await withWritingIn(folder, async () => {
        const upTo = async (end: number): Promise<number> => end;
        const reader = await openLmdbToRead({ ...storeOptions(folder, () => AT), upTo });
        assert.ok(existsSync(`${folder}/gone`));
        const options = { heads: false, decide: false, everyDoorSpeaks: false };
        const report = await verifyStore(reader.journal, options);
        await reader.close();
        assert.equal(report.differences, []);
        assert.ok(report.entries > 2_000);
      });
    } finally {
      writer.child.kill('SIGKILL');
      await writer.ended;
    }
  });
});

test.run();
