/** Rights that the database's user loses, and gets again, while a server runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../faults/scene.ts';
import { cli, cliJson } from '../support/cli.ts';
import { fetchReply, merchant, type Reply } from '../support/client.ts';
import { expectError } from '../support/expect.ts';
import { askTransfer, reaches, transfer, validCpf } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { packageRoot } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { sleep, until } from '../support/wait.ts';
import { type User, withGuarded } from './other-servers.ts';
import { envOn, logLines, startOn, untilReady } from './stage.ts';

const test = suite('rights on mongodb');

const DATABASE = 'pixstate_rights';
const LACKING = /lacks rights on the database; it needs readWrite \(not authorized on pixstate_rights/;
/** Longer than the server's heartbeats are apart. */
const AWAY_MS = 3_000;
/** A start of a command, and its connections; by then none is told that the database takes too long. */
const AT_ONCE_MS = 5_000;
const readWrite = { role: 'readWrite', db: DATABASE };
const WRITER = { name: 'writer', password: 'geh3im', roles: [readWrite] } satisfies User;

/** Waits for the three events of a cashout, which may come more than once. */
function expectEvents(receiver: Receiver, id: string): Promise<unknown> {
  const statuses = () =>
    receiver.requests.filter(({ rawBody }) => rawBody.includes(id)).map(({ json }) => text(json, 'event'));
  return until(() => new Set(statuses()).size === 3, 20_000, `the events of ${id}`);
}

for (const [name, left] of [
  ['all', []],
  ['the right to write', [{ role: 'read', db: DATABASE }]],
] as const)
  test(`a user that loses ${name}: 503, a reason for ops, and all goes on with what is given back`, async () => {
    const receiver = await startReceiver();
    await withGuarded([WRITER], async ({ uri, grant }) => {
      const server = await startOn(uri(WRITER, DATABASE), { LOG_LEVEL: 'warn' });
      try {
        const client = await merchant(server, ['--balance', '1000000', '--webhook-url', receiver.url()]);
        const underWay = text(await transfer(client, 1_099), 'id');
        await grant(WRITER, [...left]);
        const ask = (): Promise<Reply> => askTransfer(client, 1_099, { idempotencyKey: 'again' });
        expectError(await ask(), 503, 'SERVICE_UNAVAILABLE');
        const ready = await fetchReply('GET', `${server.root}/readyz`);
        assert.is(ready.status, 503);
        assert.match(ready.text, LACKING);
        await grant(WRITER, [readWrite]);
        const taken = await until(
          async () => {
            const reply = await ask();
            return reply.status !== 503 && reply;
          },
          15_000,
          'an answer',
        );
        const again = text(taken.body, taken.status === 201 ? 'id' : 'transactionId');
        expectError(await ask(), 409, 'DUPLICATE_REQUEST');
        for (const id of [underWay, again]) {
          await reaches(client, 'cashout', id, 'completed', 30_000);
          await expectEvents(receiver, id);
        }
        assert.is(await client.balance(), 1_000_000 - 2 * 1_149);
        const told = logLines(server.stderr()).filter(({ msg }) => LACKING.test(String(msg)));
        assert.is(told.length, 1);
        assert.is(`${told[0]?.msg}${ready.text}`.includes(validCpf), false);
        await expectVerified(server);
      } finally {
        await server.stop();
        await receiver.close();
      }
    });
  });

test('a user who is dropped, and made again: 503 meanwhile, and all goes on without a restart', async () => {
  await withGuarded([WRITER], async ({ uri, drop, make }) => {
    const server = await startOn(uri(WRITER, DATABASE), { CONSOLE: 'on', LOG_LEVEL: 'warn' });
    try {
      const client = await merchant(server, ['--balance', '1000000']);
      const underWay = text(await transfer(client, 1_099), 'id');
      await drop(WRITER);
      const isServed = async (): Promise<boolean> => (await client.get('/balance')).status === 200;
      await until(async () => !(await isServed()), 10_000, 'a 503');
      expectError(await client.get('/balance'), 503, 'SERVICE_UNAVAILABLE');
      await sleep(AWAY_MS);
      await make(WRITER);
      await until(isServed, 15_000, 'the balance');
      await untilReady(server, 15_000);
      await reaches(client, 'cashout', underWay, 'completed', 30_000);
      await reaches(client, 'cashout', text(await transfer(client, 1_099), 'id'), 'completed');
      assert.is(await client.balance(), 1_000_000 - 2 * 1_149);
      const told = logLines(server.stderr()).filter(({ msg }) => /can't be reached/.test(String(msg)));
      assert.is(told.length, 1, server.stderr());
      await expectVerified(server);
    } finally {
      assert.is(await server.stop(), 0);
    }
  });
});

const READER = { name: 'reader', password: 'geh3im', roles: [{ role: 'read', db: DATABASE }] } satisfies User;

test('a command says at once which right is lacking, be it one that reads or one that writes', async () => {
  await withGuarded([WRITER, READER], async ({ uri }) => {
    const server = await startOn(uri(WRITER, DATABASE));
    try {
      // Whether a batch of no transaction is finished doesn't show: whoever reads the head finishes it.
      await merchant(server, ['--balance', '1000000']);
    } finally {
      await server.stop();
    }
    for (const args of [['verify'], ['account', 'list'], ['account', 'create', '--name', 'y'], ['rebuild']]) {
      const startedAt = performance.now();
      const { code, stderr } = await cli(server, args, envOn(uri(READER, DATABASE)));
      assert.is(code, 1, stderr);
      assert.match(stderr, LACKING);
      assert.is(stderr.trimEnd().split('\n').length, 1, stderr);
      const ms = performance.now() - startedAt;
      assert.ok(ms < AT_ONCE_MS, `${args.join(' ')}: ${ms} ms`);
    }
  });
});

const page = readFileSync(join(packageRoot, 'docs', 'mongodb.md'), 'utf8');

/** The least that the page says a user needs. */
function leastActions(): string[] {
  const [, actions = ''] =
    /gives these actions on all collections of the database: (.*?)\. /.exec(page) ?? [];
  return actions.split(', ').map((action) => action.replaceAll('`', ''));
}

test('the actions of docs/mongodb.md are all that servers and commands need, at a later start, too', async () => {
  await withGuarded([WRITER], async ({ uri, allow }) => {
    await allow(WRITER, DATABASE, leastActions());
    const server = await startOn(uri(WRITER, DATABASE), { CONSOLE: 'on' });
    try {
      const client = await merchant(server, ['--balance', '1000000']);
      await reaches(client, 'cashout', text(await transfer(client, 1_099), 'id'), 'completed');
      await server.restart();
      await reaches(client, 'cashout', text(await transfer(client, 1_099), 'id'), 'completed');
      const commands = [
        ['account', 'list'],
        ['account', 'adjust', client.accountId, '100', '--reason', 'a test'],
        ['attention'],
        ['verify', '--heads'],
        ['rebuild'],
      ];
      for (const args of commands) await cliJson(server, args);
      await expectVerified(server);
    } finally {
      assert.is(await server.stop(), 0);
    }
  });
});

test.run();
