/** What becomes of commands, and of a server, whose output nobody takes, or that get no folder for temporary files. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { text } from '../support/json.ts';
import { type Env, endWithin, type Outcome, type Spawned, spawnProgram } from '../support/process.ts';
import { startServer } from '../support/server.ts';
import { sleep } from '../support/wait.ts';
import { Folder } from './support.ts';

const EMBEDDED = { MONGODB_URI: '', PORT: '0' };
const PATIENCE_MS = 20_000;
const test = suite('output');
let folder: Folder;

test.before(async () => {
  folder = await Folder.make();
  await folder.json(['account', 'create'], 0, EMBEDDED);
});
test.after(() => folder.remove());

/** Starts node with its output as a shell has it lead elsewhere. */
function redirected(args: string[], where: string, env: Env = {}): Spawned {
  const line = ['-c', `exec "$0" "$@" ${where}`, process.execPath, ...args];
  return spawnProgram('sh', line, { ...EMBEDDED, DATA_DIR: folder.path, ...env });
}

function command(args: string[], where: string): Promise<Outcome> {
  return endWithin(redirected(['dist/src/cli/pixstate.js', ...args], where), PATIENCE_MS);
}

/** Whether a server becomes ready. */
async function isReady(server: Spawned, port: number): Promise<boolean> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end && server.child.exitCode === null) {
    const ok = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return true;
    await sleep(25);
  }
  return false;
}

/** Runs a command whose reader has left before it has anything to say. */
function unread(args: string[]): Promise<Outcome> {
  const line = ['-c', '"$0" dist/src/cli/pixstate.js "$@" | true; exit $PIPESTATUS', process.execPath];
  const env = { ...EMBEDDED, DATA_DIR: folder.path };
  return endWithin(spawnProgram('bash', [...line, ...args], env), PATIENCE_MS);
}

/** Nobody reads: of lists that is no failure, of secrets it is, and a line says what to do. */
async function expectUnread(): Promise<void> {
  const URL = 'https://shop.example/hook';
  const account = text(
    await folder.json(['account', 'create', '--webhook-url', URL], 0, EMBEDDED),
    'accountId',
  );
  for (const args of [['account', 'list'], ['verify'], ['account', 'set', account, '--status', 'active']]) {
    const { code, stderr } = await unread(args);
    assert.equal([code, stderr], [0, ''], args.join(' '));
  }
  const lost: [string[], string][] = [
    [['rotate-secret', account], `account rotate-secret ${account} makes a new one`],
    [
      ['rotate-webhook-secret', account, URL],
      `account rotate-webhook-secret ${account} ${URL} makes a new one`,
    ],
    [
      ['set', account, '--webhook-url', `${URL}/new`],
      `account rotate-webhook-secret ${account} URL makes a new one`,
    ],
    [['create', '--json'], 'account rotate-secret acc_[0-9a-f]+ makes new ones'],
    [['create', '--count', '2'], 'account rotate-secret ID makes new ones'],
  ];
  for (const [args, toDo] of lost) {
    const { code, stderr } = await unread(['account', ...args]);
    assert.is(code, 1, args.join(' '));
    assert.match(
      stderr,
      new RegExp(`^error: stdout can't be written \\(EPIPE\\): .+; the secrets? .+ pixstate ${toDo}\n$`),
    );
  }
}

test('what is shown once and nobody reads is a failure, of which a line says what to do', async () => {
  await expectUnread();
  const server = await startServer({ dataDir: folder.path, env: { MONGODB_URI: '' } });
  try {
    await expectUnread();
  } finally {
    await server.terminate();
  }
});

if (existsSync('/dev/full')) {
  test('a command whose stdout is full says so in a line, and ends with 1', async () => {
    for (const args of [['--help'], ['--version'], ['account', 'list'], ['account', 'list', '--json']]) {
      const { code, stderr } = await command(args, '> /dev/full');
      assert.is(code, 1, args.join(' '));
      assert.match(stderr, /^error: stdout can't be written \(ENOSPC\): .+\n$/);
    }
    const { code } = await command(['nonsense', '--json'], '> /dev/full');
    assert.is(code, 2);
  });

  test('a full stderr keeps no command from its end', async () => {
    const { code, stdout } = await command(['verify'], '2> /dev/full');
    assert.is(code, 0);
    assert.match(stdout, /^ok: /);
    assert.is((await command(['inspect', 'nothing'], '2> /dev/full')).code, 1);
  });

  test('a server goes on where nothing of what it tells can be written', async () => {
    const port = await freePort();
    const env = { DATA_DIR: join(folder.path, 'another'), PORT: String(port) };
    const server = redirected(['dist/src/main.js'], '> /dev/full 2> /dev/full', env);
    try {
      assert.ok(await isReady(server, port));
    } finally {
      server.child.kill('SIGTERM');
    }
    assert.is((await endWithin(server, PATIENCE_MS)).code, 0);
  });
}

test('a folder for temporary files that is not there is named', async () => {
  const TMPDIR = join(folder.path, 'nowhere');
  for (const args of [['verify'], ['rebuild'], ['demo']]) {
    const told = await folder.json(args, 1, { ...EMBEDDED, TMPDIR });
    assert.is(text(told, 'error'), 'STORE_NOT_OPENED', args.join(' '));
    assert.match(text(told, 'message'), new RegExp(`in ${TMPDIR}: ENOENT; is TMPDIR right\\?$`));
  }
});

test.run();
