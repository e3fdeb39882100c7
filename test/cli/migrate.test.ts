/** `migrate-store` as far as it goes without a database; `test/mongodb/migrate.test.ts` has the rest. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { text } from '../support/json.ts';
import type { Env } from '../support/process.ts';
import { startServer } from '../support/server.ts';
import { Folder } from './support.ts';

const test = suite('migrate-store');
const PASSWORD = 'p4ssw0rd-of-nobody';
/** Nobody listens there. */
const NOWHERE = `mongodb://someone:${PASSWORD}@127.0.0.1:1/pixstate`;
const KEY = Buffer.alloc(32, 'k').toString('base64');
const EMBEDDED: Env = { MONGODB_URI: '', SECRETS_KEY: KEY };
let folder: Folder;

test.before(async () => {
  folder = await Folder.make();
});
test.after(() => folder.remove());

/** Runs the command, which must fail without telling the password; its error object. */
async function fails(args: readonly string[], code: number, error: string, env: Env = EMBEDDED) {
  const told = await folder.run(['migrate-store', ...args, '--json'], env);
  const read = await folder.run(['migrate-store', ...args], env);
  assert.is(told.code, code, `${told.stdout}${told.stderr}`);
  assert.is(text(told.json, 'error'), error);
  assert.is(read.code, code);
  assert.match(read.stderr, /^error: /m);
  for (const said of [told.stdout, told.stderr, read.stdout, read.stderr])
    assert.not.match(said, PASSWORD, said);
  return told.json;
}

test('wrong usage', async () => {
  const wrong = [
    ...[[], ['--to'], [`--too=${NOWHERE}`]],
    ...[
      ['--to', NOWHERE, 'more'],
      ['--to', NOWHERE, '--account'],
    ],
  ];
  await Promise.all(wrong.map((args) => fails(args, 2, 'INVALID_REQUEST')));
});

test('a malformed connection string', async () => {
  const wrong = [
    ...['', 'localhost:27017', 'mongodb://', 'https://example.com/db'],
    ...[`mongodb://someone:${PASSWORD}@host:port/db`, `mongodb://some one:${PASSWORD}@/db`],
    `mongodb://someone:${PASSWORD}@host/db?nonsense=1`,
    ...[`mongodb://someone:${PASSWORD}@host,/db`, 'mongodb://host/db?tls=true&tlsCAFile=/nowhere', 'o'],
  ];
  await Promise.all(
    wrong.map(async (uri) => {
      const told = await fails(['--to', uri], 2, 'INVALID_REQUEST');
      if (uri.endsWith('/nowhere')) {
        assert.match(text(told, 'message'), "--to names a tlsCAFile that can't be read");
        return;
      }
      // The form is told to its end, whatever was given instead.
      const form = '--to must be a MongoDB connection string (mongodb://HOST[:PORT]/DATABASE)';
      assert.ok(text(told, 'message').startsWith(form), `${uri}: ${text(told, 'message')}`);
    }),
  );
});

test('without SECRETS_KEY, also where the folder has a key of its own', async () => {
  await folder.json(['account', 'create'], 0, { MONGODB_URI: '' });
  const told = await fails(['--to', NOWHERE], 2, 'INVALID_CONFIGURATION', { MONGODB_URI: '' });
  assert.match(text(told, 'message'), 'SECRETS_KEY');
});

test('a database that is not there', async () => {
  const told = await fails(['--to', NOWHERE], 1, 'STORE_NOT_OPENED');
  assert.match(text(told, 'message'), "can't be reached");
  const core = await openCore(readConfig({ DATA_DIR: folder.path }), {
    onFatal: (error) => {
      throw error;
    },
  });
  assert.is((await core.store.accounts.after('', 1))[0]?.status, 'active');
  await core.store.close();
});

test('a folder that a server has', async () => {
  const server = await startServer({ dataDir: folder.path, env: { MONGODB_URI: '' } });
  try {
    const told = await fails(['--to', NOWHERE], 1, 'STORE_IN_USE');
    assert.match(text(told, 'message'), `process ${server.pid}`);
  } finally {
    await server.terminate();
  }
});

test('help says what it does', async () => {
  const { stdout, code } = await folder.run(['migrate-store', '--help']);
  assert.is(code, 0);
  for (const part of ['--to', '--account', 'DATA_DIR']) assert.match(stdout, part);
});

test.run();
