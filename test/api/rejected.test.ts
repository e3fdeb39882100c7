/** What a receiver refuses for good is on the list for ops: one item for a URL and day, that counts. */
import * as assert from 'uvu/assert';
import { cli, cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge } from '../support/flows.ts';
import { at, type Json, list, text, whole } from '../support/json.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const CHARGES = 20;

const { test, run } = fixtureSuite('rejected deliveries', async (defer) => {
  const receiver = await startReceiver();
  defer(() => receiver.close());
  receiver.answer('/gone', () => ({ status: 410 }));
  receiver.answer('/wrong', () => ({ status: 400 }));
  const server = await startServer();
  defer(() => server.stop());
  const urls = [receiver.url('/gone'), receiver.url('/wrong'), receiver.url('/fine')];
  const client = await merchant(
    server,
    urls.flatMap((url) => ['--webhook-url', url]),
  );
  const ids: string[] = [];
  for (let nth = 0; nth < CHARGES; nth++) ids.push(text(await charge(client), 'id'));
  return { server, receiver, client, ids, urls };
});

async function rejected(server: Server): Promise<Json[]> {
  return list(await cliJson(server, ['attention', '--kind', 'rejected']), 'items');
}

/** The items once their counts add up to so many. */
function counting(server: Server, sum: number): Promise<Json[]> {
  return until(
    async () => {
      const items = await rejected(server);
      return items.reduce<number>((all, item) => all + whole(item, 'data.count'), 0) === sum && items;
    },
    60_000,
    `${sum} counted`,
  );
}

test('thousands would be one item for each URL that refuses, and none for another', async (fixture) => {
  const { server, client, ids, urls } = fixture;
  const items = await counting(server, 2 * CHARGES);
  assert.equal(items.map((item) => text(item, 'about.url')).sort(), urls.slice(0, 2).sort());
  for (const item of items) {
    assert.is(text(item, 'code'), 'DELIVERIES_REJECTED');
    assert.is(text(item, 'account'), client.accountId);
    assert.is(whole(item, 'data.count'), CHARGES);
    assert.is(text(item, 'data.day'), text(item, 'since').slice(0, 10));
    assert.ok(ids.includes(text(item, 'about.transaction')));
    assert.match(text(item, 'about.delivery'), /^dlv_/);
    assert.match(text(item, 'what'), `${text(item, 'about.url')} rejected ${CHARGES} deliveries on `);
    assert.match(text(item, 'next'), `--url '${text(item, 'about.url')}' --since `);
  }
  const told = await cli(server, ['attention', '--kind', 'rejected', '--lang', 'pt']);
  assert.match(told.stdout, `${urls[1]} rejeitou ${CHARGES} entregas em `);
  const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
  assert.match(metrics, /pixstate_attention_items\{kind="rejected"\} 2/);
});

test('a retry takes what it starts anew off the count, and the item goes with the last', async (fixture) => {
  const { server, receiver, ids, urls } = fixture;
  const [gone = ''] = urls;
  receiver.answer('/gone', () => ({ status: 200 }));
  assert.is(
    list(await cliJson(server, ['deliveries', 'retry', ids[0] ?? '', '--url', gone]), 'retried').length,
    1,
  );
  await counting(server, 2 * CHARGES - 1);
  const since = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
  const all = await cliJson(server, ['deliveries', 'retry', '--url', gone, '--since', since]);
  assert.is(list(all, 'retried').length, CHARGES - 1);
  const left = await counting(server, CHARGES);
  assert.equal(
    left.map((item) => text(item, 'about.url')),
    [urls[1]],
  );
});

test('who is done with one hears no more of it on that day', async ({ server, client, receiver, urls }) => {
  const [item = null] = await rejected(server);
  await cliJson(server, ['attention', 'done', text(item, 'id')]);
  const before = receiver.at('/wrong').length;
  await charge(client);
  await receiver.waitForCount('/wrong', before + 1, 10_000);
  const stillNone = async () => (await rejected(server)).length === 0;
  assert.ok(await stillNone());
  // It counts all the same: what is refused again after all were started anew is news.
  await until(
    async () =>
      list(await cliJson(server, ['deliveries', 'retry', '--url', urls[1] ?? '']), 'retried').length > 0,
    10_000,
    'all were tried again',
  );
  const again = await counting(server, CHARGES + 1);
  assert.equal(at(again[0] ?? null, 'about.url'), urls[1]);
});

run();
