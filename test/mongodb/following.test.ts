/** The console of one server reads a database's journals again, and those of all servers say how far it is. */
import { rm } from 'node:fs/promises';
import { type Db, type Document, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import type { Batch } from '../../src/engine/journal.ts';
import { contentOf, sha256 } from '../../src/engine/store/content.ts';
import { batchFromDocument, type JournalDocument } from '../../src/store/mongo/documents.ts';
import { consoleReady, origin, startConsole, visitor } from '../console/visitor.ts';
import { cli, cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { charge, told } from '../support/flows.ts';
import { at, type Json, list, parseJson, text, whole } from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import type { Server } from '../support/server.ts';
import { dropStore, mongodbUriOf } from '../support/store.ts';
import { until } from '../support/wait.ts';
import { elsewhere } from './stage.ts';

interface Scene {
  a: Server;
  b: Server;
  db: Db;
}

const MARK = 'journal:follower';
/** A server that died has the lead for ten seconds more. */
const TAKEN_OVER_MS = 45_000;

const { test, run } = fixtureSuite<Scene>('journals read again', async (defer) => {
  const folder = await temporaryFolder();
  defer(() => rm(folder, { recursive: true, force: true }));
  defer(() => dropStore(folder));
  const a = await startConsole({ dataDir: folder });
  defer(() => a.stop());
  const b = await startConsole({ dataDir: folder });
  defer(() => b.stop());
  const client = await new MongoClient(mongodbUriOf(folder) ?? '').connect();
  defer(() => client.close());
  return { a, b, db: client.db() };
});

async function figures(server: Server): Promise<Json> {
  const eva = await visitor(server, ['--url', origin(server)]);
  return at((await eva.get('/now')).body, 'figures');
}

/** Waits until a server says that all of the journal adds up, or doesn't, after this moment. */
async function verified(server: Server, ok = true): Promise<void> {
  const eva = await visitor(server, ['--url', origin(server)]);
  const began = new Date().toISOString();
  await until(
    async () => {
      const told = at((await eva.get('/now')).body, 'figures.verified');
      if (told === null || at(told, 'at') === null) return false;
      return text(told, 'at') > began && whole(told, 'lag') === 0 && at(told, 'ok') === ok;
    },
    TAKEN_OVER_MS,
    `all was read again, ${ok}`,
  );
}

/** Who reads. */
async function reader(db: Db): Promise<string> {
  const mark = await db.collection<{ _id: string; text: string }>('marks').findOne({ _id: MARK });
  return text(parseJson(mark?.text ?? '{"by":""}') ?? null, 'by');
}

async function unread(server: Server): Promise<number> {
  const metrics = await (await fetch(`${origin(server)}/metrics`)).text();
  const [, seconds = 'none'] = /^pixstate_journal_unread_seconds ([\d.]+)$/m.exec(metrics) ?? [];
  return Number(seconds);
}

/** Which of the two wrote what this process's documents say: the console's address names its run. */
async function runOf(db: Db, server: Server): Promise<string> {
  const marks = await db.collection<{ _id: string; text: string }>('marks').find().toArray();
  const addresses = marks.filter(({ _id, text: said }) => _id.startsWith('console:at:') && said !== '');
  const own = addresses
    .map((each) => parseJson(each.text) ?? null)
    .find((each) => text(each, 'local') === origin(server));
  return text(own ?? null, 'incarnation');
}

/** Somebody writes one more batch into an account's journal, by hand, whose balances aren't what its postings give. */
async function forge(db: Db, shop: Merchant): Promise<number> {
  const journal = db.collection<JournalDocument>('journal');
  const [last] = await journal.find({ account: shop.accountId }).sort({ seq: -1 }).limit(1).toArray();
  assert.ok(last !== undefined);
  const forged: Document = {
    ...{
      _id: `forged-${shop.accountId}`,
      account: shop.accountId,
      seq: last.seq + 1,
      id: 'forged',
      at: last.at,
    },
    balances: { ...last.balances, available: last.balances.available + 100_000 },
    previous: last.hash,
    entries: [],
  };
  const { hash: _, ...content } = batchFromDocument({ ...forged, hash: '' } as JournalDocument);
  await journal.insertOne({ ...forged, hash: sha256(contentOf(content as Batch)) } as JournalDocument);
  return last.seq + 1;
}

function journalItems(server: Server): Promise<Json[]> {
  return cliJson(server, ['attention', '--kind', 'journal']).then((body) => list(body, 'items'));
}

test('both servers say that all adds up, and one of them reads', async ({ a, b, db }) => {
  const shop = await merchant(a, ['--name', 'Loja Azul', '--balance', '100000']);
  await told(shop, text(await charge(shop, 6_000), 'id'), 'PAY');
  await told(elsewhere(b, shop), text(await charge(shop, 7_000), 'id'), 'PAY');
  for (const server of [a, b]) {
    await verified(server);
    assert.ok((await unread(server)) < 60, 'the metric says so, too');
    const eva = await visitor(server, ['--url', origin(server)]);
    assert.is(at((await eva.get(`/accounts/${shop.accountId}`)).body, 'verified.ok'), true);
  }
  const runs = await Promise.all([a, b].map((server) => runOf(db, server)));
  assert.ok(runs.includes(await reader(db)));
});

test('a batch that somebody wrote by hand is an item, and said by both', async ({ a, b, db }) => {
  const shop = await merchant(a, ['--balance', '100000']);
  const seq = await forge(db, shop);
  for (const server of [a, b]) await verified(server, false);
  const [item = null, ...others] = await journalItems(a);
  assert.is(others.length, 0);
  const { accountId } = shop;
  assert.equal(
    [text(item, 'code'), text(item, 'about.account'), at(item, 'data')],
    ['BATCH_BROKEN', accountId, { seq, fault: 'balances' }],
  );
  const alarms = [a, b].filter((server) =>
    (server.stdout() + server.stderr()).includes(`ALARM: batch ${seq} of ${accountId}`),
  );
  assert.is(alarms.length, 1, 'who found it says so in its log');
  await cliJson(a, ['attention', 'done', '--kind', 'journal', '--reason', 'seen']);
  for (const server of [a, b]) await verified(server);
});

test('a restart goes on where the reading stood', async ({ a, b, db }) => {
  const shop = await merchant(a, ['--balance', '100000']);
  const { accountId: account } = shop;
  await charge(shop, 500);
  await verified(a);
  await Promise.all([a.terminate(), b.terminate()]);
  const followed = db.collection<{ _id: string; seq: number }>('followed');
  const stood = (await followed.findOne({ _id: account }))?.seq ?? 0;
  const journal = db.collection<JournalDocument>('journal');
  const filter = { account, seq: 1 };
  assert.is(stood, await journal.countDocuments({ account }));
  const found = await journal.findOne(filter);
  assert.ok(found !== null && stood > 1);
  // What was read isn't read again, whatever becomes of it.
  await journal.updateOne(filter, { $set: { 'balances.available': 1 } });
  for (const server of [a, b]) {
    await server.restart();
    await consoleReady(server);
  }
  await charge(shop, 500);
  await verified(a);
  assert.equal(await journalItems(a), []);
  // Where nothing is known of it any more, it is read from its beginning.
  await Promise.all([a.terminate(), b.terminate()]);
  await followed.deleteMany({});
  for (const server of [a, b]) {
    await server.restart();
    await consoleReady(server);
  }
  await verified(b, false);
  const items = await journalItems(b);
  assert.ok(items.some((item) => text(item, 'about.account') === account && whole(item, 'data.seq') === 1));
  assert.match((await cli(b, ['attention', '--lang', 'pt'])).stdout, `ALARME: o lote 1 de ${account}`);
  await journal.replaceOne(filter, found);
  await cliJson(b, ['attention', 'done', '--kind', 'journal', '--reason', 'seen']);
  await verified(a);
});

test('where the one that reads dies, the other one takes over', async ({ a, b, db }) => {
  const shop = await merchant(a, ['--balance', '100000']);
  await verified(a);
  const dead = (await reader(db)) === (await runOf(db, a)) ? a : b;
  const other = dead === a ? b : a;
  await dead.kill();
  const run = await runOf(db, other);
  await until(async () => (await reader(db)) === run, TAKEN_OVER_MS, 'the other one reads');
  await verified(other);
  const seq = await forge(db, shop);
  await verified(other, false);
  const items = await journalItems(other);
  assert.ok(
    items.some((item) => text(item, 'about.account') === shop.accountId && whole(item, 'data.seq') === seq),
  );
  assert.is(at(await figures(other), 'verified.ok'), false);
});

run();
