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

test.run();
