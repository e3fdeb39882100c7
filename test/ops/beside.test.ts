/** Acts beside a running server: it does them, and its log says so. */
import { userInfo } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { at, type Json, list, parseJson, text } from '../support/json.ts';
import { type Server, startServer } from '../support/server.ts';

const test = suite<{ server: Server }>('acts beside a server');
const ANA = ['--by', 'Ana', '--reason', 'asked by the merchant'];
const OF_ANA = { name: 'Ana', reason: 'asked by the merchant', role: 'operator' };

test.before(async (context) => {
  context.server = await startServer({ env: { LOG_LEVEL: 'info' } });
});
test.after(async ({ server }) => {
  await server.stop();
});

function logged(server: Server): Json[] {
  const lines = server.stderr().split('\n').filter(Boolean);
  return lines.map((line) => parseJson(line) ?? null).filter((line) => at(line, 'msg') === 'ops acted');
}

test('the system user of whoever asks signs, unless another name is given', async ({ server }) => {
  const shop = await merchant(server);
  const { body } = await shop.post('/pix-in', { amount: 1_500 });
  const id = text(body, 'id');
  await cliJson(server, ['send', id, 'PAY']);
  await cliJson(server, ['send', id, 'PROTEST', ...ANA]);
  const entries = list(await cliJson(server, ['inspect', id]), 'entries');
  const nobody = { reason: null, role: 'operator' };
  assert.equal(
    entries.map((entry) => at(entry, 'by')),
    [null, { ...nobody, name: userInfo().username }, OF_ANA],
  );
});

test('the log tells of accounts that were made and changed, without their secrets', async ({ server }) => {
  const made = await cliJson(server, ['account', 'create', ...ANA]);
  const id = text(made, 'accountId');
  await cliJson(server, ['account', 'set', id, '--max-amount', '500', '--id', 'act-1', ...ANA]);
  const pair = await cliJson(server, ['account', 'rotate-secret', id]);
  // On a database a command works by itself, and there is no log that it writes to.
  if (server.env.MONGODB_URI !== undefined) return;
  const lines = logged(server).filter((line) => at(line, 'accounts.0') === id);
  assert.equal(
    lines.map((line) => [at(line, 'action'), at(line, 'name')]),
    [
      ['create', 'Ana'],
      ['settings', 'Ana'],
      ['rotate', userInfo().username],
    ],
  );
  const [, settings] = lines;
  assert.equal([at(settings ?? null, 'id'), at(settings ?? null, 'reason')], ['act-1', OF_ANA.reason]);
  for (const secret of [text(made, 'clientSecret'), text(pair, 'clientSecret')])
    assert.not.match(server.stderr(), secret);
});

test.run();
