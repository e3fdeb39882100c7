/** A log that was put back from an older copy, beside projections of what came after it. */
import { cp, rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../../src/audit/verify.ts';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { temporaryFolder } from '../../support/process.ts';
import { cashoutCreated, grow } from '../contract/builders.ts';
import { storeOptions, withStore } from './opened.ts';

const test = suite('an older log');
const AT = Date.UTC(2026, 0, 5, 12);

test('what the log has lost is found, and what comes then is taken up behind a kill', async () => {
  const folder = await temporaryFolder();
  const options = () => storeOptions(folder, () => AT);
  const named = (key: string) => cashoutCreated(AT, { idempotencyKey: key });
  await withStore(options(), (store) => grow(store, 'acc_a', [named('kept')]));
  await cp(`${folder}/pixstate.log`, `${folder}/copy`);
  await withStore(options(), async (store) => {
    await grow(store, 'acc_a', [named('lost')]);
    await grow(store, 'acc_b', [named('lost, too')]);
  });
  await cp(`${folder}/copy`, `${folder}/pixstate.log`);
  await rm(`${folder}/pixstate.log-lock`, { force: true });
  const store = await openLmdbStore(options());
  const { ok, differences } = await verifyStore(store.journal, {
    heads: false,
    decide: false,
    everyDoorSpeaks: true,
  });
  assert.is(ok, false);
  for (const account of ['acc_a', 'acc_b'])
    assert.ok(
      differences.some((each) => each.account === account),
      account,
    );
  assert.throws(
    () => store.journal.head('acc_a'),
    /is not in the log/,
    'it doesn’t go on as if nothing was lost',
  );
  const later = named('later');
  await grow(store, 'acc_c', [later]);
  const killed = await temporaryFolder();
  await cp(folder, killed, { recursive: true });
  await store.close();
  for (const each of [killed, folder])
    await withStore(
      storeOptions(each, () => AT),
      async ({ journal }) => {
        assert.is((await journal.head('acc_c')).seq, 1);
        assert.ok((await journal.transaction(later.transaction ?? '')) !== null);
      },
    );
});

test.run();
