/** What is due: however many at once, none of their rows gets long; what the right clock made is not brought back. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inOneTransaction, openRoot } from '../../../src/store/environments/lmdb.ts';
import { Room } from '../../../src/store/environments/room.ts';
import { intoRows, readRow, rowText, type Thing } from '../../../src/store/lmdb/due/rows.ts';
import { Schedule } from '../../../src/store/lmdb/due/schedule.ts';
import { Rows, tableOf } from '../../../src/store/lmdb/projections/table.ts';
import { withFolder } from '../../faults/scene.ts';
import { chargeCreated, grow, iso } from '../contract/builders.ts';
import { storeOptions, withStore } from './opened.ts';

const test = suite('rows of the due index');

const AT = Date.UTC(2026, 0, 5, 12);
const COUNT = 200_000;
const PAGE_BYTES = 4_096;

function thing(index: number): Thing {
  const id = `1.${index}`;
  const due = {
    kind: 'timer' as const,
    at: AT,
    account: 'acc_8fb599c9b982adc5549f',
    transaction: '6d69e7d2-4d0c-4a5e-9d0b-0f6f3c1f2a77',
    name: 'EXPIRE',
    tries: 0,
  };
  const rest = { made: AT, order: index, row: null, claim: 0, hasEnded: false, isNear: false };
  return { id, due, ...rest };
}

test('a second in which very much is due takes many rows, each about a page, and loses nothing', () => {
  let ids = 0;
  const rows = intoRows(
    Array.from({ length: COUNT }, (_, index) => thing(index)),
    () => `row.${++ids}`,
  );
  assert.is(new Set(rows.map(({ key }) => key)).size, rows.length);
  const seen = new Set<string>();
  for (const row of rows) {
    const text = rowText(row);
    assert.ok(text.length < 1.5 * PAGE_BYTES, `${text.length} characters`);
    for (const { id } of readRow('timer', row.key, text, () => 0).things) seen.add(id);
  }
  assert.is(seen.size, COUNT);
});

/** A log that is taken up is written in parts: an order may stand in one row, and its end behind it. */
test('an order comes no more once its end is heard of, be it new, written and near, or in its row alone', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'file');
    const root = openRoot({ path, readOnly: false, noSync: true, maxDbs: 1 });
    const room = new Room(root, path);
    const rows = new Rows(room);
    const table = tableOf(root.openDB<string, string>({ name: 'due', encoding: 'string' }), { rows });
    const schedule = new Schedule(table, 'run', () => AT);
    const write = async (): Promise<void> => {
      await inOneTransaction(root, room, () => {
        rows.issue(() => schedule.issue());
        return [];
      });
      schedule.written();
    };
    const { account, transaction } = thing(0).due;
    const order = { kind: 'payout' as const };
    const times: Record<string, number> = { near: AT, far: AT + 60_000, fresh: AT, left: AT };
    const add = (id: string): void => {
      const due = { kind: 'bank' as const, at: times[id] ?? AT, account, transaction, order, tries: 0 };
      schedule.add(id, due, AT);
    };
    for (const id of ['near', 'far', 'left']) add(id);
    await write();
    add('fresh');
    for (const id of ['near', 'far', 'fresh']) schedule.forget(times[id] ?? AT, id);
    await write();
    assert.is(schedule.claim('bank', AT + 120_000, 10).length, 1);
    const stored = new Schedule(table, 'next run', () => AT);
    assert.is(stored.claim('bank', AT + 120_000, 10).length, 1);
    await root.close();
    room.close();
  });
});

test('what became due while things were being brought back is let be', async () => {
  await withFolder(async (folder) => {
    let now = AT;
    await withStore(
      storeOptions(folder, () => now),
      async (store) => {
        const asked = now;
        now += 5_000;
        const due = now + 600_000;
        await grow(store, randomUUID(), [chargeCreated(now, { timers: [{ name: 'EXPIRE', at: iso(due) }] })]);
        assert.is(await store.due.rewind(asked), 0);
        assert.equal(await store.due.claim('timer', due - 1, 10), []);
        assert.is((await store.due.claim('timer', due, 10)).length, 1);
      },
    );
  });
});

test.run();
