/** A folder that a former build left becomes a log, once; whatever stops that leaves it as it was. */
import { existsSync } from 'node:fs';
import { copyFile, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { open } from 'lmdb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { verifyStore } from '../../../src/audit/verify.ts';
import { OperatorError } from '../../../src/errors.ts';
import { isFormer } from '../../../src/store/lmdb/files.ts';
import { takeOver } from '../../../src/store/lmdb/former/takeover.ts';
import { cli } from '../../support/cli.ts';
import { copyFolder } from '../../support/older-build.ts';
import { same, sameSet } from '../contract/harness.ts';
import { storeOptions, withStore } from './opened.ts';

const test = suite('takeover of a former folder');

const BUILD = '70ffb18';
/** Behind all timers. */
const FAR = Date.UTC(2040, 0, 1);
const VERIFIED = { heads: true, decide: true, everyDoorSpeaks: true };

type Kept = Awaited<ReturnType<typeof copyFolder>>;

async function withFormer(body: (copy: Kept, folder: string) => Promise<void>): Promise<void> {
  const copy = await copyFolder(BUILD);
  try {
    await body(copy, copy.dataDir);
  } finally {
    await copy.remove();
  }
}

function taken(folder: string): Promise<void> {
  return takeOver({ folder, now: Date.now(), onProgress: () => {} });
}

/** The store says what the former build said of it. */
async function expectKept({ kept }: Kept, folder: string): Promise<void> {
  await withStore(storeOptions(folder, Date.now), async (store) => {
    const { heads, differences, ok } = await verifyStore(store.journal, VERIFIED);
    same(differences, []);
    assert.is(ok, true);
    sameSet(heads ?? [], kept.heads);
    for (const { id, status, deliveries } of kept.transactions) {
      const record = await store.journal.transaction(id);
      assert.is(record?.snapshot.value, status);
      const progress = await store.journal.deliveries(id);
      for (const [name, count] of Object.entries(deliveries))
        if (name !== 'pending') assert.is(progress.filter((each) => each.status === name).length, count);
    }
    assert.is((await store.accounts.after('', 1_000)).length, kept.accounts.length);
  });
}

/** What was started is refused with this, and the former store is there as it was. */
async function refused(folder: string, pattern: RegExp): Promise<void> {
  const before = await readFile(`${folder}/pixstate.lmdb`);
  const error = await taken(folder).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, OperatorError);
  assert.match(String(error), pattern);
  assert.ok((await readFile(`${folder}/pixstate.lmdb`)).equals(before), 'the former file is as it was');
}

test('keeps heads, records, deliveries and settings; the former file is gone then', async () => {
  await withFormer(async (copy, folder) => {
    assert.is(isFormer(folder), true);
    await taken(folder);
    assert.is(isFormer(folder), false);
    await expectKept(copy, folder);
    await taken(folder);
    await expectKept(copy, folder);
  });
});

test('what is due is what was due, and nothing that was done comes again', async () => {
  await withFormer(async ({ kept }, folder) => {
    await taken(folder);
    await withStore(storeOptions(folder, Date.now), async (store) => {
      const due = new Set<string>();
      for (const kind of ['bank', 'timer', 'delivery'] as const)
        for (let claims = await store.due.claim(kind, FAR, 500); claims.length > 0; ) {
          for (const claim of claims) due.add(claim.due.transaction);
          claims = await store.due.claim(kind, FAR, 500);
        }
      const moving = kept.transactions.filter(({ moves }) => moves).map(({ id }) => id);
      for (const id of moving) assert.ok(due.has(id), `${id} goes on`);
      const ended = kept.transactions.filter(({ moves, deliveries }) => {
        const waits = (deliveries.pending ?? 0) + (deliveries.retrying ?? 0);
        return !moves && waits === 0;
      });
      assert.ok(ended.length > 0);
      for (const { id, story } of ended) assert.not(due.has(id), `${story} has come to its end`);
    });
  });
});

test('what a kill left of an earlier attempt is made anew', async () => {
  await withFormer(async (copy, folder) => {
    await writeFile(`${folder}/pixstate.log.new`, 'half a log');
    await taken(folder);
    await expectKept(copy, folder);
    assert.is(existsSync(`${folder}/pixstate.log.new`), false);
  });
});

test('a kill before the former file is gone leaves two, and the next start ends that', async () => {
  await withFormer(async (copy, folder) => {
    const former = `${folder}/former`;
    await copyFile(`${folder}/pixstate.lmdb`, former);
    await taken(folder);
    await withFormerBack(folder, former);
    await taken(folder);
    await expectKept(copy, folder);
  });
});

test('nor does a command that reads between that kill and the next start keep it from ending that', async () => {
  await withFormer(async (copy, folder) => {
    const former = `${folder}/former`;
    await copyFile(`${folder}/pixstate.lmdb`, former);
    await taken(folder);
    await withFormerBack(folder, former);
    for (const args of [['attention'], ['verify']]) {
      const { code, stderr } = await cli(folder, args, copy.env);
      assert.is(code, 0, stderr);
    }
    await taken(folder);
    assert.is((await stat(`${folder}/pixstate.lmdb`)).isDirectory(), true);
    await expectKept(copy, folder);
  });
});

/** Puts the former file back to where it was. */
async function withFormerBack(folder: string, former: string): Promise<void> {
  await rm(`${folder}/pixstate.lmdb`, { recursive: true });
  await copyFile(former, `${folder}/pixstate.lmdb`);
}

test('beside a log that was not made of it, it stays', async () => {
  await withFormer(async (_, folder) => {
    const former = `${folder}/former`;
    await copyFile(`${folder}/pixstate.lmdb`, former);
    await taken(folder);
    // The log is in use: it has more than the former store by now.
    await withStore(storeOptions(folder, Date.now), async () => {});
    await withFormerBack(folder, former);
    await refused(folder, /two stores/);
  });
});

test('a build that looks for the former file stops, rather than begin an empty store', async () => {
  await withFormer(async (_, folder) => {
    await taken(folder);
    assert.throws(() => open({ path: `${folder}/pixstate.lmdb`, noSubdir: true }), /directory/);
  });
});

test('without space it stays, with a word on how much it takes', async () => {
  await withFormer(async (_, folder) => {
    const former = `${folder}/pixstate.lmdb`;
    const { length } = await readFile(former);
    // A sparse file: its end takes no space.
    await truncate(former, 2 ** 42);
    const error = await taken(folder).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.instance(error, OperatorError);
    assert.match(String(error), /takes \d+ MB: \d+ MB are free/);
    await truncate(former, length);
    await taken(folder);
  });
});

test('a journal that is not what its hashes say is not taken over', async () => {
  await withFormer(async (_, folder) => {
    const path = `${folder}/pixstate.lmdb`;
    const bytes = await readFile(path);
    const at = bytes.lastIndexOf('"balances":{"available":');
    bytes.write('9', at + '"balances":{"available":'.length, 'latin1');
    await writeFile(path, bytes);
    await refused(folder, /not what its hash says/);
  });
});

test.run();
