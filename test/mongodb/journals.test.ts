/** A database's journals read again, each by itself: whole histories add up, and each way to be off is told once. */
import { randomUUID } from 'node:crypto';
import { BSON, type Db, type Document, MongoClient } from 'mongodb';
import * as assert from 'uvu/assert';
import { JournalsFollowing } from '../../src/audit/following/journals.ts';
import type { Fault } from '../../src/audit/following/judging.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Core } from '../../src/core.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { contentOf, sha256 } from '../../src/engine/store/content.ts';
import type { FollowedJournals, StoredBatch } from '../../src/engine/store/journals.ts';
import { batchFromDocument, type JournalDocument } from '../../src/store/mongo/documents.ts';
import { MongoStore } from '../../src/store/mongo/store.ts';
import { close, createCharge, live, openOn, rebuilt } from '../audit/scene.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { envOn } from './stage.ts';

interface Scene {
  core: Core;
  db: Db;
  journals: FollowedJournals;
}

const { test, run } = fixtureSuite<Scene>('journals of a database', async (defer) => {
  const database = await freshDatabase();
  defer(() => database.drop());
  const core = await openOn(envOn(database.uri) as Record<string, string>);
  defer(() => close(core));
  const store = new MongoStore({
    ...{ uri: database.uri, incarnation: 'reader', silentAfterMs: 5_000, leaseMs: 10_000, readOnly: true },
    onUnusable: (reason) => assert.unreachable(reason),
    onNotice: () => {},
  });
  defer(() => store.close());
  await store.ready;
  const client = await new MongoClient(database.uri).connect();
  defer(() => client.close());
  return { core, db: client.db(), journals: store.journals };
});

const NOW = 1_700_000_000_000;

/** A whole round, and what it found. */
async function round(following: JournalsFollowing, journals: FollowedJournals, now = NOW): Promise<Fault[]> {
  const faults: Fault[] = [];
  do faults.push(...(await following.step(journals, now)));
  while (!following.isAtRest);
  return faults;
}

/** What one who reads all from the beginning finds of an account. */
async function faultsOf(journals: FollowedJournals, account: string): Promise<string[]> {
  const faults = await round(new JournalsFollowing(null), journals);
  return faults.flatMap((each) =>
    each.kind === 'batch' && each.account === account ? `${each.seq} ${each.fault}` : [],
  );
}

/** Puts a batch back with other content, under the hash of that, or under its own. */
async function replace(db: Db, found: Document, change: object, isRehashed: boolean): Promise<void> {
  const changed = { ...found, ...change } as JournalDocument;
  const { hash: _, ...content } = batchFromDocument(changed);
  const hash = isRehashed ? sha256(contentOf(content as Batch)) : found.hash;
  await db.collection<JournalDocument>('journal').replaceOne({ _id: changed._id }, { ...changed, hash });
}

/** A document in which a member stands twice: BSON takes the members that this map tells of. */
class Twice extends Map<string, unknown> {
  readonly #members: readonly [string, unknown][];

  constructor(members: readonly [string, unknown][]) {
    super();
    this.#members = members;
  }

  override entries(): MapIterator<[string, unknown]> {
    return [...this.#members].values() as MapIterator<[string, unknown]>;
  }
}

/** The same document with a false member before the right one of that name. */
function forged(document: object, name: string, value: unknown): Document {
  return new Twice([[name, value], ...Object.entries(document)]) as unknown as Document;
}

test('whole histories add up, are read once, and go on from what was put down', async ({
  core,
  db,
  journals,
}) => {
  const lives = [await live(core), await live(core)];
  const read: StoredBatch[] = [];
  const counting: FollowedJournals = {
    standings: (after) => journals.standings(after),
    keep: (heads) => journals.keep(heads),
    stored: async (spans, limit) => {
      const found = await journals.stored(spans, limit);
      read.push(...found);
      return found;
    },
  };
  const following = new JournalsFollowing(null);
  assert.is(following.at, null);
  assert.equal(await round(following, counting), []);
  assert.equal([following.at, following.lag], [NOW, 0]);
  assert.is(read.length, await db.collection('journal').countDocuments());
  await following.keep(counting);
  assert.is(await db.collection('followed').countDocuments(), lives.length);
  read.length = 0;
  const account = lives[0]?.account ?? '';
  await createCharge(core, account, 500, null);
  // It holds where it stands until it is put down; another one reads the batch before again.
  for (const next of [following, new JournalsFollowing(NOW)]) {
    assert.equal(await round(next, counting, NOW + 1), []);
    assert.is(next.at, NOW + 1);
  }
  const { seq } = await core.store.journal.head(account);
  const seqs = read.map((each) => (each.account === account ? each.seq : -1));
  assert.equal(seqs, [seq - 1, seq, seq - 1, seq]);
});

test('each way in which a batch can be off is told once', async ({ core, db, journals }) => {
  const { account } = await live(core);
  const journal = db.collection<JournalDocument>('journal');
  const all = await journal.find({ account }).sort({ seq: 1 }).toArray();
  const victim = all.find(
    ({ seq, entries }) => seq > 1 && entries.some((entry) => JSON.stringify(entry).includes('"postings"')),
  );
  assert.ok(victim !== undefined);
  const { seq } = victim;
  assert.equal(await faultsOf(journals, account), []);
  const balances = { ...victim.balances, available: victim.balances.available + 1 };
  const cases: [object, boolean, string[]][] = [
    [{ balances }, false, [`${seq} content`, `${seq + 1} balances`]],
    [{ balances }, true, [`${seq} balances`, `${seq + 1} chain`]],
    [{ note: 'more' }, false, [`${seq} content`]],
    [{ previous: '0'.repeat(64) }, true, [`${seq} chain`, `${seq + 1} chain`]],
    [{ at: new Date(0) }, true, [`${seq} time`, `${seq + 1} chain`]],
  ];
  for (const [change, isRehashed, told] of cases) {
    await replace(db, victim, change, isRehashed);
    assert.equal(await faultsOf(journals, account), told, JSON.stringify(change));
    await journal.replaceOne({ _id: victim._id }, victim);
  }
  await journal.updateOne({ _id: victim._id }, { $set: { exact: 'no JSON' } });
  assert.equal(await faultsOf(journals, account), [`${seq} content`], 'it can not be read');
  await journal.deleteOne({ _id: victim._id });
  assert.equal(await faultsOf(journals, account), [`${seq + 1} missing`]);
  await journal.insertOne(victim);
  assert.equal(await faultsOf(journals, account), []);
});

test('a member that stands twice is found: the database picks out the first, the last is hashed', async ({
  core,
  db,
  journals,
}) => {
  const { account, charge } = await live(core);
  const { journal } = core.store;
  const stored = db.collection<JournalDocument>('journal');
  const seq = (await journal.transaction(charge))?.seqs[0] ?? 0;
  const found = await stored.findOne({ account, seq });
  assert.ok(found !== null);
  const put = async (document: Document): Promise<void> => {
    await stored.deleteOne({ account, seq });
    await db.collection<Document>('journal').insertOne(document);
  };
  const [entry = {}, ...others] = found.entries;
  const deep = forged(entry, 'transaction', 'nobody');
  const cases: Document[] = [
    forged(found, 'entries', []),
    { ...found, entries: [deep, ...others] },
    { ...found, entries: [{ ...entry, message: forged(Object(entry.message), 'id', 'x') }, ...others] },
    forged(found, 'hash', found.hash),
  ];
  for (const [index, each] of cases.entries()) {
    await put(each);
    if (index < 2) assert.equal(await journal.entries(account, charge, [seq]), [], 'history lacks it');
    for (const decide of [false, true])
      for (const only of [{}, { account }]) {
        const options = { heads: false, everyDoorSpeaks: true, decide, ...only };
        const { differences } = await verifyStore(journal, options);
        const told = differences.map((each) => [each.account, each.seq, each.what]);
        assert.equal(told, [[account, seq, 'it is not stored as its hash says']], `${index}`);
      }
    assert.equal(await faultsOf(journals, account), [`${seq} content`]);
    await rebuilt(core, account).then(
      () => assert.unreachable('such a journal is followed'),
      (error) => assert.match(`${error}`, 'is not what its hash says'),
    );
  }
  await put(found);
  assert.equal(await faultsOf(journals, account), []);
});

test('beside the exact text names that BSON has no words for may be the same', async ({
  core,
  db,
  journals,
}) => {
  const { account, charge } = await live(core);
  const { journal } = core.store;
  const record = await journal.transaction(charge);
  assert.ok(record !== null);
  const data = { reason: 'x', of: { '\ud800': 1, '\udbff': 2 } };
  await core.payments.tell(record, { id: 'odd', type: 'PROTEST', data }, 'bank');
  const { seq } = await journal.head(account);
  const options = { heads: false, everyDoorSpeaks: true, decide: false, account };
  const differences = async (): Promise<string[]> =>
    (await verifyStore(journal, options)).differences.map((each) => `${each.seq} ${each.what}`);
  assert.equal(await differences(), []);
  assert.equal(await faultsOf(journals, account), []);
  const stored = db.collection<Document>('journal');
  const [found] = await stored.find({ account, seq }, { raw: true }).toArray();
  const document = BSON.deserialize(found as unknown as Uint8Array);
  assert.type(document.exact, 'string');
  const [entry = {}] = document.entries;
  const inEntry = { ...document, entries: [forged(entry, 'transaction', 'nobody')] };
  for (const each of [forged(document, 'exact', '{}'), forged(document, 'entries', []), inEntry]) {
    await stored.deleteOne({ account, seq });
    await stored.insertOne(each);
    assert.ok((await differences()).includes(`${seq} it is not stored as its hash says`));
    assert.equal(await faultsOf(journals, account), [`${seq} content`]);
  }
  await stored.deleteOne({ account, seq });
  await stored.insertOne(document);
});

test('of what was read, a last batch that is another one, or is gone, is told', async ({
  core,
  db,
  journals,
}) => {
  const { account } = await live(core);
  const journal = db.collection<JournalDocument>('journal');
  const following = new JournalsFollowing(null);
  assert.equal(await round(following, journals), []);
  const [last] = await journal.find({ account }).sort({ seq: -1 }).toArray();
  assert.ok(last !== undefined);
  const { seq } = last;
  await replace(db, last, { at: new Date(last.at.getTime() + 1) }, true);
  assert.equal(await round(following, journals), [{ kind: 'batch', account, seq, fault: 'changed' }]);
  assert.equal(await round(following, journals), []);
  await following.keep(journals);
  await journal.deleteOne({ _id: last._id });
  // A primary that is cut off may not have it yet.
  assert.equal(await round(following, journals, NOW + 1), []);
  assert.equal(await round(following, journals, NOW + 60_000), []);
  const gone: Fault = { kind: 'batch', account, seq, fault: 'gone' };
  assert.equal(await round(following, journals, NOW + 60_001), [gone]);
  assert.equal(await round(following, journals, NOW + 200_000), []);
  await journal.insertOne(last);
  assert.equal(await round(following, journals, NOW + 200_001), []);
});

test('many accounts are read in pages, with little held', async ({ db, journals }) => {
  const ACCOUNTS = 3_000;
  await db.collection('followed').deleteMany({});
  const documents = Array.from({ length: ACCOUNTS }, (_, index) => {
    const account = `acc_${String(index).padStart(20, '0')}`;
    const balances = { available: 0, bank: 0, clearing: 0, fees: 0 };
    const content = {
      account,
      seq: 1,
      id: randomUUID(),
      at: new Date(NOW).toISOString(),
      entries: [],
      balances,
    };
    const batch = { ...content, previous: '0'.repeat(64) };
    const hash = sha256(contentOf(batch));
    return { ...batch, _id: `many-${String(index).padStart(10, '0')}`, at: new Date(NOW), hash };
  });
  await db.collection<JournalDocument>('journal').insertMany(documents);
  const following = new JournalsFollowing(null);
  let steps = 0;
  let most = 0;
  do {
    assert.equal(await following.step(journals, NOW), []);
    steps += 1;
    most = Math.max(most, following.lag);
  } while (!following.isAtRest);
  assert.ok(most >= ACCOUNTS - 50, `${most}`);
  assert.is(following.lag, 0);
  assert.ok(steps >= ACCOUNTS / 50, `${steps}`);
  await following.keep(journals);
  assert.is(following.unkept, 0);
  const again = new JournalsFollowing(null);
  assert.equal(await round(again, journals), []);
  assert.is(again.unkept, 0);
  const plan = await db
    .collection('journal')
    .aggregate([
      { $match: { account: { $gt: '', $lte: 'acc_1' } } },
      { $sort: { account: -1, seq: -1 } },
      { $group: { _id: '$account', seq: { $first: '$seq' }, hash: { $first: '$hash' } } },
    ])
    .explain('queryPlanner');
  assert.match(JSON.stringify(plan), 'DISTINCT_SCAN');
});

run();
