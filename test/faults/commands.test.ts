/** Commands and whoever else holds the folder: servers that start, freeze and die, other commands, other versions. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { askToRun } from '../../src/holder/asking.ts';
import { FolderHold, type Self } from '../../src/holder/hold.ts';
import { holderOf } from '../../src/store/folder-lock.ts';
import { cli, cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge } from '../support/flows.ts';
import { at, list, parseJson, text, whole } from '../support/json.ts';
import {
  type Env,
  endWithin,
  type Outcome,
  type Spawned,
  spawnNode,
  temporaryFolder,
} from '../support/process.ts';
import { type Server, serverEnv, startServer } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { expectVerified, spawnAsNobody, withFolder, withServer } from './scene.ts';

const test = suite('commands and whoever holds the folder');

const COMMAND = ['dist/src/cli/pixstate.js'];
/** On its way, when it is verified or rebuilt, for longer than a server takes to start. */
const ACCOUNTS = 20_000;
/** What one command creates at most. */
const AT_ONCE = 10_000;
/** "Soon", on a machine with much else to do. */
const SOON_MS = 10_000;

function command(folder: string, args: string[], env: Env = {}): Spawned {
  return spawnNode([...COMMAND, ...args], { DATA_DIR: folder, LOG_LEVEL: 'warn', ...env });
}

async function serving(folder: string): Promise<Spawned> {
  return spawnNode(['dist/src/main.js'], serverEnv(folder, await freePort(), await freePort()));
}

/** Who holds a folder, by the lock's file; '' where nobody does. */
function holderName(folder: string): string {
  try {
    return text(parseJson(readFileSync(`${folder}/pixstate.server`, 'utf8')) ?? {}, 'what');
  } catch {
    return '';
  }
}

/** Starts a command and waits until it holds the folder and works. */
async function holding(folder: string, args: string[], env: Env = {}): Promise<Spawned> {
  const started = command(folder, args, env);
  const name = args.filter((arg) => !arg.startsWith('-')).slice(0, args[0] === 'account' ? 2 : 1);
  try {
    await until(() => holderName(folder) === name.join(' '), 15_000, 'a command that holds the folder');
  } catch (error) {
    started.child.kill('SIGKILL');
    throw new Error(`${String(error)}: ${started.stderr()}${started.stdout()}`);
  }
  return started;
}

let large = '';

test.before(async () => {
  large = await temporaryFolder();
  const create = ['account', 'create', '--count', String(AT_ONCE), '--balance', '1000'];
  for (let created = 0; created < ACCOUNTS; created += AT_ONCE) await cliJson(large, create);
});
test.after(() => rm(large, { recursive: true, force: true }));

/** A copy of a folder with so many accounts that reading it takes a while. */
async function withLarge(body: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await cp(large, folder, { recursive: true, filter: (path) => !path.endsWith('.socket') });
    await body(folder);
  });
}

function expectRan({ code, stdout, stderr }: Outcome): void {
  assert.is(code, 0, `${stdout}${stderr}`);
  const report = parseJson(stdout);
  assert.is(at(report ?? null, 'ok'), true, stdout);
  assert.is(whole(report ?? null, 'accounts'), ACCOUNTS);
}

/** A server and its folder for temporary files, in which something lies while it reads a whole store. */
async function watched(folder: string): Promise<[server: Server, temporary: string]> {
  const temporary = join(folder, 'temporary');
  mkdirSync(temporary);
  return [await startServer({ dataDir: folder, env: { TMPDIR: temporary } }), temporary];
}

test('kill -9 of the server in the middle of a verify: the command says so and ends with 1, in one document', async () => {
  await withLarge(async (folder) => {
    const [server, temporary] = await watched(folder);
    const verify = command(folder, ['verify', '--decide', '--json']);
    await until(() => readdirSync(temporary).length > 0, 15_000, 'a verify that has begun');
    await server.kill();
    const outcome = await endWithin(verify, SOON_MS);
    assert.is(outcome.code, 1);
    const told = parseJson(outcome.stdout) ?? null;
    assert.is(text(told, 'error'), 'SERVICE_UNAVAILABLE');
    assert.match(text(told, 'message'), `process ${server.pid} since`);
    assert.match(text(told, 'message'), '(serve), which has ended in the middle');
    // The dead server's socket is no obstacle.
    assert.ok(existsSync(join(folder, 'pixstate.socket')));
    expectRan(await endWithin(command(folder, ['verify', '--json']), 30_000));
    assert.not.ok(existsSync(join(folder, 'pixstate.socket')));
  });
});

test('a frozen server: a command names it within seconds, and ends with 1', async () => {
  await withServer({}, async (server) => {
    process.kill(server.pid, 'SIGSTOP');
    try {
      const args = [['account', 'list'], ['account', 'create'], ['verify']];
      const ends = await Promise.all(
        args.map((each) => endWithin(command(server.dataDir, each), 5_000 + SOON_MS)),
      );
      for (const { code, stdout, stderr, elapsedMs } of ends) {
        assert.equal([code, stdout], [1, '']);
        assert.match(stderr, `is held by process ${server.pid} since`);
        assert.match(stderr, '(serve), which has not answered for 5 s');
        assert.ok(elapsedMs < 5_000 + SOON_MS, `it took ${elapsedMs} ms`);
      }
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await cliJson(server, ['account', 'create']);
    await expectVerified(server);
  });
});

/** A command that stops a process, be it itself, at the moment when it asks the holder. */
async function stopping(folder: string, pid: string, args: string[]): Promise<Spawned> {
  const preload = join(folder, 'stopping.mjs');
  await writeFile(
    preload,
    `import net from 'node:net';
     const { write } = net.Socket.prototype;
     net.Socket.prototype.write = function (data, ...rest) {
       const isAsking = String(data).includes('"type":"run"');
       const stop = () => process.kill(${pid}, 'SIGSTOP');
       if (isAsking && ${pid} !== process.pid) stop();
       const isTaken = write.call(this, data, ...rest);
       if (isAsking && ${pid} === process.pid) stop();
       return isTaken;
     };`,
  );
  return spawnNode(['--import', preload, ...COMMAND, ...args], { DATA_DIR: folder, LOG_LEVEL: 'warn' });
}

function adjusting(account: string, ...more: string[]): string[] {
  return ['account', 'adjust', account, '5000', '--reason', 'a deposit', '--json', ...more];
}

async function balanceOf(server: Server, account: string): Promise<number> {
  const accounts = list(await cliJson(server, ['account', 'list']), 'accounts');
  return whole(accounts.find((each) => text(each, 'accountId') === account) ?? null, 'balance');
}

test('a server that freezes once it was asked: it may be done or not, and under the told id is done once', async () => {
  await withServer({}, async (server) => {
    const account = text(await cliJson(server, ['account', 'create']), 'accountId');
    const asking = await stopping(server.dataDir, String(server.pid), adjusting(account));
    const { code, stdout, elapsedMs } = await endWithin(asking, 15_000 + SOON_MS);
    process.kill(server.pid, 'SIGCONT');
    assert.is(code, 1);
    const told = parseJson(stdout) ?? null;
    assert.is(text(told, 'error'), 'SERVICE_UNAVAILABLE');
    const id = text(told, 'id');
    assert.match(
      text(told, 'message'),
      `(serve), which has not answered for 15 s: what was asked of it may be done or not; the same command with --id ${id} does it once`,
    );
    assert.ok(elapsedMs > 14_000, `it took ${elapsedMs} ms`);
    for (let nth = 0; nth < 2; nth++) {
      const again = await cliJson(server, adjusting(account, '--id', id));
      assert.is(whole(again, 'balance'), 5_000);
    }
    await expectVerified(server);
  });
});

test('an id that nobody gave comes from who asks, so that it can be told', async () => {
  await withServer({}, async (server) => {
    const folder = server.dataDir;
    const account = text(await cliJson(server, ['account', 'create']), 'accountId');
    const holder = holderOf(folder);
    if (holder === null) throw new Error('nobody holds the folder');
    const settings = { stuckAfterS: 60, allowPrivateWebhooks: true };
    const own = { args: adjusting(account), user: 'ops', settings, json: true, isWatched: false };
    for (const applied of [true, false]) {
      const request = { ...own, id: 'of who asks' };
      const answer = await askToRun({ folder, holder, version: SELF.version }, request, () => {});
      if (answer.kind !== 'ended') throw new Error(answer.kind);
      const told = parseJson(answer.out.join('')) ?? null;
      assert.equal([at(told, 'applied'), whole(told, 'balance')], [applied, 5_000]);
    }
  });
});

test('a command that was suspended once it had asked reads the answer that lies there', async () => {
  await withServer({}, async (server) => {
    const account = text(await cliJson(server, ['account', 'create']), 'accountId');
    const asking = await stopping(server.dataDir, 'process.pid', adjusting(account));
    await until(async () => (await balanceOf(server, account)) === 5_000, SOON_MS, 'it is done');
    await sleep(15_500);
    assert.is(asking.child.exitCode, null, 'it sleeps');
    process.kill(asking.pid, 'SIGCONT');
    const { code, stdout, stderr } = await endWithin(asking, SOON_MS);
    assert.is(code, 0, `${stdout}${stderr}`);
    assert.is(at(parseJson(stdout) ?? null, 'applied'), true);
  });
});

test('a server that starts beside a long verify serves within seconds, and the verify goes on through it', async () => {
  await withLarge(async (folder) => {
    const verify = await holding(folder, ['verify', '--decide', '--json']);
    const startedAt = performance.now();
    const server = await startServer({ dataDir: folder });
    assert.ok(performance.now() - startedAt < 2_000 + SOON_MS, 'the server waited for the verify');
    assert.is(verify.child.exitCode, null, 'the verify had ended by itself');
    const client = await merchant(server);
    await charge(client);
    const { code, stdout, stderr } = await endWithin(verify, 60_000);
    assert.is(code, 0, stderr);
    assert.is(at(JSON.parse(stdout), 'ok'), true);
    await server.stop();
  });
});

test('a server that starts beside a command that writes waits for it', async () => {
  await withFolder(async (folder) => {
    const writer = await holding(folder, ['account', 'create', '--count', '500', '--balance', '5', '--json']);
    const server = await startServer({ dataDir: folder });
    const { code, stdout } = await endWithin(writer, 30_000);
    assert.is(code, 0);
    assert.is(list(parseJson(stdout) ?? null, 'accounts').length, 500);
    assert.is(list(await cliJson(server, ['account', 'list']), 'accounts').length, 500);
    await server.stop();
  });
});

const SELF: Self = {
  ...{ incarnation: 'of a test', pid: process.pid, since: '2026-01-05T12:00:00.000Z' },
  ...{ version: text(JSON.parse(readFileSync('package.json', 'utf8')), 'version'), what: 'account create' },
};

/** Holds a folder in this process. */
async function withHold(
  folder: string,
  self: Self,
  body: (hold: FolderHold) => Promise<void>,
): Promise<void> {
  const hold = await FolderHold.take(folder, self, new Promise(() => {}));
  if (hold === null) throw new Error('the folder is held');
  try {
    await body(hold);
  } finally {
    await hold.release();
  }
}

async function refusedStart(folder: string): Promise<Outcome> {
  const outcome = await endWithin(await serving(folder), 15_000);
  assert.is(outcome.code, 1, outcome.stderr);
  assert.is(outcome.stderr.trim().split('\n').length, 1, outcome.stderr);
  assert.match(outcome.stderr, folder);
  return outcome;
}

test('a command that writes for longer than that: the start names it and ends with 1', async () => {
  await withFolder(async (folder) => {
    await withHold(folder, SELF, async ({ works }) => {
      let end: () => void = () => {};
      const writing = works.run({ kind: 'writes', name: 'account create' }, async () => {
        await new Promise<void>((resolve) => {
          end = resolve;
        });
      });
      const { stderr, elapsedMs } = await refusedStart(folder);
      assert.match(stderr, `held by process ${process.pid} since ${SELF.since}, which runs account create`);
      assert.ok(elapsedMs > 5_000 && elapsedMs < 5_000 + SOON_MS, `it took ${elapsedMs} ms`);
      end();
      await writing;
    });
  });
});

test('a frozen command: the start names it and ends with 1', async () => {
  await withLarge(async (folder) => {
    const verify = await holding(folder, ['verify', '--json']);
    verify.child.kill('SIGSTOP');
    const { stderr } = await refusedStart(folder);
    assert.match(stderr, `is held by process ${verify.pid} since`);
    assert.match(stderr, '(verify), which has not answered for 5 s');
    verify.child.kill('SIGCONT');
    expectRan(await endWithin(verify, 30_000));
  });
});

test('beside a rebuild a start is refused at once; other commands are served', async () => {
  await withLarge(async (folder) => {
    const rebuild = await holding(folder, ['rebuild', '--json']);
    await sleep(100);
    const [{ stderr }] = await Promise.all([refusedStart(folder), cliJson(folder, ['account', 'list'])]);
    assert.match(stderr, `held by process ${rebuild.pid} since`);
    assert.match(stderr, 'which runs rebuild');
    expectRan(await endWithin(rebuild, 180_000));
  });
});

test('a server that is stopped ends what runs through it, with a line', async () => {
  await withLarge(async (folder) => {
    const [server, temporary] = await watched(folder);
    const rebuild = command(folder, ['rebuild', '--json']);
    await until(() => readdirSync(temporary).length > 0, 15_000, 'a rebuild that has begun');
    const ended = server.terminate();
    const outcome = await endWithin(rebuild, 15_000);
    // A fast machine is through with it before.
    if (outcome.code === 1) {
      const told = parseJson(outcome.stdout) ?? null;
      assert.is(text(told, 'error'), 'SERVICE_UNAVAILABLE');
      assert.match(text(told, 'message'), 'the server was shut down meanwhile');
    } else expectRan(outcome);
    assert.is(await ended, 0);
    expectRan(await endWithin(command(folder, ['verify', '--json']), 30_000));
  });
});

test('a holder of another version: a command says so, and a start too', async () => {
  await withFolder(async (folder) => {
    await cliJson(folder, ['account', 'create'], { MONGODB_URI: '' });
    await withHold(folder, { ...SELF, version: '99.1.0' }, async () => {
      for (const args of [
        ['account', 'list'],
        ['account', 'create'],
      ]) {
        const { code, stderr } = await endWithin(command(folder, args), 15_000);
        assert.is(code, 1);
        assert.match(stderr, `of version 99.1.0, and this command is of version ${SELF.version}`);
      }
      assert.match((await refusedStart(folder)).stderr, 'of version 99.1.0');
    });
  });
});

async function expectWorks(server: Server): Promise<void> {
  await charge(await merchant(server));
  await expectVerified(server);
}

test('a folder whose path is too long for a socket is served, and commands find the server', async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, 'a long name'.repeat(10));
    mkdirSync(folder);
    const server = await startServer({ dataDir: folder });
    await expectWorks(server);
    assert.not.ok(readdirSync(folder).some((name) => name.endsWith('.socket')));
    await server.kill();
    const again = await startServer({ dataDir: folder });
    await expectWorks(again);
    assert.is(await again.stop(), 0);
  });
});

function asNobody(folder: string, args: string[]): Spawned {
  return spawnAsNobody([...COMMAND, ...args], { DATA_DIR: folder, LOG_LEVEL: 'warn' });
}

test('a folder that can’t be written is read by who holds nothing, and written by nobody', async () => {
  await withFolder(async (folder) => {
    await chmod(folder, 0o755);
    await cliJson(folder, ['account', 'create'], { MONGODB_URI: '' });
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
    chmodSync(folder, 0o555);
    try {
      const before = readFileSync(join(folder, 'pixstate.server'));
      for (const args of [['account', 'list'], ['verify'], ['attention']]) {
        const { code, stdout, stderr } = await endWithin(asNobody(folder, [...args, '--json']), 15_000);
        assert.is(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
      }
      const { code, stderr } = await endWithin(asNobody(folder, ['account', 'create']), 15_000);
      assert.is(code, 1);
      assert.match(stderr, `the data folder ${folder} can't be written: EACCES`);
      assert.equal(readFileSync(join(folder, 'pixstate.server')), before);
    } finally {
      chmodSync(folder, 0o755);
    }
  });
});

test('beside a server under load commands are served, and requests too', async () => {
  await withServer({}, async (server) => {
    const client = await merchant(server, ['--balance', '1000']);
    let isOver = false;
    const statuses: number[] = [];
    const load = Array.from({ length: 16 }, async () => {
      while (!isOver) statuses.push((await client.post('/pix-in', { amount: 10_001 })).status);
    });
    try {
      for (let round = 0; round < 3; round += 1) {
        const commands = [['account', 'create'], ['verify'], ['rebuild'], ['account', 'list'], ['attention']];
        const ends = await Promise.all(commands.map((args) => cli(server, [...args, '--json'])));
        for (const [nth, { code, stdout, stderr }] of ends.entries())
          assert.is(code, 0, `${commands[nth]}: ${stdout}${stderr}`);
      }
    } finally {
      isOver = true;
      await Promise.all(load);
    }
    assert.equal([...new Set(statuses)], [201]);
    await expectVerified(server);
  });
});

test.run();
