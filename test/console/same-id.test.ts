/** Two cases of a transaction may have its id: who is done with one of them has seen nothing of the other. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { transfer } from '../support/flows.ts';
import { at, type Json, list, text } from '../support/json.ts';
import type { Server } from '../support/server.ts';
import { rewrite } from '../support/stored-tables.ts';
import { until } from '../support/wait.ts';
import { consoleReady, startConsole, type Visitor, visitor } from './visitor.ts';

interface Context {
  server: Server;
  account: string;
  id: string;
  rui: Visitor;
}

const test = suite<Context>('same id');

/** A transfer that waits for the bank too long, and whose record no chart reads. */
test.before(async (context) => {
  const server = await startConsole({ env: { STUCK_AFTER_S: '1' } });
  const shop = await merchant(server, ['--balance', '100000']);
  const id = text(await transfer(shop, 1_107), 'id');
  await server.terminate();
  await rewrite(server.dataDir, id, (snapshot) => ({ ...snapshot, version: '999' }));
  await server.restart();
  await consoleReady(server);
  const rui = await visitor(server, ['--by', 'Rui', '--role', 'operator']);
  Object.assign(context, { server, account: shop.accountId, id, rui });
  const told = { ...parts(), type: 'SETTLE' };
  assert.is((await rui.act('POST', `/transactions/${id}/messages`, told)).status, 503);
  const both = async () => (await kindsOf(context)).every((kinds) => kinds.length === 2);
  await until(both, 15_000, 'it is stuck, and not readable');
});
test.after(async ({ server }) => {
  await server.stop();
});

function parts(reason = 'the bank is asked'): { id: string; reason: string } {
  return { id: randomUUID(), reason };
}

/** The kinds of the transaction's cases: on its page, and of what the command lists. */
async function kindsOf({ rui, id, server, account }: Context): Promise<[string[], string[]]> {
  const { body } = await rui.get(`/transactions/${id}`);
  const shown = list(body, 'items').map((item) => text(item, 'kind'));
  const items = list(await cliJson(server, ['attention', '--account', account]), 'items');
  const listed = items.filter((item) => text(item, 'id') === id).map((item) => text(item, 'kind'));
  return [shown, listed];
}

/** What the account's journal says was done by hand. */
async function acts({ rui, account }: Context): Promise<Json[]> {
  const { body } = await rui.get(`/accounts/${account}/statement?door=ops`);
  const rows = list(body, 'rows').filter((row) => text(row, 'message') === 'OPS');
  return rows.map((row) => at(row, 'did'));
}

test('of two cases with one id the other one stays where somebody is done with one', async (context) => {
  const { rui, id } = context;
  const wish = { ...parts(), kind: 'stuck', ids: [id] };
  assert.equal((await rui.act('POST', '/attention/done', wish)).body, { done: [id] });
  assert.equal(await kindsOf(context), [['quarantined'], ['quarantined']]);
  // Its answer got lost: the other one is not what it was about.
  assert.equal((await rui.act('POST', '/attention/done', wish)).body, { done: [] });
  const late = await rui.act('POST', '/attention/done', { ...parts('late'), kind: 'stuck', ids: [id] });
  assert.equal([late.status, text(late.body, 'by.name')], [404, 'Rui']);
  const none = await rui.act('POST', '/attention/done', { ...parts(), kind: 'refused', ids: [id] });
  assert.equal([none.status, at(none.body, 'by')], [404, null], 'nobody was done with one of that kind');
  assert.equal(await kindsOf(context), [['quarantined'], ['quarantined']]);
  const bare = await rui.act('POST', '/attention/done', { ...parts(), ids: [id] });
  assert.is(bare.status, 400, 'an id alone names none');
  assert.equal(await acts(context), [{ action: 'done', count: 1, about: null }]);
});

test.run();
