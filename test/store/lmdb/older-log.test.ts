/** A log that was put back from an older copy, beside projections of what came after it. */
import { cp, readFile, rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../../src/audit/verify.ts';
import type { Store } from '../../../src/engine/store.ts';
import { OlderLog } from '../../../src/store/folder.ts';
import { openLmdbStore, openLmdbToRead } from '../../../src/store/lmdb/store.ts';
import { withFolder } from '../../faults/scene.ts';
import { cashoutCreated, grow } from '../contract/builders.ts';
import { storeOptions, withStore } from './opened.ts';

const test = suite('an older log');
const AT = Date.UTC(2026, 0, 5, 12);

function verified({ journal }: Store) {
  return verifyStore(journal, { heads: false, decide: false, everyDoorSpeaks: true });
}

test('nobody writes to it; what it has lost is found; without the projections it goes on', async () => {
  await withFolder(async (folder) => {
    const [log, projections] = [`${folder}/pixstate.log`, `${folder}/pixstate.projections`];
    const options = () => storeOptions(folder, () => AT);
    const named = (key: string) => cashoutCreated(AT, { idempotencyKey: key });
    await withStore(options(), (store) => grow(store, 'acc_a', [named('kept')]));
    await cp(log, `${folder}/copy`);
    await withStore(options(), async (store) => {
      await grow(store, 'acc_a', [named('lost')]);
      await grow(store, 'acc_b', [named('lost, too')]);
    });
    await cp(`${folder}/copy`, log);
    await rm(`${log}-lock`, { force: true });
    const before = await readFile(projections);
    await openLmdbStore(options()).then(
      () => assert.unreachable('it was opened'),
      (error: unknown) => {
        assert.instance(error, OlderLog);
        assert.match(String(error), `${log} ends at row 1, and ${projections} was made of 3 rows`);
      },
    );
    assert.ok((await readFile(projections)).equals(before));

    const read = await openLmdbToRead(options());
    const { ok, differences } = await verified(read);
    assert.is(ok, false);
    for (const account of ['acc_a', 'acc_b'])
      assert.ok(
        differences.some((each) => each.account === account),
        account,
      );
    assert.throws(() => read.journal.head('acc_a'), /is not in the log/);
    await read.close();

    await rm(projections);
    await withStore(options(), async (store) => {
      assert.is((await store.journal.head('acc_a')).seq, 1);
      assert.is((await store.journal.head('acc_b')).seq, 0);
      await grow(store, 'acc_b', [named('later')]);
      assert.ok((await verified(store)).ok);
    });
  });
});

test.run();
