/** A store that several threads verify, each a share of its accounts: they find together what one finds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shareOf } from '../../src/audit/share.ts';
import { type Difference, type VerifyReport, verifyStore } from '../../src/audit/verify.ts';
import type { Core } from '../../src/core.ts';
import { accountsIn } from '../../src/engine/store/walks.ts';
import { OperatorError } from '../../src/errors.ts';
import { Meeting } from '../../src/reader/shares.ts';
import { verifyInThreads } from '../../src/reader/thread.ts';
import { type FolderReader, openReader } from '../../src/store/open.ts';
import { pause, turn } from '../../src/waiting.ts';
import type { StoredTables } from '../support/stored-tables.ts';
import { createCharge, folderOf, type Life, tell, withCopyOf } from './scene.ts';

const test = suite('shares');
const LIVES = 6;
const STRANGER = '00000000-0000-4000-8000-000000000000';

let folder = '';
let lives: Life[] = [];

test.before(async () => {
  ({ folder, lives } = await folderOf(LIVES));
});

test.after(() => rm(folder, { recursive: true, force: true }));

/** Works on a copy of the store in which something was changed. */
function withCopy(change: (tables: StoredTables) => unknown, work: (core: Core) => Promise<void>) {
  return withCopyOf(folder, change, work);
}

function verified(
  { place, incarnation }: Core,
  threads: number,
  signal = new AbortController().signal,
): Promise<VerifyReport> {
  const options = { heads: true, decide: true, everyDoorSpeaks: true };
  return verifyInThreads(options, threads, { folder: place, incarnation, signal, onPage: () => {} });
}

const nothing = (): void => {};

/** By one, in the thread that has the store. */
function verifiedHere({ store }: Core): Promise<VerifyReport> {
  return verifyStore(store.journal, { heads: true, decide: true, everyDoorSpeaks: true });
}

/** In one order, whoever found them. */
function sorted(differences: readonly Difference[]): string[] {
  return differences.map((each) => JSON.stringify(each)).sort();
}

test('each account is in one share, and no share has nearly all', () => {
  const ids = Array.from({ length: 1_000 }, (_, n) => `acc_${n}`);
  for (const of of [2, 3, 4]) {
    const counts = Array.from({ length: of }, () => 0);
    for (const id of ids) {
      const share = shareOf(id, of);
      counts[share] = (counts[share] ?? Number.NaN) + 1;
    }
    assert.is(
      counts.reduce((all, each) => all + each),
      ids.length,
    );
    for (const count of counts) assert.ok(count > (0.8 * ids.length) / of, `${counts}`);
  }
});

test('several report of a sound store what one does, heads too', async () => {
  await withCopy(nothing, async (core) => {
    const one = await verifiedHere(core);
    assert.equal(await verified(core, 1), one);
    assert.is(one.ok, true);
    assert.is(one.heads?.length, one.accounts);
    for (const threads of [2, 3]) assert.equal(await verified(core, threads), one);
  });
});

test('what is off is found by several as by one', async () => {
  const [first, second] = lives as [Life, Life];
  const faults: ((tables: StoredTables) => unknown)[] = [
    ({ records }) => records.remove(first.charge),
    ({ records }) => records.put([first.charge], '{"rotten'),
    ({ lookups }) => lookups.put([first.account, 'externalRef', 'other'], first.charge),
    ({ lookups }) => lookups.remove(second.account, 'adjustment', 'opening'),
    ({ journal }) => journal.remove([first.account, 3]),
    ({ journal }) => journal.put([second.account, 2], 'rotten'),
    ({ records }) =>
      records.put(
        [STRANGER],
        JSON.stringify({ ...JSON.parse(records.get(first.charge) ?? ''), id: STRANGER }),
      ),
    // Nobody's, and one that says that it was before any batch.
    ({ records }) => records.put([STRANGER], JSON.stringify({ id: STRANGER, account: '', seqs: [1] })),
    ({ records }) => records.put([STRANGER], JSON.stringify({ id: STRANGER, account: 'acc_0', seqs: [0] })),
    ({ places }) => {
      for (const { key } of places.rows(first.account)) places.remove(...key.split(' '));
    },
    // One account's batch in two of them is no other account's.
    ({ journal }) => {
      const value = journal.get([first.account, 3]) ?? '';
      journal.put([first.account, 3], value.replace(/\}$/, `,"account":"${second.account}"}`));
    },
  ];
  for (const fault of faults)
    await withCopy(fault, async (core) => {
      const [one, several] = [await verifiedHere(core), await verified(core, 2)];
      assert.is(one.ok, false, `${fault}`);
      assert.is(several.ok, false, `${fault}`);
      assert.equal(sorted(several.differences), sorted(one.differences), `${fault}`);
    });
});

test('beside one who writes they see one store', async () => {
  await withCopy(nothing, async (core) => {
    const [{ account }] = lives as [Life];
    let going = true;
    const writing = (async () => {
      for (let n = 0; going; n++) {
        const id = await createCharge(core, account, 10_000, `beside ${n}`);
        await tell(core, id, 'PAY');
        if (n % 20 === 0) await turn();
      }
    })();
    const reports = [await verified(core, 2), await verified(core, 3)];
    // Were they of different moments, each would have to look for what the others haven't seen.
    const meeting = new Meeting(2);
    const upTo = async (end: number): Promise<number> => Math.max(...(await meeting.at('opened', end)));
    const open = async (): Promise<FolderReader> =>
      openReader(core.place, { incarnation: core.incarnation, now: core.now, upTo });
    const early = open();
    await pause(30);
    const readers = await Promise.all([early, open()]);
    const seen = readers.map(({ journal: { log } }) => [log?.lastRow(), log?.countRecords()]);
    for (const reader of readers) await reader.close();
    going = false;
    await writing;
    assert.equal(seen[0], seen[1]);
    for (const report of reports) assert.equal([report.ok, report.differences], [true, []]);
    const ids: string[] = [];
    for await (const id of accountsIn(core.store.journal)) ids.push(id);
    assert.is(reports[1]?.accounts, ids.length);
  });
});

test('told to stop, all of them have closed the folder when that is known', async () => {
  await withCopy(nothing, async (core) => {
    for (const waitMs of [0, 100, 300]) {
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error('enough')), waitMs);
      const ended = await verified(core, 3, stop.signal).then(
        () => 'done',
        (error: unknown) => String(error),
      );
      assert.ok(['done', 'Error: enough'].includes(ended), ended);
    }
    assert.is((await verified(core, 2)).ok, true);
  });
});

test('where they can not read the folder, that is what they say', async () => {
  const nowhere = await mkdtemp(join(tmpdir(), 'pixstate-nowhere-'));
  const apart = { folder: nowhere, incarnation: 'a', signal: new AbortController().signal, onPage: () => {} };
  const options = { heads: false, decide: false, everyDoorSpeaks: true };
  const error = await verifyInThreads(options, 2, apart).catch((thrown: unknown) => thrown);
  assert.instance(error, OperatorError);
  assert.match(String(error), /there is no store in/);
  await rm(nowhere, { recursive: true });
});

test('who waits for the others hears of their end', async () => {
  const meeting = new Meeting(2);
  const waiting = meeting.at('opened', 1).catch((error: unknown) => String(error));
  meeting.end(new Error('gone'));
  assert.is(await waiting, 'Error: gone');
  assert.is(await meeting.at('compared', 2).catch((error: unknown) => String(error)), 'Error: gone');
  const both = new Meeting(2);
  const [one, two] = await Promise.all([both.at('opened', 3), both.at('opened', 5)]);
  assert.equal(
    [one, two],
    [
      [3, 5],
      [3, 5],
    ],
  );
});

test.run();
