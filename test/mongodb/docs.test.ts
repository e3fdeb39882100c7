/**
 * What `docs/mongodb.md` shows, against a server that has worked: its tables of collections, fields, indexes and
 * options are what is there, and its queries return what they promise, by the index that they name.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Db, type Document, MongoClient, ObjectId } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MongoConnection } from '../../src/store/mongo/connection.ts';
import { cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { charge, tell, told, transfer } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { type Database, freshDatabase } from '../support/mongodb.ts';
import { packageRoot } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/wait.ts';

const test = suite('docs/mongodb.md');
const page = readFileSync(join(packageRoot, 'docs', 'mongodb.md'), 'utf8');

const HOURS_LATER_MS = 2 * 60 * 60 * 1_000;
const TAKEN_OVER_MS = 20_000;
const PROFILE_BYTES = 64 * 1024 * 1024;

/** What mongosh shows of a call: it is made when it is run. */
interface Call {
  run(): Promise<Document[]>;
  explain(): Promise<Document>;
}

class Find implements Call {
  readonly #db: Db;
  readonly #name: string;
  readonly #filter: Document;
  readonly #options: Document;

  constructor(db: Db, name: string, filter: Document, options: Document) {
    this.#db = db;
    this.#name = name;
    this.#filter = filter;
    this.#options = options;
  }

  #with(options: Document): Find {
    return new Find(this.#db, this.#name, this.#filter, { ...this.#options, ...options });
  }

  sort(sort: Document): Find {
    return this.#with({ sort });
  }

  limit(limit: number): Find {
    return this.#with({ limit });
  }

  hint(hint: string): Find {
    return this.#with({ hint });
  }

  run(): Promise<Document[]> {
    return this.#db.collection(this.#name).find(this.#filter, this.#options).toArray();
  }

  explain(): Promise<Document> {
    return this.#db.collection(this.#name).find(this.#filter, this.#options).explain('executionStats');
  }
}

/** As much of mongosh's collections as the page uses. */
function collectionOf(db: Db, name: string) {
  const find = (filter: Document = {}, projection: Document = {}): Find =>
    new Find(db, name, filter, { projection });
  return {
    find,
    findOne: (filter: Document, projection?: Document): Find => find(filter, projection).limit(1),
    aggregate: (pipeline: Document[], options: Document = {}): Call => ({
      run: () => db.collection(name).aggregate(pipeline, options).toArray(),
      explain: () => db.collection(name).aggregate(pipeline, options).explain('executionStats'),
    }),
    insertOne: (document: Document): Call => ({
      run: async () => [await db.collection(name).insertOne(document)],
      explain: () => Promise.reject(new Error('nothing to explain')),
    }),
  };
}

/** Those who ask come two hours later: what is due then is late. */
class Later extends Date {
  static override now(): number {
    return Date.now() + HOURS_LATER_MS;
  }
}

/** The value of an expression as mongosh has it. */
function evaluated(code: string, db: Db | null = null): unknown {
  const shell = new Proxy({}, { get: (_, name) => db && collectionOf(db, String(name)) });
  const isoDate = (time: string): Date => new Date(time);
  const objectId = (id: string): ObjectId => new ObjectId(id);
  const body = `return (${code.trim()});`;
  return new Function('db', 'ISODate', 'ObjectId', 'Date', body)(shell, isoDate, objectId, Later);
}

/** Fenced blocks that a comment names. */
function blocksOf(kind: string): { title: string; code: string }[] {
  const pattern = new RegExp(`<!-- ${kind}: (.*?) -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``, 'g');
  return [...page.matchAll(pattern)].map(([, title = '', code = '']) => ({ title, code }));
}

interface Query {
  name: string;
  indexes: string[];
  scans: string[];
  code: string;
}

const queries: Query[] = blocksOf('query').map(({ title, code }) => {
  const [name = '', ...parts] = title.split('; ');
  const named = (word: string): string[] =>
    parts.flatMap((part) => (part.startsWith(`${word}: `) ? part.slice(word.length + 2).split(', ') : []));
  return { name, indexes: named('index'), scans: named('scans'), code };
});

/** The cells of a part's tables, without their heads. */
function rowsOf(part: string): string[][] {
  return part
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function sectionOf(heading: string): string {
  const start = page.indexOf(`\n${heading}\n`);
  assert.ok(start >= 0, `the page has no "${heading}"`);
  const rest = page.slice(start + heading.length + 2);
  const level = heading.split(' ')[0] ?? '';
  const end = new RegExp(`\\n#{2,${level.length}} `).exec(rest);
  return end === null ? rest : rest.slice(0, end.index);
}

function inBackticks(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** Collections, and the fields that the page says they have. */
const described = new Map(
  [...sectionOf('## What lies there').matchAll(/\n### `(\w+)`\n/g)].map(([, name = '']) => [
    name,
    new Set(rowsOf(sectionOf(`### \`${name}\``)).flatMap(([cell = '']) => inBackticks(cell))),
  ]),
);

let database: Database;
let client: MongoClient;
let db: Db;
let receiver: Receiver;
let server: Server;
/** What the run has made, by the page's placeholders. */
const values: Record<string, string> = {};
/** What else the run has made, by what it is. */
const made: Record<string, string> = {};
let shop: Merchant;
let balance = 0;

async function collections(): Promise<string[]> {
  const all = await db.listCollections({}, { nameOnly: true }).toArray();
  return all.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
}

/** Charges and transfers that have come to their ends, and a delivery that is dead. */
async function work(): Promise<void> {
  const completed = `${receiver.url('/broken')},cashout.completed`;
  const urls = ['--webhook-url', receiver.url('/hook'), '--webhook-url', completed];
  shop = await merchant(server, ['--balance', '500000', ...urls]);
  receiver.answer('/broken', () => ({ status: 500 }));
  await charge(shop, 10_000, { externalRef: 'order-1' });
  const paid = text(await charge(shop, 10_000, { externalRef: 'order-1' }), 'id');
  const payment = await shop.post(`/sandbox/pix-in/${paid}/pay`, {});
  made.completed = text(await transfer(shop, 2_507, { idempotencyKey: 'payout-1' }), 'id');
  await told(shop, made.completed, 'START');
  await told(shop, made.completed, 'SETTLE');
  expectError(await tell(shop, made.completed, 'START'), 409, 'MESSAGE_NOT_ACCEPTED');
  values.ACCOUNT = shop.accountId;
  values.TRANSACTION = paid;
  values.END_TO_END_ID = text(expectStatus(payment, 200), 'pix.endToEndId');
  values.EXTERNAL_REF = 'order-1';
  await cliJson(server, [
    'account',
    'adjust',
    shop.accountId,
    '500',
    '--reason',
    'a correction',
    '--id',
    'fix-1',
  ]);
  await until(() => db.collection('attention').findOne({ kind: 'dead' }), 15_000, 'a dead delivery');
  // What the endpoints read.
  const transaction = `transactionId=${made.completed}`;
  for (const path of [`/pix-in?id=${paid}`, '/pix-in?externalRef=order-1', `/webhooks?${transaction}`])
    expectStatus(await shop.get(path), 200);
  const finished = expectStatus(await shop.get(`/cashout?id=${made.completed}`), 200);
  expectStatus(await shop.get(`/cashout?reference=${text(finished, 'reference')}`), 200);
}

/** More deliveries to a URL that hangs than are sent at a time: the rest goes behind it once those have timed out. */
async function hang(): Promise<void> {
  receiver.answer('/stuck', () => ({ hang: true }));
  const stuck = await merchant(server, ['--webhook-url', receiver.url('/stuck')]);
  await Promise.all(Array.from({ length: 6 }, () => charge(stuck)));
  await until(
    () => db.collection('targets').findOne({ waiting: { $gt: 0 } }),
    30_000,
    'a URL that is behind',
  );
}

/** What will be late in two hours, and what a process has in hand. */
async function begin(): Promise<void> {
  receiver.answer('/hang', () => ({ hang: true }));
  receiver.answer('/late', () => ({ status: 500 }));
  const filters = [`${receiver.url('/hang')},pix-in.*`, `${receiver.url('/late')},cashout.*`];
  const slow = await merchant(server, [
    '--balance',
    '500000',
    ...filters.flatMap((url) => ['--webhook-url', url]),
  ]);
  made.timer = text(await charge(slow, 10_000, { expiresIn: 3_600 }), 'id');
  // The sandbox's first step: it comes in ten minutes.
  made.order = text(await charge(shop, 1_001), 'id');
  made.open = text(await transfer(slow, 2_507), 'id');
  await until(
    () => db.collection('deliveries').findOne({ url: receiver.url('/late'), status: 'retrying' }),
    10_000,
    'a delivery that is tried again',
  );
  await receiver.waitForCount('/hang', 1, 10_000);
  balance = await shop.balance();
}

/** Which process it was, and what is true of its last batch. */
async function look(): Promise<void> {
  const heads = list(await cliJson(server, ['verify', '--heads']), 'heads');
  const head = heads.find((candidate) => text(candidate, 'account') === shop.accountId);
  if (head === undefined) throw new Error('verify gives no head');
  made.hash = text(head, 'hash');
  const batch = await db.collection('journal').findOne({ hash: made.hash });
  values.SEQ = String(batch?.seq);
  values.PROCESS = String(batch?._id).replace(/-\d+$/, '');
  const at = batch?.at as Date;
  values.FROM = at.toISOString();
  values.UNTIL = new Date(at.getTime() + 1).toISOString();
}

test('a server works', async () => {
  database = await freshDatabase();
  client = await new MongoClient(database.uri).connect();
  db = client.db();
  await db.createCollection('system.profile', { capped: true, size: PROFILE_BYTES });
  await db.command({ profile: 2 });
  receiver = await startReceiver();
  const SECRETS_KEY = Buffer.alloc(32, 'of the page ').toString('base64');
  const env = { MONGODB_URI: database.uri, SECRETS_KEY, SANDBOX_DELAY_MS: '600000', CONSOLE: 'on' };
  server = await startServer({ env });
  await work();
  await server.restart({ WEBHOOK_RETRY_SCALE: '1' });
  await hang();
  await begin();
  await until(() => db.collection('followed').findOne({}), 15_000, 'the journal was read again');
  await db.command({ profile: 0 });
  await look();
  await until(
    async () => (await db.collection('processes').countDocuments()) === 1,
    TAKEN_OVER_MS,
    'the end of what commands left',
  );
  await server.kill();
});

test('the options of the connection string are the driver’s', async () => {
  const connection = new MongoConnection({
    uri: 'mongodb://h/d?readPreference=secondary',
    onNotice: () => {},
  });
  const options = connection.client.options as unknown as Record<string, unknown>;
  const rows = rowsOf(sectionOf('### The connection string'));
  assert.ok(rows.length >= 10, `${rows.length} options`);
  for (const [cell = '', shown = ''] of rows) {
    const [name = ''] = inBackticks(cell);
    const value = name === 'readPreference' ? connection.client.readPreference.mode : options[name];
    assert.is(
      shown
        .replace(/^always|`/g, '')
        .replaceAll('`', '')
        .trim(),
      String(value),
      name,
    );
  }
  await connection.close();
});

test('the page names all collections and their fields', async () => {
  assert.equal([...described.keys()].sort(), (await collections()).sort());
  const unnamed: string[] = [];
  for (const [name, fields] of described) {
    const found = await db.collection(name).find().toArray();
    assert.ok(found.length > 0, `nothing lies in ${name}`);
    const names = new Set(found.flatMap((document) => Object.keys(document)));
    unnamed.push(...[...names].filter((field) => !fields.has(field)).map((field) => `${name}.${field}`));
  }
  assert.equal(unnamed, []);
});

function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value);
}

test('the examples have the fields that are there', async () => {
  const examples = blocksOf('example');
  assert.equal(examples.map(({ title }) => title).sort(), [...described.keys()].sort());
  for (const { title, code } of examples) {
    const example = evaluated(code) as Document;
    const stored = await db.collection(title).find().toArray();
    const names = new Set(stored.flatMap((document) => Object.keys(document)));
    for (const [name, value] of Object.entries(example)) {
      assert.ok(names.has(name), `${title}.${name}`);
      if (value === null) continue;
      const types = new Set(stored.map((document) => kindOf(document[name])));
      assert.ok(types.has(kindOf(value)), `the type of ${title}.${name}`);
    }
  }
});

test('the page lists all indexes', async () => {
  const shown = rowsOf(sectionOf('## Indexes')).map(
    ([collection = '', name = '', keys = '', options = '']) => ({
      collection: inBackticks(collection)[0],
      name: inBackticks(name)[0],
      keys: evaluated(inBackticks(keys)[0] ?? ''),
      unique: options === 'unique',
      partial: options.startsWith('`') ? evaluated(inBackticks(options)[0] ?? '') : null,
    }),
  );
  const there: Document[] = [];
  for (const collection of await collections()) {
    if (collection === 'balances') continue;
    for (const { name, key, unique, partialFilterExpression } of await db.collection(collection).indexes()) {
      if (name === '_id_') continue;
      const partial = partialFilterExpression ?? null;
      there.push({ collection, name, keys: key, unique: unique === true, partial });
    }
  }
  const lines = (indexes: object[]): string[] => indexes.map((index) => JSON.stringify(index)).sort();
  assert.equal(lines(shown), lines(there));
});

test('no request scans a collection', async () => {
  const noted = db.collection('system.profile');
  assert.ok((await noted.countDocuments({ appName: 'pixstate' })) > 100);
  const scans = await noted.distinct('ns', { appName: 'pixstate', planSummary: /COLLSCAN/ });
  const allowed = ['processes', 'jobs'].map((name) => `${db.databaseName}.${name}`);
  assert.equal(
    scans.filter((namespace) => !allowed.includes(String(namespace))),
    [],
  );
});

function only(documents: readonly Document[]): Document {
  assert.is(documents.length, 1, JSON.stringify(documents));
  return documents[0] as Document;
}

function idsOf(documents: readonly Document[]): unknown[] {
  return documents.map(({ _id }) => _id);
}

/** What each query promises. */
const promises: Record<string, (found: Document[]) => void> = {
  'transaction by id': (found) => assert.is(only(found)._id, values.TRANSACTION),
  'transaction by end-to-end id': (found) => assert.is(only(found)._id, values.TRANSACTION),
  'charge by external reference': (found) => assert.is(only(found)._id, values.TRANSACTION),
  'entries of a transaction': (found) => {
    const entries = only(found).entries as Document[];
    assert.equal(
      entries.map(({ message, to }) => `${message} ${to}`),
      ['CREATE waiting_payment', 'PAY paid'],
    );
    assert.is(entries[1]?.postings.length, 3);
  },
  'deliveries of a transaction': (found) =>
    assert.equal(found.map(({ event, status }) => `${event} ${status}`).sort(), [
      'pix-in.paid delivered',
      'pix-in.waiting_payment delivered',
    ]),
  'balance of an account': (found) => assert.is(only(found).available, balance),
  "accounts that don't sum to zero": (found) => assert.equal(found, []),
  'sum over all accounts': (found) => {
    const { total, accounts, bank } = only(found);
    assert.equal({ total, accounts }, { total: 0, accounts: 4 });
    assert.ok(bank < 0);
  },
  'late deliveries': (found) => {
    assert.ok(found.some(({ url }) => url === receiver.url('/late')));
    // What the dead server had in hand is late once its claim has run out.
    const late = ['/late', '/hang', '/stuck'].map((path) => receiver.url(path));
    for (const { url } of found) assert.ok(late.includes(url), url);
  },
  'late timers': (found) => assert.equal(idsOf(found), [made.timer]),
  'late orders to the bank': (found) => assert.equal(idsOf(found), [made.order]),
  'deliveries by process': (found) => {
    // To each of two URLs that hang there is one on its way.
    const inHand = found.find(({ _id }) => _id === values.PROCESS)?.count;
    assert.ok(inHand === 1 || inHand === 2, JSON.stringify(found));
    assert.ok(found.find(({ _id }) => _id === '')?.earliest instanceof Date);
  },
  'timers and orders by process': (found) => {
    assert.equal(idsOf(found), ['']);
    assert.is(only(found).count, 1);
  },
  processes: (found) => assert.is(only(found)._id, values.PROCESS),
  'open cashouts': (found) => assert.equal(idsOf(found), [made.open]),
  'dead deliveries': (found) => assert.match(String(only(found).what), /^cashout\.completed of /),
  'journal around a time': (found) => assert.is(only(found).balances.available, balance),
  'who wrote a batch': (found) =>
    assert.match(String(only(found)._id), new RegExp(`^${values.PROCESS}-\\d{10}$`)),
  'batches of a process': (found) => {
    assert.ok(found.length >= 3, `${found.length} batches`);
    for (const { _id } of found) assert.ok(String(_id).startsWith(`${values.PROCESS}-`));
  },
  'unprojected batches': (found) => {
    const { _id, batches } = only(found);
    assert.is(_id, values.PROCESS);
    assert.ok(batches.length >= 1);
    for (const { account, seq } of batches) assert.ok(typeof account === 'string' && typeof seq === 'number');
  },
  'a kept head': (found) => assert.equal(found, [{ hash: made.hash }]),
};

function filledIn(code: string): string {
  const names = Object.keys(values).sort((a, b) => b.length - a.length);
  return code.replace(new RegExp(`\\b(${names.join('|')})\\b`, 'g'), (name) => values[name] ?? name);
}

function all(json: string, pattern: RegExp): string[] {
  return [...json.matchAll(pattern)].flatMap(([, found = '']) => found.split(','));
}

test('each query has a promise, and the page ten of them', () => {
  assert.equal(queries.map(({ name }) => name).sort(), Object.keys(promises).sort());
  assert.is(sectionOf('## Ten queries').match(/\n### \d+\. /g)?.length, 10);
});

for (const { name, code, indexes, scans } of queries) {
  test(`query: ${name}`, async () => {
    if (name === 'unprojected batches') {
      // As if it had died right after its last insert.
      await db
        .collection<{ _id: string }>('processes')
        .updateOne({ _id: values.PROCESS ?? '' }, [
          { $set: { projected: { $subtract: ['$projected', 1] } } },
        ]);
    }
    const call = evaluated(filledIn(code), db) as Call;
    promises[name]?.(await call.run());
    const explained = JSON.stringify(await call.explain());
    const used = [
      ...all(explained, /"indexName":"([^"]+)"/g),
      // A look at one id has a stage of its own.
      ...(/"stage":"(IDHACK|EXPRESS_IXSCAN)"/.test(explained) ? ['_id_'] : []),
      ...all(explained, /"indexesUsed":\[([^\]]*)\]/g).map((quoted) => quoted.replaceAll('"', '')),
    ];
    for (const index of indexes)
      assert.ok(used.includes(index), `${index} is not used, but ${used.join(', ')}`);
    assert.ok(indexes.length + scans.length > 0, 'the page says neither an index nor a scan');
    assert.not.match(explained, /"collectionScans":"?[1-9]/);
    if (scans.length === 0) assert.not.match(explained, /"COLLSCAN"/);
  });
}

test('the claims of a dead process come free by themselves, as the page says', async () => {
  receiver.answer('/hang', () => ({}));
  await server.restart();
  await until(
    () => db.collection('deliveries').findOne({ url: receiver.url('/hang'), status: 'delivered' }),
    TAKEN_OVER_MS,
    'the delivery that was in its hands',
  );
  // For so long something that it had sent may come.
  const longAgo = new Date(Date.now() - 16 * 60_000);
  const processes = db.collection<{ _id: string; beatAt: Date }>('processes');
  const [dead, ...others] = await processes.find().sort({ beatAt: 1 }).toArray();
  assert.is(others.length, 1, 'the dead one, and the one that lives');
  await processes.updateOne({ _id: dead?._id ?? '' }, { $set: { beatAt: longAgo } });
  await until(
    async () => (await db.collection('processes').countDocuments()) === 1,
    TAKEN_OVER_MS,
    'the end of what it left',
  );
});

test('the server stops', async () => {
  await server.stop();
  await receiver.close();
  await client.close();
  await database.drop();
});

test.run();
