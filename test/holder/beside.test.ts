/** A command through the process that holds the folder does what it does by itself. */
import { cp } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Folder } from '../cli/support.ts';
import type { CliResult } from '../support/cli.ts';
import { at, list, text } from '../support/json.ts';
import type { Env } from '../support/process.ts';
import { startServer } from '../support/server.ts';
import { eachOf, until } from '../support/wait.ts';

const test = suite('commands beside a server');

/** What commands and servers have in common here. */
const EMBEDDED: Env = { MONGODB_URI: '', STUCK_AFTER_S: '1', ALLOW_PRIVATE_WEBHOOKS: 'true' };
const HOOK = 'http://127.0.0.1:9/hook';

interface Scene {
  folder: Folder;
  commands: string[][];
}

/** A folder with an account, a charge and a transfer, and commands on it whose output is always the same. */
async function scene(): Promise<Scene> {
  const folder = await Folder.make();
  const id = await folder.account('--balance', '5000', '--name', 'Loja ã');
  const charge = await folder.charge(id, 10_000, 'order-1');
  const transfer = await folder.transfer(id, 1_007, 'payout-1');
  const commands = [
    ...[['account', 'list'], ['attention', '--kind', 'unknown'], ['attention', '--after', 'x'], ['verify']],
    ...[
      ['verify', '--heads', '--decide'],
      ['verify', '--account', id],
      ['verify', '--account', 'nobody'],
    ],
    ...[
      ['inspect', charge],
      ['inspect', 'order-1'],
      ['inspect', 'payout-1', '--account', id],
      ['inspect', 'x'],
    ],
    ...[['rebuild'], ['rebuild', id], ['rebuild', 'nobody'], ['attention', 'done', 'nothing']],
    ...[
      ['attention', 'done', '--kind', 'refused'],
      ['deliveries', 'retry', '--account', id],
    ],
    ...[
      ['deliveries', 'retry', 'x'],
      ['deliveries', 'retry', charge],
      ['send', 'x', 'PAY'],
    ],
    ...[
      ['send', transfer, 'PAY', '--id', 'odd'],
      ['send', transfer, 'NONSENSE'],
      ['send', charge, 'CANCEL'],
    ],
    ...[['send', charge, 'CANCEL', '--data', '{']],
    ...[
      ['account', 'set', id, '--user-status', 'inactive'],
      ['account', 'set', 'nobody', '--status', 'active'],
    ],
    ...[
      ['account', 'set', id],
      ['account', 'adjust', id, '5', '--reason', 'r', '--id', 'one'],
    ],
    ...[
      ['account', 'adjust', id, '-999999', '--reason', 'r'],
      ['account', 'adjust', id, '0', '--reason', 'r'],
    ],
    ...[
      ['account', 'rotate-webhook-secret', id, 'http://127.0.0.1:9/other'],
      ['account', 'rotate-secret', 'x'],
    ],
  ];
  return { folder, commands };
}

/** What a command wrote, but for hashes and times: entries were made on both sides, at different times. */
function told({ code, stdout, stderr }: CliResult): object {
  const alike = (text: string): string =>
    text.replace(/[0-9a-f]{64}/g, 'HASH').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
  return { code, stdout: alike(stdout), stderr: alike(stderr) };
}

test('each says the same as without one', async () => {
  const { folder, commands } = await scene();
  const copy = await Folder.make();
  try {
    await cp(folder.path, copy.path, { recursive: true });
    // Nothing is due to be done by the server itself before the commands have been there.
    const env = { ...EMBEDDED, SANDBOX_DELAY_MS: '86400000' };
    const server = await startServer({ dataDir: copy.path, env: { ...env, STUCK_AFTER_S: '300' } });
    try {
      for (const [nth, command] of commands.entries()) {
        const args = nth % 2 === 0 ? command : [...command, '--json'];
        const [alone, beside] = await Promise.all([folder.run(args, env), copy.run(args, env)]);
        assert.equal(told(beside), told(alone), args.join(' '));
      }
      assert.is(at(await copy.json(['verify'], 0, env), 'ok'), true);
    } finally {
      await server.stop();
    }
  } finally {
    await folder.remove();
    await copy.remove();
  }
});

test('what is its own holds for it: when a transfer is stuck, which webhooks it may name', async () => {
  const { folder } = await scene();
  const server = await startServer({
    dataDir: folder.path,
    env: { ...EMBEDDED, STUCK_AFTER_S: '300', ALLOW_PRIVATE_WEBHOOKS: 'false' },
  });
  try {
    const stuck = async (STUCK_AFTER_S: string): Promise<number> => {
      const items = list(await folder.json(['attention'], 0, { ...EMBEDDED, STUCK_AFTER_S }), 'items');
      return items.filter((item) => text(item, 'kind') === 'stuck').length;
    };
    // The server has just told the bank of the transfer: a second must go by.
    await until(async () => (await stuck('1')) === 1, 10_000, 'a stuck transfer');
    assert.is(await stuck('300'), 0);
    const create = ['account', 'create', '--webhook-url', HOOK];
    await folder.json(create, 0, { ...EMBEDDED, ALLOW_PRIVATE_WEBHOOKS: 'true' });
    await folder.json(create, 2, { ...EMBEDDED, ALLOW_PRIVATE_WEBHOOKS: 'false' });
    // The key is the holder's.
    const SECRETS_KEY = Buffer.alloc(32, 'another').toString('base64');
    await folder.json(create, 0, { ...EMBEDDED, SECRETS_KEY });
  } finally {
    await server.stop();
    await folder.remove();
  }
});

test('twenty at once beside each other, without a server: each does what it was asked', async () => {
  const folder = await Folder.make();
  try {
    const first = await folder.json(['account', 'create', '--balance', '7'], 0, EMBEDDED);
    const commands = Array.from({ length: 20 }, (_, nth) =>
      nth % 2 === 0 ? ['account', 'create'] : [['verify'], ['account', 'list'], ['attention']][nth % 3],
    );
    await eachOf(commands, 20, async (args = []) => {
      await folder.json(args, 0, EMBEDDED);
    });
    const accounts = list(await folder.json(['account', 'list'], 0, EMBEDDED), 'accounts');
    assert.is(accounts.length, 11);
    assert.ok(accounts.some((account) => at(account, 'accountId') === at(first, 'accountId')));
    assert.is(at(await folder.json(['verify', '--decide'], 0, EMBEDDED), 'ok'), true);
  } finally {
    await folder.remove();
  }
});

test.run();
