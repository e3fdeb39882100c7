/** The console reads the journal again as it grows, says that it adds up, and tells ops where it doesn't (embedded store). */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cli, cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge, told } from '../support/flows.ts';
import { at, type Json, list, text, whole } from '../support/json.ts';
import { type Server, startServer } from '../support/server.ts';
import { withStoredTables } from '../support/stored-tables.ts';
import { until } from '../support/wait.ts';
import { consoleReady, origin, startConsole, visitor } from './visitor.ts';

const test = suite('following');
const MARK = 'journal:followed';

async function now(server: Server): Promise<Json> {
  const eva = await visitor(server);
  return (await eva.get('/now')).body;
}

async function metrics(server: Server): Promise<string> {
  return (await fetch(`${origin(server)}/metrics`)).text();
}

async function mark(server: Server): Promise<Json> {
  let kept: Json = null;
  await withStoredTables(server.dataDir, ({ marks }) => {
    kept = JSON.parse(marks.get(MARK) ?? 'null');
  });
  return kept;
}

test('the journal adds up, goes on where it stood, and a forged batch is found', async () => {
  const server = await startConsole();
  try {
    const shop = await merchant(server, ['--name', 'Loja Azul']);
    const eva = await visitor(server);
    const waits = text(await charge(shop, 5_000), 'id');
    await told(shop, text(await charge(shop, 6_000), 'id'), 'PAY');
    const began = new Date().toISOString();
    await until(
      async () => {
        const { body } = await eva.get('/now');
        const verified = at(body, 'figures.verified');
        return verified !== null && text(body, 'figures.verified.at') > began;
      },
      10_000,
      'all was read again',
    );
    const { body: document } = await eva.get(`/accounts/${shop.accountId}`);
    assert.is(at(document, 'verified.ok'), true);
    const body = await now(server);
    assert.equal(
      [
        at(body, 'figures.verified.ok'),
        whole(body, 'figures.verified.lag'),
        whole(body, 'figures.waiting.n'),
      ],
      [true, 0, 1],
    );
    await told(shop, waits, 'PAY');
    await until(async () => at(await now(server), 'figures.waiting.n') === 0, 10_000, 'none waits');
    const unread = /^pixstate_journal_unread_seconds ([\d.]+)$/m.exec(await metrics(server));
    assert.ok(Number(unread?.[1]) < 60, unread?.[0] ?? 'no metric');
    await server.terminate();
    const stood = await mark(server);
    assert.ok(whole(stood, 'row') > 5);
    assert.is(at(stood, 'waiting'), 0);
    // Another start begins there; without the mark it begins at the first row, and finds what somebody wrote into it.
    await withStoredTables(server.dataDir, ({ marks, journal }) => {
      marks.remove(MARK);
      const value = journal.get([shop.accountId, 1]) ?? '';
      assert.match(value, '"amount":5000');
      journal.put([shop.accountId, 1], value.replaceAll('"amount":5000', '"amount":9000'));
    });
    await server.restart();
    await consoleReady(server);
    await until(async () => at(await now(server), 'figures.verified.ok') === false, 10_000, 'it is found');
    const [cause = null] = list(await now(server), 'causes').filter(
      (each) => text(each, 'kind') === 'journal',
    );
    assert.equal(
      [text(cause, 'code'), text(cause, 'about.account'), whole(cause, 'count'), text(cause, 'action')],
      ['BATCH_BROKEN', shop.accountId, 1, 'look'],
    );
    const after = await visitor(server);
    assert.is(at((await after.get(`/accounts/${shop.accountId}`)).body, 'verified.ok'), false);
    const shown = (await cli(server, ['attention', '--lang', 'pt'])).stdout;
    assert.match(
      shown,
      `ALARME: o lote 1 de ${shop.accountId} não confere: o conteúdo não é o que o hash diz`,
    );
    assert.match(server.stderr() + server.stdout(), /ALARM: batch 1 of/);
    const counted = await metrics(server);
    assert.match(counted, 'pixstate_attention_items{kind="journal"} 1');
    assert.match(counted, 'pixstate_alarms_total{kind="journal"} 1');
    await cliJson(server, ['attention', 'done', '--kind', 'journal', '--reason', 'seen']);
    await until(async () => at(await now(server), 'figures.verified.ok') === true, 10_000, 'it is seen');
  } finally {
    await server.stop();
  }
});

test('without the console nobody reads again, and no metric says so', async () => {
  const server = await startServer({ env: { CONSOLE: 'off' } });
  try {
    assert.not.match(await metrics(server), 'pixstate_journal_unread_seconds');
  } finally {
    await server.stop();
  }
});

test.run();
