/** What is written to tables together is written whole, or not at all: at whichever row the disk ends. */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inOneTransaction, openRoot } from '../../../src/store/environments/lmdb.ts';
import { Room } from '../../../src/store/environments/room.ts';
import { Rows, type Table, tableOf } from '../../../src/store/lmdb/projections/table.ts';
import { withFolder } from '../../faults/scene.ts';

const test = suite('tables');

/** Has room for so many rows more. */
class EndingRoom extends Room {
  left = Number.POSITIVE_INFINITY;

  override take(bytes: number): void {
    if (this.left === 0) throw new Error('the disk is full');
    this.left -= 1;
    super.take(bytes);
  }
}

interface Scene {
  room: EndingRoom;
  tables: [Table, Table];
  write(issue: () => void): Promise<unknown>;
}

async function withTables(body: (scene: Scene) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, 'file');
    const root = openRoot({ path, readOnly: false, noSync: true, maxDbs: 2 });
    const room = new EndingRoom(root, path);
    const rows = new Rows(room);
    const table = (name: string): Table =>
      tableOf(root.openDB<string, string>({ name, encoding: 'string' }), { rows });
    const write = (issue: () => void): Promise<unknown> =>
      inOneTransaction(root, room, () => {
        rows.issue(issue);
        return [];
      });
    try {
      await body({ room, tables: [table('one'), table('other')], write });
    } finally {
      await root.close();
      room.close();
    }
  });
}

function rowsOf(tables: readonly Table[]): [string, string][] {
  return tables.flatMap((table) =>
    [...table.rows({ start: '' })].map(({ key, value }): [string, string] => [key, value]),
  );
}

test('all of it, in order, where there is room', async () => {
  await withTables(async ({ tables, write }) => {
    const [one, other] = tables;
    await write(() => {
      one.put('a', '1');
      other.put('b', '2');
      one.remove('a');
      one.put('c', '3');
      one.put('c', '4');
    });
    assert.equal(rowsOf(tables), [
      ['c', '4'],
      ['b', '2'],
    ]);
  });
});

test('nothing of it where the disk has no room for one of the rows, and what comes later without it', async () => {
  for (let left = 0; left < 4; left++)
    await withTables(async ({ room, tables, write }) => {
      const [one, other] = tables;
      await write(() => one.put('before', '1'));
      const before = rowsOf(tables);
      room.left = left;
      let told = '';
      await write(() => {
        one.put('a', '2');
        one.remove('before');
        other.put('b', '3');
        one.put('before', '4');
        other.put('c', '5');
      }).catch((error: unknown) => {
        told = String(error);
      });
      assert.match(told, 'the disk is full');
      assert.equal(rowsOf(tables), before);
      room.left = 1;
      await write(() => other.put('after', '6'));
      assert.equal(rowsOf(tables), [...before, ['after', '6']]);
    });
});

test.run();
