/** One batch that can't be read keeps nobody from seeing the others: lists say that it is there (embedded store). */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, list, text, whole } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { withStoredTables } from '../support/stored-tables.ts';
import { until } from '../support/wait.ts';
import { consoleReady, startConsole, visitor } from './visitor.ts';

const test = suite('unreadable');

test('lists show what can be read, and say that there is more', async () => {
  const [server, receiver] = [await startConsole(), await startReceiver()];
  try {
    receiver.answer('/shop', () => ({ status: 410 }));
    const urls = ['--webhook-url', receiver.url('/shop')];
    const shop = await merchant(server, ['--name', 'Loja Azul', ...urls]);
    const other = await merchant(server, ['--name', 'Loja Verde']);
    const torn = text(await charge(shop, 2_050), 'id');
    const readable = [text(await charge(shop, 2_060), 'id'), text(await charge(other, 2_070), 'id')];
    const eva = await visitor(server);
    const rejected = async () => (await eva.get('/deliveries?status=rejected')).body;
    await until(async () => list(await rejected(), 'rows').length === 2, 10_000, 'both were turned away');
    assert.is(whole(await rejected(), 'unreadable'), 0);
    await server.terminate();
    await withStoredTables(server.dataDir, ({ journal }) => {
      assert.match(journal.get([shop.accountId, 1]) ?? '', torn);
      journal.put([shop.accountId, 1], 'torn');
    });
    await server.restart();
    await consoleReady(server);
    const ana = await visitor(server);
    const expected: [path: string, member: string, ids: string[]][] = [
      ['/journal?limit=20', 'transaction', readable],
      ['/transactions', 'id', readable],
      [`/transactions?account=${shop.accountId}`, 'id', readable.slice(0, 1)],
      [`/transactions?account=${shop.accountId}&to=2099-01-01T00:00:00Z`, 'id', readable.slice(0, 1)],
      ['/deliveries', 'transaction', readable.slice(0, 1)],
      ['/deliveries?status=rejected', 'transaction', readable.slice(0, 1)],
    ];
    for (const [path, member, ids] of expected) {
      const { status, body } = await ana.get(path);
      assert.is(status, 200, path);
      const rows = list(body, 'rows').filter((row) => at(row, member) !== null);
      const shown = rows.map((row) => text(row, member));
      assert.equal([shown.sort(), whole(body, 'unreadable')], [ids.sort(), 1], path);
    }
    const { body } = await ana.get(`/transactions?account=${other.accountId}`);
    assert.equal([list(body, 'rows').length, whole(body, 'unreadable')], [1, 0]);
  } finally {
    await server.stop();
    await receiver.close();
  }
});

test('a page from a time on is found past batches that can’t be read', async () => {
  const server = await startConsole();
  try {
    const shop = await merchant(server, ['--name', 'Loja Azul']);
    const eva = await visitor(server, ['--role', 'operator', '--by', 'Eva']);
    const path = `/accounts/${shop.accountId}`;
    for (let nth = 0; nth < 12; nth++) {
      const wish = { id: `deposit ${nth}`, reason: 'a deposit', amount: 100 };
      assert.is((await eva.act('POST', `${path}/adjust`, wish)).status, 200);
    }
    const rows = list((await eva.get(`${path}/statement`)).body, 'rows').map((row) => ({
      seq: whole(row, 'seq'),
      at: text(row, 'at'),
    }));
    assert.is(rows.length, 12);
    const torn = [4, 6, 7];
    await server.terminate();
    await withStoredTables(server.dataDir, ({ journal }) => {
      for (const seq of torn) journal.put([shop.accountId, seq], 'torn');
    });
    await server.restart();
    await consoleReady(server);
    const ana = await visitor(server);
    for (const { seq, at: time } of rows.filter((row) => !torn.includes(row.seq))) {
      const query = new URLSearchParams({ before: time });
      const { status, body } = await ana.get(`${path}/statement?${query}`);
      assert.is(status, 200, `before batch ${seq}`);
      const expected = rows.filter((row) => row.at <= time && !torn.includes(row.seq));
      assert.equal(
        list(body, 'rows').map((row) => whole(row, 'seq')),
        expected.map((row) => row.seq),
        `before batch ${seq}`,
      );
      // What lies before the first one that is later, and can be read, may be of that time.
      const later = rows.filter((row) => row.at > time && !torn.includes(row.seq)).map((row) => row.seq);
      const counted = torn.filter((each) => each < Math.min(...later));
      assert.is(whole(body, 'unreadable'), counted.length, `before batch ${seq}`);
    }
    for (const seq of torn) {
      const { status, body } = await ana.get(`${path}/statement?before=${seq}~999999999`);
      assert.is(status, 200, `behind batch ${seq}`);
      assert.is(whole(list(body, 'rows')[0] ?? null, 'seq'), seq === 7 ? 5 : seq - 1);
    }
  } finally {
    await server.stop();
  }
});

test.run();
