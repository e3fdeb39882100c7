/** The store that a command finds, or doesn't: what is not there is not made by a look, and keys must fit. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keys, text } from '../support/json.ts';
import { testServer, withDatabase } from '../support/store.ts';
import { withStoredTables } from '../support/stored-tables.ts';
import { Folder } from './support.ts';

const EMBEDDED = { MONGODB_URI: '', PORT: '0' };
const READING = [['account', 'list'], ['attention'], ['verify'], ['inspect', 'x'], ['verify', '--heads']];
const WRITING = [
  ['send', 'x', 'PAY'],
  ['account', 'set', 'x', '--status', 'inactive'],
  ['account', 'rotate-secret', 'x'],
  ['account', 'rotate-webhook-secret', 'x', 'http://127.0.0.1:9/hook'],
  ['account', 'adjust', 'x', '1', '--reason', 'none'],
  ['deliveries', 'retry', 'x'],
  ['attention', 'done', 'x'],
  ['rebuild'],
];
const MOVING = ['migrate-store', '--to', 'mongodb://127.0.0.1:9/nowhere'];
const test = suite('the store of a command');
const KEY = randomBytes(32).toString('base64');
let folder: Folder;

test.before(async () => {
  folder = await Folder.make();
  const hook = ['--webhook-url', 'http://127.0.0.1:9/hook'];
  await folder.json(['account', 'create', ...hook], 0, EMBEDDED);
});
test.after(() => folder.remove());

test('a command that writes puts its clock down where no server does, and one that reads writes nothing', async () => {
  const clock = (): Promise<string | undefined> =>
    withStoredTables(folder.path, ({ marks }) => marks.get('clock'));
  const before = Date.now();
  await folder.json(['account', 'create'], 0, EMBEDDED);
  const mark = await clock();
  assert.ok(Number(mark) >= before && Number(mark) <= Date.now(), mark);
  await folder.json(['account', 'list'], 0, EMBEDDED);
  assert.is(await clock(), mark);
});

test('of the commands only account create makes a store', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'pixstate-empty-'));
  try {
    for (const DATA_DIR of [parent, join(parent, 'nowhere')]) {
      for (const args of [...READING, ...WRITING, MOVING]) {
        const told = await folder.json(args, 1, { ...EMBEDDED, SECRETS_KEY: KEY, DATA_DIR });
        assert.is(text(told, 'error'), 'STORE_NOT_OPENED', args.join(' '));
        assert.ok(text(told, 'message').includes(`there is no store in ${DATA_DIR}`));
      }
    }
    assert.equal(await readdir(parent), []);
  } finally {
    await rm(parent, { recursive: true });
  }
});

const mongodb = testServer();
if (mongodb !== null)
  test('nor in a database', async () => {
    const name = `pixstate_nothing_${randomBytes(6).toString('hex')}`;
    for (const args of [...READING, ...WRITING]) {
      const told = await folder.json(args, 1, { MONGODB_URI: withDatabase(mongodb, name), SECRETS_KEY: KEY });
      assert.is(text(told, 'error'), 'STORE_NOT_OPENED', args.join(' '));
      assert.ok(text(told, 'message').includes(`there is no store in the database ${name}`));
    }
    const client = new MongoClient(mongodb);
    const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
    await client.close();
    assert.not.ok(databases.some((database) => database.name === name));
  });

/** The server must not start: what it says. */
async function refused(env: Record<string, string>): Promise<string> {
  const { code, stderr } = await folder.run(['serve'], { ...EMBEDDED, ...env });
  assert.is(code, 1, stderr);
  assert.is(stderr.trim().split('\n').length, 1, stderr);
  return stderr;
}

test('a key that does not open what is stored stops the start', async () => {
  const SECRETS_KEY = randomBytes(32).toString('base64');
  assert.match(await refused({ SECRETS_KEY }), /SECRETS_KEY is not the key/);
  const asJson = await folder.json(['serve'], 1, { ...EMBEDDED, SECRETS_KEY });
  assert.is(text(asJson, 'error'), 'STORE_NOT_OPENED');
  assert.match(text(asJson, 'message'), /SECRETS_KEY is not the key/);
  const told = await folder.json(['account', 'create'], 1, { ...EMBEDDED, SECRETS_KEY });
  assert.match(text(told, 'message'), /SECRETS_KEY is not the key/);
  assert.equal(keys(await folder.json(['account', 'list'], 0, { ...EMBEDDED, SECRETS_KEY })), ['accounts']);
});

test('no key is made beside accounts', async () => {
  const [key, away] = [join(folder.path, 'secrets.key'), join(folder.path, 'elsewhere')];
  await rename(key, away);
  assert.match(await refused({}), /secrets\.key is missing/);
  await folder.json(['account', 'create'], 1, EMBEDDED);
  assert.equal(keys(await folder.json(['account', 'list'], 0, EMBEDDED)), ['accounts']);
  assert.not.ok((await readdir(folder.path)).includes('secrets.key'));
  await rename(away, key);
  assert.equal(keys(await folder.json(['account', 'list'], 0, EMBEDDED)), ['accounts']);
  await folder.json(['account', 'create'], 0, EMBEDDED);
});

test('what a newer build wrote is not written to by this one', async () => {
  const newer = await Folder.make();
  try {
    await newer.json(['account', 'create'], 0, EMBEDDED);
    await withStoredTables(newer.path, ({ marks }) => marks.put(['charts'], '99'));
    for (const args of [['serve'], ['account', 'create'], ['send', 'x', 'PAY'], ['rebuild']]) {
      const told = await newer.json(args, 1, EMBEDDED);
      assert.match(text(told, 'message'), /served with version 99 of the statecharts/, args.join(' '));
    }
    await newer.json(['account', 'list'], 0, EMBEDDED);
    await withStoredTables(newer.path, ({ logState }) => {
      logState.put(['state'], JSON.stringify({ ...JSON.parse(logState.get('state') ?? ''), format: 2 }));
    });
    for (const args of [['serve'], ['account', 'create'], ['account', 'list'], ['verify']]) {
      const told = await newer.json(args, 1, EMBEDDED);
      assert.match(
        text(told, 'message'),
        /pixstate\.log is of format 2, and this build knows 1/,
        args.join(' '),
      );
    }
  } finally {
    await newer.remove();
  }
});

test.run();
