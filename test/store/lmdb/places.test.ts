/** Where accounts' batches lie: who asks in their order, and is read ahead for, hears what any other hears. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../scripts/simulation/random.ts';
import { openRoot } from '../../../src/store/environments/lmdb.ts';
import { Room } from '../../../src/store/environments/room.ts';
import { Places } from '../../../src/store/lmdb/projections/places.ts';
import { Rows, tableOf } from '../../../src/store/lmdb/projections/table.ts';
import { withFolder } from '../../faults/scene.ts';

const test = suite('places');

const ACCOUNTS = ['acc_a', 'acc_b', 'acc_b2', 'acc_c'];

async function withPlaces(
  body: (places: Places, write: () => Promise<void>) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/places`;
    const root = openRoot({ path, readOnly: false, noSync: true, maxDbs: 2 });
    const rows = new Rows(new Room(root, path));
    const places = new Places(tableOf(root.openDB({ name: 'places', encoding: 'string' }), { rows }));
    try {
      await body(places, async () => {
        await root.batch(() => rows.issue(() => places.issue()));
        places.written();
      });
    } finally {
      await root.close();
      rows.room.close();
    }
  });
}

test('in order, each batch is found where it was put, and none that was not', async () => {
  for (let seed = 1; seed <= 8; seed++)
    await withPlaces(async (places, write) => {
      const random = new Random(seed);
      const given = new Map(ACCOUNTS.map((account) => [account, [] as number[]]));
      for (let number = 1; number <= 1_500; number++) {
        // One account has most of the batches, so that its runs are long.
        const account = ACCOUNTS[random.int(3) === 0 ? random.int(ACCOUNTS.length) : 0] ?? '';
        const own = given.get(account) ?? [];
        own.push(number);
        places.add(account, own.length, number);
        // The last ones are in memory alone.
        if (number < 1_450 && random.int(12) === 0) await write();
      }
      const inOrder = places.inOrder();
      for (const [account, own] of given) {
        for (const [index, number] of own.entries()) {
          assert.is(inOrder(account, index + 1), number, `seed ${seed}: ${account} ${index + 1}`);
          assert.is(places.of(account, index + 1), number);
        }
        assert.is(inOrder(account, own.length + 1), null);
      }
      assert.is(inOrder('acc_', 1), null);
      // From the middle on, which need not be where a row begins.
      const middle = places.inOrder();
      for (const [account, own] of given)
        for (let seq = Math.ceil(own.length / 2); seq >= 1 && seq <= own.length; seq++)
          assert.is(middle(account, seq), own[seq - 1]);
    });
});

test('a batch that no row has is not found, and those behind it are', async () => {
  await withPlaces(async (places, write) => {
    places.replace(
      'acc_a',
      [1, 2, 3, 5, 6].map((seq) => ({ seq, number: seq * 10 })),
    );
    await write();
    const inOrder = places.inOrder();
    const found = [1, 2, 3, 4, 5, 6, 7].map((seq) => inOrder('acc_a', seq));
    assert.equal(found, [10, 20, 30, null, 50, 60, null]);
  });
});

test.run();
