/** What the console finds wrong with the journal is told, even where that can't be done at once. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { JournalFollower } from '../../src/console/server/following/journal-follower.ts';
import type { LogPage } from '../../src/engine/store/log.ts';
import { type AttentionItem, type StoreReads, StoreUnavailable } from '../../src/engine/store.ts';
import { until } from '../support/wait.ts';

const test = suite('faults');

/** A log of rows that nobody can read, and what is put down of how far it was followed. */
class Scene {
  readonly noted: AttentionItem[] = [];
  readonly troubles: unknown[] = [];
  mark: string | null;
  failures = 0;
  readonly follower: JournalFollower;

  constructor(rows: number, mark: string | null = null) {
    this.mark = mark;
    const page = (from: number): LogPage => ({
      batches: [],
      unreadable: Array.from({ length: rows - from }, (_, nth) => ({
        number: from + nth + 1,
        account: null,
        fault: 'torn',
      })),
      upTo: rows,
    });
    const log = { lastRow: () => rows, pages: (_: number, after = 0) => (after < rows ? [page(after)] : []) };
    const reads = { journal: { log }, marks: { mark: async () => this.mark } } as unknown as StoreReads;
    this.follower = new JournalFollower({
      follower: { look: (work) => work(reads), settled: (work) => work(reads), now: () => 1_000 },
      note: async (item) => {
        if (this.failures > 0) {
          this.failures -= 1;
          throw new StoreUnavailable('away');
        }
        this.noted.push(item);
      },
      swapMark: async (_, before, text) => {
        if (this.mark !== before) return false;
        this.mark = text;
        return true;
      },
      onFollowed: () => {},
      onTrouble: (error) => this.troubles.push(error),
    });
  }
}

test('what could not be told is told later, once', async () => {
  const scene = new Scene(3);
  scene.failures = 2;
  await until(() => scene.noted.length >= 3, 10_000, 'all is told');
  await scene.follower.close();
  assert.equal(
    scene.noted.map(({ id, code }) => [id, code]),
    [1, 2, 3].map((row) => [`row_${row}`, 'LOG_UNREADABLE']),
  );
  assert.is(scene.troubles.length, 2);
  assert.is(scene.follower.progress?.lag, 0);
});

test('it goes on where a former run stood, unless the log ends before that', async () => {
  const goneOn = new Scene(3, '{"row":2,"waiting":5}');
  await until(() => goneOn.follower.progress !== null, 10_000, 'all was read');
  await goneOn.follower.close();
  assert.equal(
    goneOn.noted.map(({ id }) => id),
    ['row_3'],
  );
  assert.is(goneOn.follower.progress?.waiting, 5);
  const another = new Scene(3, '{"row":9,"waiting":5}');
  await until(() => another.follower.progress !== null, 10_000, 'all was read');
  await another.follower.close();
  assert.is(another.noted.length, 3);
  assert.is(another.follower.progress?.waiting, 0);
});

test('of thousands the first hundred are told', async () => {
  const scene = new Scene(5_000);
  await until(() => scene.follower.progress !== null, 10_000, 'all was read');
  await scene.follower.close();
  assert.is(scene.noted.length, 100);
});

test.run();
