/**
 * Commands that write where the disk takes no more (`ulimit -f`, EFBIG), without a server: what the log has is answered
 * as done, though nothing that follows from it can be written; of what it may not have, the answer has the id.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import { at, type Json, list, parseJson, text, whole } from '../support/json.ts';
import { type Env, endWithin, type Outcome, spawnProgram } from '../support/process.ts';
import { accountsOf, expectVerified } from './scene.ts';

const EMBEDDED = { MONGODB_URI: '' };
const PATIENCE_MS = 30_000;
const URL = 'https://shop.example/hook';
const BEHIND =
  /^what was done is done; .+ the store could not write \(EFBIG: .+\): is there space on the disk\?\n$/;
const test = suite('commands on a full disk');
let folder: Folder;
/** Their rows take more room in the projections than in the log. */
let accounts: string[];
/** In KB: the log may grow, and the projections, which are written to new places, may not. */
let enoughForTheLog: number;

test.before(async () => {
  folder = await Folder.make();
  const args = ['account', 'create', '--count', '300', '--balance', '1000', '--webhook-url', URL];
  const made = list(await folder.json(args, 0, EMBEDDED), 'accounts');
  accounts = made.map((account) => text(account, 'accountId'));
  enoughForTheLog = Math.max(kilobytesOf('pixstate.log'), kilobytesOf('pixstate.projections')) + 150;
});
test.after(() => folder.remove());

function kilobytesOf(name: string): number {
  return Math.ceil(statSync(join(folder.path, name)).size / 1024);
}

/** `ulimit -f` counts 1024 bytes in bash. */
function limited(kilobytes: number, args: readonly string[], env: Env = {}): Promise<Outcome> {
  const command = `ulimit -f ${kilobytes}; exec "$0" "$@"`;
  const line = ['-c', command, process.execPath, 'dist/src/cli/pixstate.js', ...args];
  return endWithin(spawnProgram('bash', line, { ...EMBEDDED, DATA_DIR: folder.path, ...env }), PATIENCE_MS);
}

/** What a command says that is done, though the projections can't be written. */
async function done(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await limited(enoughForTheLog, args);
  assert.is(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  assert.match(stderr, BEHIND);
  return stdout;
}

async function doneJson(args: readonly string[]): Promise<Json> {
  return parseJson(await done([...args, '--json'])) ?? null;
}

async function accountIn(id: string): Promise<Json> {
  return (await accountsOf(folder.path)).find((account) => text(account, 'accountId') === id) ?? null;
}

test('what the log has is done: an adjustment, a message, changed settings', async () => {
  const [account = ''] = accounts;
  const charge = await folder.charge(account, 10_000);
  const adjust = ['account', 'adjust', account, '700', '--reason', 'deposit'];
  const adjusted = await doneJson([...adjust, '--id', 'a deposit']);
  assert.equal([whole(adjusted, 'balance'), at(adjusted, 'applied')], [1_700, true]);
  assert.is(at(await doneJson([...adjust, '--id', 'a deposit']), 'applied'), false);
  assert.match(await done(adjust), `adjusted by R$ 7.00; the balance of ${account} is R$ 24.00`);
  assert.is(text(await doneJson(['send', charge, 'PAY']), 'status'), 'paid');
  assert.is(text(await doneJson(['account', 'set', account, '--status', 'inactive']), 'status'), 'inactive');
  assert.is(text(await accountIn(account), 'status'), 'inactive');
  await expectVerified(folder.path);
});

test('secrets that count from now on are shown', async () => {
  const [, account = ''] = accounts;
  const { length } = await accountsOf(folder.path);
  const created = await doneJson(['account', 'create', '--balance', '500']);
  assert.match(text(created, 'clientSecret'), /^sk_/);
  assert.match(await done(['account', 'create']), /client secret {2}sk_/);
  assert.is((await accountsOf(folder.path)).length, length + 2);
  assert.is(whole(await accountIn(text(created, 'accountId')), 'balance'), 500);
  const rotated = await doneJson(['account', 'rotate-secret', account]);
  assert.match(text(rotated, 'clientSecret'), /^sk_/);
  assert.is(text(await accountIn(account), 'clientId'), text(rotated, 'clientId'));
  assert.match(await done(['account', 'rotate-secret', account]), /client secret {2}sk_/);
  assert.match(text(await doneJson(['account', 'rotate-webhook-secret', account, URL]), 'secret'), /^whsec_/);
  await expectVerified(folder.path);
});

test('a rebuild, of which no row of the log tells, is refused, and leaves no temporary files', async () => {
  const TMPDIR = join(folder.path, 'temporary');
  mkdirSync(TMPDIR);
  const { code, stdout, stderr } = await limited(enoughForTheLog, ['rebuild'], { TMPDIR });
  assert.equal([code, stdout], [1, '']);
  assert.match(stderr, /^error: the store could not write \(EFBIG: .+\n$/m);
  assert.equal(readdirSync(TMPDIR), []);
});

test('where the log itself takes no more, the answer has the id under which it is done once', async () => {
  const [, , account = ''] = accounts;
  const adjust = ['account', 'adjust', account, '700', '--reason', 'deposit'];
  const ids: string[] = [];
  const kilobytes = kilobytesOf('pixstate.log');
  let applied = 0;
  while (ids.length === 0) {
    const { code, stdout, stderr } = await limited(kilobytes, [...adjust, '--json']);
    const told = parseJson(stdout) ?? null;
    if (code === 0) {
      assert.is(at(told, 'applied'), true, stderr);
      applied += 1;
      continue;
    }
    assert.is(text(told, 'error'), 'SERVICE_UNAVAILABLE');
    assert.match(text(told, 'message'), `may be done or not; the same command with --id ${text(told, 'id')}`);
    ids.push(text(told, 'id'));
  }
  const { code, stdout, stderr } = await limited(kilobytes, adjust);
  assert.equal([code, stdout], [1, '']);
  const [, id = ''] = /; the same command with --id ([\w-]+) does it once\n$/.exec(stderr) ?? [];
  ids.push(id);
  for (const again of [...ids, ...ids]) await folder.json([...adjust, '--id', again], 0, EMBEDDED);
  assert.is(whole(await accountIn(account), 'balance'), 1_000 + 700 * (applied + ids.length));
  await expectVerified(folder.path);
});

test('accounts that are there by the time that the log takes no more are shown with their secrets', async () => {
  const create = ['account', 'create', '--count', '40', '--balance', '500'];
  let kilobytes = kilobytesOf('pixstate.log');
  for (let partly = 0; partly < 2; ) {
    const isJson = partly === 0;
    const before = (await accountsOf(folder.path)).length;
    const { code, stdout, stderr } = await limited(kilobytes, isJson ? [...create, '--json'] : create);
    const shown = [...stdout.matchAll(/sk_[\w-]+/g)].length;
    assert.is((await accountsOf(folder.path)).length, before + shown, stdout);
    if (code === 0) continue;
    assert.is(code, 1);
    const message = isJson ? text(parseJson(stdout) ?? null, 'message') : stderr;
    assert.match(message, 'What was asked for may be done or not');
    if (shown > 0) partly += 1;
    // Forty accounts take more than that.
    else kilobytes += 20;
  }
  await expectVerified(folder.path);
});

test.run();
