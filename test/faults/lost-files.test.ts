/** Files of a data folder that are gone, cut short, or somebody else's: a line says so, and nothing is made in their place. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { openRoot } from '../../src/store/environments/lmdb.ts';
import { Folder } from '../cli/support.ts';
import { askJson } from '../support/cli.ts';
import { at, list, parseJson, text } from '../support/json.ts';
import { endWithin, type Outcome, spawnNode } from '../support/process.ts';
import { serverEnv, startServer } from '../support/server.ts';
import { spawnAsNobody, withFolder } from './scene.ts';

const EMBEDDED = { MONGODB_URI: '' };
const LOG = 'pixstate.log';
const PROJECTIONS = 'pixstate.projections';
const START_MS = 30_000;
const test = suite('lost files of a data folder');

let whole: Folder;

test.before(async () => {
  whole = await Folder.make();
  await whole.json(['account', 'create', '--balance', '1000'], 0, EMBEDDED);
});
test.after(() => whole.remove());

/** A copy of a stopped folder. */
async function withCopy(body: (copy: Folder) => Promise<void>): Promise<void> {
  await withFolder(async (path) => {
    await cp(whole.path, path, { recursive: true, filter: (each) => !each.endsWith('.socket') });
    await body(new Folder(path));
  });
}

async function start({ path }: Folder): Promise<Outcome> {
  const env = serverEnv(path, await freePort(), await freePort(), EMBEDDED);
  return endWithin(spawnNode(['dist/src/main.js'], env), START_MS);
}

/** A server doesn't start; gives the line that it says. */
async function refused(folder: Folder): Promise<string> {
  const { code, signal, stdout, stderr } = await start(folder);
  assert.equal([code, signal, stdout], [1, null, ''], stderr);
  assert.is(stderr.split('\n').length, 2, stderr);
  return stderr;
}

/** What a command says, which doesn't open the store either. */
async function toldBy(folder: Folder, args: string[]): Promise<string> {
  const told = await folder.json(args, 1, EMBEDDED);
  assert.is(text(told, 'error'), 'STORE_NOT_OPENED');
  return text(told, 'message');
}

async function expectServed({ path }: Folder, accounts: number): Promise<void> {
  const server = await startServer({ dataDir: path, env: EMBEDDED });
  try {
    const verified = await askJson(server, ['verify', '--decide']);
    assert.is(at(verified, 'ok'), true, JSON.stringify(verified));
    const listed = list(await askJson(server, ['account', 'list']), 'accounts');
    assert.is(listed.length, accounts);
  } finally {
    await server.stop();
  }
}

for (const lost of ['gone', 'empty'])
  test(`where the log is ${lost}, and what was made from it is there, no store is begun`, async () => {
    await withCopy(async (copy) => {
      const log = join(copy.path, LOG);
      if (lost === 'gone') rmSync(log);
      else truncateSync(log);
      const projections = readFileSync(join(copy.path, PROJECTIONS));
      const what = `${log} is gone or empty, and ${join(copy.path, PROJECTIONS)}, which was made from it, is there`;
      assert.match(await refused(copy), what);
      const commands = lost === 'gone' ? [['account', 'create'], ['verify']] : [];
      for (const args of commands) assert.match(await toldBy(copy, args), what);
      assert.ok(readFileSync(join(copy.path, PROJECTIONS)).equals(projections));
      await cp(join(whole.path, LOG), log);
      await expectServed(copy, 1);
    });
  });

test('an older copy of the log is read beside what was made of the newer one, and nobody writes to it', async () => {
  await withCopy(async (copy) => {
    const log = join(copy.path, LOG);
    const older = readFileSync(log);
    await copy.json(['account', 'create', '--balance', '5'], 0, EMBEDDED);
    writeFileSync(log, older);
    const what = /ends at row \d+, and .* was made of \d+ rows: the log is an older copy/;
    assert.match(await refused(copy), what);
    for (const args of [['account', 'create'], ['rebuild']]) assert.match(await toldBy(copy, args), what);
    const verified = await copy.json(['verify'], 1, EMBEDDED);
    assert.is(list(verified, 'differences').length > 0, true, JSON.stringify(verified));
    await copy.json(['attention'], 0, EMBEDDED);
    assert.ok(readFileSync(log).equals(older));
    rmSync(join(copy.path, PROJECTIONS));
    await expectServed(copy, 1);
  });
});

test('a log alone has all that it had, and a key alone is a first start that died', async () => {
  await withCopy(async (copy) => {
    rmSync(join(copy.path, PROJECTIONS));
    await expectServed(copy, 1);
  });
  await withFolder(async (path) => {
    await cp(join(whole.path, 'secrets.key'), join(path, 'secrets.key'));
    await expectServed(new Folder(path), 1);
  });
});

test('a first start that died while it made its files is followed by another one', async () => {
  const leftBehind: Record<string, 'nothing' | 'a header'>[] = [
    { [LOG]: 'nothing' },
    { [LOG]: 'a header' },
    // A new log is whole before there are projections.
    { [LOG]: 'a header', [PROJECTIONS]: 'a header' },
  ];
  for (const files of leftBehind)
    await withFolder(async (path) => {
      for (const [name, what] of Object.entries(files)) {
        if (what === 'nothing') writeFileSync(join(path, name), '');
        else await openRoot({ path: join(path, name), readOnly: false, maxDbs: 1 }).close();
      }
      await expectServed(new Folder(path), 1);
    });
});

/** A stopped folder's file, and how long it is. */
function cutTo(path: string, share: number): string {
  const { size } = statSync(path);
  const left = Math.floor(size * share);
  truncateSync(path, left);
  return `${path} is cut short: it has ${left} of ${size} bytes`;
}

test('a log that was cut short is told by a server and by commands, and stays as it is', async () => {
  await withCopy(async (copy) => {
    const log = join(copy.path, LOG);
    const what = cutTo(log, 0.7);
    const left = readFileSync(log);
    assert.match(await refused(copy), what);
    for (const args of [['verify'], ['account', 'create']]) assert.match(await toldBy(copy, args), what);
    assert.ok(readFileSync(log).equals(left));
    truncateSync(log, 4_100);
    assert.match(await refused(copy), `${log} is cut short: it has 4100 of at least 8192 bytes`);
    writeFileSync(log, Buffer.alloc(left.length, 'x'));
    assert.match(await refused(copy), `${log} is no file of LMDB`);
  });
});

test('projections that were cut short, or are something else, are made again from the log', async () => {
  for (const spoil of [
    (path: string) => void cutTo(path, 0.9),
    (path: string) => writeFileSync(path, Buffer.alloc(100_000, 'x')),
  ])
    await withCopy(async (copy) => {
      spoil(join(copy.path, PROJECTIONS));
      await expectServed(copy, 1);
    });
});

test('a file that a process may not open is told, with its path', async () => {
  await withCopy(async ({ path }) => {
    // As a service's user finds a folder in which root has run a command: all but one file is its own.
    chmodSync(path, 0o777);
    for (const name of readdirSync(path)) chmodSync(join(path, name), 0o777);
    for (const [name, mode] of [
      [`${LOG}-lock`, 0o444],
      [`${PROJECTIONS}-lock`, 0o444],
      [LOG, 0o444],
      [PROJECTIONS, 0o000],
    ] as const) {
      chmodSync(join(path, name), mode);
      const args = ['dist/src/cli/pixstate.js', 'verify', '--json'];
      const { code, signal, stdout, stderr } = await endWithin(
        spawnAsNobody(args, { ...EMBEDDED, DATA_DIR: path, LOG_LEVEL: 'warn' }),
        START_MS,
      );
      assert.equal([code, signal], [1, null], `${name}: ${stdout}${stderr}`);
      const told = text(parseJson(stdout) ?? null, 'message');
      assert.is(told, `${join(path, name)} can't be opened (EACCES): is it another user's?`);
      chmodSync(join(path, name), 0o666);
    }
  });
});

test('a key that can’t be read is told, by a server and by commands', async () => {
  await withCopy(async (copy) => {
    const key = join(copy.path, 'secrets.key');
    rmSync(key);
    mkdirSync(key);
    const what = `the key ${key} can't be read: EISDIR`;
    assert.is(await refused(copy), `pixstate can't start: ${what}\n`);
    assert.is(await toldBy(copy, ['verify']), what);
  });
});

test.run();
