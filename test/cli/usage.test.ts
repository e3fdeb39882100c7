import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { list, text } from '../support/json.ts';
import { packageRoot } from '../support/process.ts';
import { Folder } from './support.ts';

const test = suite('usage');
let folder: Folder;

test.before(async () => {
  folder = await Folder.make();
  await folder.account();
});
test.after(() => folder.remove());

test('wrong usage exits with 2 and one error object', async () => {
  const wrong = [
    [],
    ['nonsense'],
    ['account'],
    ['account', 'nonsense'],
    ['account', 'list', 'more'],
    ['account', 'list', '--nonsense'],
    ['account', 'create', '--name'],
    ['attention', 'nonsense'],
    ['attention', 'done'],
    ['deliveries'],
    ['deliveries', 'retry'],
    ['inspect'],
    ['send', 'x'],
    ['verify', '--nonsense'],
  ];
  await Promise.all(wrong.map((args) => folder.fails(args, 2, 'INVALID_REQUEST')));
});

test('an option that may stand once is wrong usage where it stands twice', async () => {
  const twice = [
    ['verify', '--account', 'acc_a', '--account', 'acc_b'],
    ['account', 'create', '--name', 'one', '--name', 'one'],
    ['account', 'create', '--balance=1', '--balance=2'],
    ['account', 'set', 'acc_a', '--max-amount', '1', '--max-amount', '2'],
    ['account', 'adjust', 'acc_a', '1', '--reason', 'why', '--id', 'one', '--id', 'two'],
    ['attention', 'done', '--kind', 'dead', '--kind', 'stuck'],
    ['--json', 'attention', '--kind', 'dead', 'done', '--kind', 'stuck'],
    ['migrate-store', '--to', 'mongodb://one', '--to', 'mongodb://two'],
  ];
  await Promise.all(
    twice.map(async (args) => {
      const told = await folder.fails(args, 2, 'INVALID_REQUEST');
      assert.match(text(told, 'message'), /^--[a-z-]+ may stand once/);
    }),
  );
});

test('--json may stand anywhere', async () => {
  for (const args of [
    ['--json', 'account', 'list'],
    ['account', '--json', 'list'],
    ['account', 'list', '--json'],
  ]) {
    const result = await folder.run(args);
    assert.is(result.code, 0, result.stderr);
    assert.is(list(JSON.parse(result.stdout), 'accounts').length, 1);
  }
});

test('help exits with 0', async () => {
  for (const args of [['--help'], ['account', 'create', '--help'], ['help', 'send']]) {
    const result = await folder.run(args);
    assert.is(result.code, 0, result.stderr);
    assert.match(result.stdout, /Usage: pixstate/);
  }
});

test('--version is that of the package', async () => {
  const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  assert.equal(await folder.json(['--version']), { version });
  const { code, stdout } = await folder.run(['--version']);
  assert.equal([code, stdout], [0, `${version}\n`]);
});

test('errors go to stderr without --json', async () => {
  const result = await folder.run(['inspect', 'nothing']);
  assert.is(result.code, 1);
  assert.is(result.stdout, '');
  assert.match(result.stderr, /^error: /);
});

test('every mistake of the environment is named', async () => {
  const told = await folder.json(['account', 'list'], 2, { PORT: 'x', STUCK_AFTER_S: '0' });
  assert.is(text(told, 'error'), 'INVALID_CONFIGURATION');
  assert.is(list(told, 'mistakes').length, 2);
});

test('a folder that cannot be used is the machine’s fault', async () => {
  const path = join(folder.path, 'a-file');
  await writeFile(path, '');
  const told = await folder.json(['account', 'list'], 1, { DATA_DIR: path, MONGODB_URI: '' });
  assert.is(text(told, 'error'), 'STORE_NOT_OPENED');
});

test('what may stand several times, and what is on or off, may stand twice', async () => {
  const ips = ['--allow-ip', '127.0.0.1', '--allow-ip', '192.0.2.1'];
  const id = text(await folder.json(['account', 'create', ...ips, '--json']), 'accountId');
  assert.is(
    (await folder.run(['verify', '--heads', '--heads', '--json', '--account', id, '--json'])).code,
    0,
  );
});

test.run();
