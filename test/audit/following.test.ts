/** The journal read again as it grows: whole histories add up, and each way in which a batch can be off is told once. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Fault } from '../../src/audit/following/judging.ts';
import { Following } from '../../src/audit/following/log.ts';
import type { Core } from '../../src/core.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { contentOf, sha256 } from '../../src/engine/store/content.ts';
import type { LogPage } from '../../src/engine/store/log.ts';
import { temporaryFolder } from '../support/process.ts';
import { close, createCharge, live, openOn, tell } from './scene.ts';

const test = suite<{ folder: string; core: Core; pages: LogPage[]; account: string }>('following');
const START = { row: 0, waiting: 0 };

test.before(async (context) => {
  context.folder = await temporaryFolder();
  context.core = await openOn({ DATA_DIR: context.folder });
  const lives = [await live(context.core), await live(context.core)];
  context.account = lives[0]?.account ?? '';
  context.pages = [...(context.core.store.journal.log?.pages(1) ?? [])];
});
test.after(async ({ folder, core }) => {
  await close(core);
  await rm(folder, { recursive: true });
});

/** Judges these pages from the beginning. */
async function judged(
  core: Core,
  pages: readonly LogPage[],
): Promise<{ following: Following; faults: Fault[] }> {
  const following = new Following(START);
  const faults: Fault[] = [];
  for (const page of pages) faults.push(...(await following.judge(core.store.journal, page)));
  return { following, faults };
}

/** The pages with one batch of an account changed. */
function changed(
  pages: readonly LogPage[],
  account: string,
  change: (logged: LogPage['batches'][number]) => LogPage['batches'],
): { pages: LogPage[]; seq: number } {
  const own = pages.flatMap(({ batches }) => batches.filter(({ batch }) => batch.account === account));
  const { seq } = own.find(({ batch }) => batch.seq > 1 && moves(batch))?.batch ?? { seq: 0 };
  assert.ok(seq > 1);
  return {
    seq,
    pages: pages.map((page) => ({
      ...page,
      batches: page.batches.flatMap((logged) =>
        logged.batch.account === account && logged.batch.seq === seq ? change(logged) : [logged],
      ),
    })),
  };
}

function moves({ entries }: Batch): boolean {
  return entries.some(({ postings }) => postings.length > 0);
}

/** A batch that somebody wrote anew, with a hash that fits. */
function rewritten(batch: Batch, parts: Partial<Batch>): Batch {
  const whole = { ...batch, ...parts };
  return { ...whole, hash: sha256(contentOf(whole)) };
}

test('all kinds of entries add up, in whatever pages they come', async ({ core, pages }) => {
  const { following, faults } = await judged(core, pages);
  assert.equal(faults, []);
  assert.is(following.to.row, core.store.journal.log?.lastRow());
  const whole = await judged(core, [...(core.store.journal.log?.pages(1_000_000) ?? [])]);
  assert.equal([whole.faults, whole.following.to], [[], following.to]);
});

test('a batch that can not be read is told by its own row, not by the one after it', async ({
  core,
  pages,
  account,
}) => {
  const { pages: without, seq } = changed(pages, account, () => []);
  const broken = {
    batches: async (id: string, seqs: readonly number[]): Promise<Batch[]> => {
      if (id === account && seqs.includes(seq)) throw new Error('no JSON');
      return core.store.journal.batches(id, seqs);
    },
  };
  const following = new Following(START);
  const faults: Fault[] = [];
  for (const page of without) faults.push(...(await following.judge(broken, page)));
  assert.equal(faults, []);
});

test('it goes on where another one stood, without what that one held', async ({ core, pages, account }) => {
  const half = Math.floor(pages.length / 2);
  const { following } = await judged(core, pages.slice(0, half));
  const other = new Following(following.to);
  for (const page of pages.slice(half)) assert.equal(await other.judge(core.store.journal, page), []);
  assert.equal(other.to, (await judged(core, pages)).following.to);
  // What is written meanwhile is behind.
  const id = await createCharge(core, account, 5_000, null);
  const { log } = core.store.journal;
  assert.ok(log !== undefined);
  const more = [...log.pages(100, other.to.row)];
  assert.ok(more.every(({ batches }) => batches.every(({ number }) => number > other.to.row)));
  for (const page of more) assert.equal(await other.judge(core.store.journal, page), []);
  const waiting = other.to.waiting;
  await tell(core, id, 'PAY', { endToEndId: 'E99999999202611231030ccccccccccc' });
  for (const page of log.pages(100, other.to.row)) await other.judge(core.store.journal, page);
  assert.is(other.to.waiting, waiting - 1);
});

test('charges that wait are counted on the way', async ({ core, pages }) => {
  const { following } = await judged(core, pages);
  let waiting = 0;
  const ids = new Set(
    pages.flatMap(({ batches }) =>
      batches.flatMap(({ batch }) => batch.entries.flatMap(({ transaction }) => transaction ?? [])),
    ),
  );
  for (const id of ids)
    if ((await core.store.journal.transaction(id))?.snapshot.value === 'waiting_payment') waiting += 1;
  assert.is(following.to.waiting, waiting);
});

test('what is off is told once, by its batch', async ({ core, pages, account }) => {
  type Logged = LogPage['batches'][number];
  const entriesOf = ({ entries }: Batch): Batch['entries'] =>
    entries.map((entry) => ({
      ...entry,
      postings: entry.postings.map((posting, index) =>
        index === 0 ? { ...posting, amount: posting.amount + 1 } : posting,
      ),
    }));
  const cases: [string, (logged: Logged) => Logged[]][] = [
    ['content', (logged) => [{ ...logged, isAsHashed: false }]],
    ['place', (logged) => [{ ...logged, isFound: false }]],
    ['time', (logged) => [{ ...logged, batch: { ...logged.batch, at: '2000-01-01T00:00:00.000Z' } }]],
    ['sum', (logged) => [{ ...logged, batch: { ...logged.batch, entries: entriesOf(logged.batch) } }]],
  ];
  for (const [fault, change] of cases) {
    const { pages: off, seq } = changed(pages, account, change);
    assert.equal((await judged(core, off)).faults, [{ kind: 'batch', account, seq, fault }], fault);
  }
  // The next batch stands on other balances, too.
  const { pages: richer, seq } = changed(pages, account, (logged) => {
    const { available, bank, ...others } = logged.batch.balances;
    const balances = { ...others, available: available + 500, bank: bank - 500 };
    return [{ ...logged, batch: { ...logged.batch, balances } }];
  });
  assert.equal((await judged(core, richer)).faults, [
    { kind: 'batch', account, seq, fault: 'balances' },
    { kind: 'batch', account, seq: seq + 1, fault: 'balances' },
  ]);
  // Written anew with a hash that fits, it isn't what the next one is chained to.
  const { pages: forged } = changed(pages, account, (logged) => [
    { ...logged, batch: rewritten(logged.batch, { id: 'another' }) },
  ]);
  assert.equal((await judged(core, forged)).faults, [
    { kind: 'batch', account, seq: seq + 1, fault: 'chain' },
  ]);
});

test('a batch that is gone, and a row that nobody can read', async ({ core, pages, account }) => {
  const { pages: without, seq } = changed(pages, account, () => []);
  const following = new Following(START);
  const gone = { batches: async () => [] };
  const faults: Fault[] = [];
  for (const page of without) faults.push(...(await following.judge(gone, page)));
  assert.equal(faults, [{ kind: 'batch', account, seq: seq + 1, fault: 'missing' }]);
  const unreadable = [{ number: 7, account: null, fault: 'no JSON' }];
  assert.equal((await judged(core, [{ batches: [], unreadable, upTo: 9 }])).faults, [
    { kind: 'row', row: 7, reason: 'no JSON' },
  ]);
});

test.run();
