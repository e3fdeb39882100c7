/** The consoles of two servers on one database: a session holds at both, a link signs in once, an act is done once. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  call,
  link,
  origin,
  pageHeaders,
  signIn,
  startConsole,
  type Visitor,
  visitor,
} from '../console/visitor.ts';
import { cli } from '../support/cli.ts';
import { type Merchant, merchant, type Reply } from '../support/client.ts';
import { charge, told, transfer } from '../support/flows.ts';
import { at, type Json, list, text } from '../support/json.ts';
import { temporaryFolder } from '../support/process.ts';
import type { Server } from '../support/server.ts';
import { dropStore } from '../support/store.ts';
import { until } from '../support/wait.ts';

const test = suite<{ folder: string; a: Server; b: Server }>('consoles on one database');

test.before(async (context) => {
  context.folder = await temporaryFolder();
  context.a = await startConsole({ dataDir: context.folder });
  context.b = await startConsole({ dataDir: context.folder });
  assert.is(context.a.env.MONGODB_URI, context.b.env.MONGODB_URI);
  // Their own connections may come a moment after the servers'.
  for (const server of [context.a, context.b])
    await until(async () => (await call(server, 'GET', '/me')).status === 401, 5_000, 'the store is there');
});
test.after(async ({ folder, a, b }) => {
  // A start that failed has left none.
  for (const server of [a, b] as (Server | undefined)[]) await server?.stop();
  await rm(folder, { recursive: true, force: true });
  await dropStore(folder);
});

test('a session of one holds at the other, and ends at both', async ({ a, b }) => {
  const { headers } = await visitor(a, ['--url', origin(a), '--by', 'Eva']);
  for (const server of [a, b]) assert.is(text((await call(server, 'GET', '/me', headers)).body, 'by'), 'Eva');
  const left = await call(b, 'DELETE', '/session', { ...headers, ...pageHeaders(b) });
  assert.is(left.status, 204);
  for (const server of [a, b]) assert.is((await call(server, 'GET', '/me', headers)).status, 401);
});

test('a link that is tried at both at once signs in at one', async ({ a, b }) => {
  for (let round = 0; round < 5; round++) {
    const { key } = await link(a);
    const replies = await Promise.all([a, b, a, b].map((server) => signIn(server, key)));
    const statuses = replies.map(({ status }) => status).sort();
    assert.equal(statuses, [200, 401, 401, 401], `round ${round}`);
  }
});

/** A merchant whose account both servers know, and an operator with a session at both. */
async function operatorAtBoth(a: Server): Promise<{ shop: Merchant; eva: Visitor }> {
  const shop = await merchant(a, ['--balance', '100000']);
  const eva = await visitor(a, ['--url', origin(a), '--role', 'operator', '--by', 'Eva']);
  return { shop, eva };
}

function act(server: Server, eva: Visitor, path: string, body: Json): Promise<Reply> {
  return call(server, 'POST', path, { ...eva.headers, ...pageHeaders(server) }, body);
}

test('what is asked for at both at once, under one id, is done once', async ({ a, b }) => {
  const { shop, eva } = await operatorAtBoth(a);
  for (let round = 0; round < 3; round++) {
    const payout = text(await transfer(shop, 1_007), 'id');
    const message = { id: `settle ${round}`, reason: 'the bank says so', type: 'SETTLE' };
    const adjustment = { id: `adjust ${round}`, reason: 'a deposit', amount: 100 };
    const before = await shop.balance();
    const sent = await Promise.all(
      [a, b, a, b].map((server) => act(server, eva, `/transactions/${payout}/messages`, message)),
    );
    const adjusted = await Promise.all(
      [a, b, a, b].map((server) => act(server, eva, `/accounts/${shop.accountId}/adjust`, adjustment)),
    );
    for (const replies of [sent, adjusted]) {
      for (const { status, text: answer } of replies) assert.is(status, 200, answer);
      assert.is(replies.filter(({ body }) => at(body, 'applied') === true).length, 1, `round ${round}`);
    }
    assert.is(await shop.balance(), before + 100);
  }
});

test('of two operators at two servers one decides, and a refund is ordered once', async ({ a, b }) => {
  const { shop, eva } = await operatorAtBoth(a);
  const payout = text(await transfer(shop, 1_007), 'id');
  const decided = await Promise.all(
    ['SETTLE', 'FAIL'].map((type, nth) =>
      act(nth === 0 ? a : b, eva, `/transactions/${payout}/messages`, { id: type, reason: 'r', type }),
    ),
  );
  assert.equal(decided.map(({ status }) => status).sort(), [200, 409]);
  const paid = text(await charge(shop, 10_000), 'id');
  await told(shop, paid, 'PAY');
  const order = { id: randomUUID(), reason: 'the customer is right', amount: 6_000 };
  const refunds = await Promise.all(
    [a, b, a, b].map((server) => act(server, eva, `/transactions/${paid}/refunds`, order)),
  );
  for (const { status, text: answer } of refunds) assert.is(status, 200, answer);
  assert.is(refunds.filter(({ body }) => at(body, 'applied') === true).length, 1);
  assert.is(list((await shop.get(`/pix-in/${paid}/refunds`)).body, 'data').length, 1);
});

test('both tell the same of what is now, and that figures are one server alone', async ({ a, b }) => {
  const shop = await merchant(a, ['--name', 'Loja Azul']);
  const id = text(await charge(shop, 5_000), 'id');
  const { headers } = await visitor(a, ['--url', origin(a)]);
  const causes: Json[][] = [];
  for (const server of [a, b]) {
    const now = async (): Promise<Json> => (await call(server, 'GET', '/now', headers)).body;
    await until(async () => at(await now(), 'figures.waiting.n') === 1, 10_000, 'a charge waits');
    const isVerified = async (): Promise<boolean> => at(await now(), 'figures.verified.ok') === true;
    await until(isVerified, 20_000, 'the journal was read again');
    const body = await now();
    assert.is(at(body, 'figures.shared'), true);
    causes.push(list(body, 'causes'));
    const { body: journal } = await call(server, 'GET', '/journal?limit=20', headers);
    assert.ok(list(journal, 'rows').some((row) => at(row, 'transaction') === id));
  }
  assert.equal(causes[0], causes[1]);
});

test('a link leads to the newest server that answers, and to none where none does', async ({ a, b }) => {
  assert.ok((await link(a)).url.startsWith(`${origin(b)}/#k=`));
  await b.kill();
  assert.ok((await link(a)).url.startsWith(`${origin(a)}/#k=`));
  await a.terminate();
  const { code, json } = await cli(a, ['console', '--json']);
  assert.is(code, 1);
  assert.is(text(json, 'error'), 'NO_CONSOLE');
});

test.run();
