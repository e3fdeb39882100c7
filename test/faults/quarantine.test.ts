import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cli, cliJson } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import { charge, newEndToEndId, reaches, shown, tell, told, transfer } from '../support/flows.ts';
import { at, type Json, type JsonObject, list, object, text } from '../support/json.ts';
import { callbackSecret } from '../support/signature.ts';
import { rewrite, withStoredTables } from '../support/stored-tables.ts';
import { sleep, until } from '../support/wait.ts';
import { attentionOf, callBack, expectVerified, RESUMED_MS, withServer } from './scene.ts';

const test = suite('quarantine');

async function restore(folder: string, id: string, stored: string): Promise<void> {
  await withStoredTables(folder, ({ records }) => records.put([id], stored));
}

function payment(id: string): JsonObject {
  const data = { endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() };
  return { id: `payment of ${id}`, transactionId: id, type: 'PAY', data };
}

async function expectLater(root: string, id: string): Promise<void> {
  const { status, body } = await callBack(root, [payment(id)]);
  assert.is(status, 200);
  assert.is(at(body, '0.result'), 'later', JSON.stringify(body));
}

async function expectClosed(client: Merchant, id: string): Promise<void> {
  for (const type of ['PAY', 'CANCEL']) {
    const reply = await tell(client, id, type);
    expectError(reply, 503, 'SERVICE_UNAVAILABLE');
    assert.match(reply.headers['retry-after'] ?? '', /^\d+$/);
  }
}

/** The parts of a transaction that a record with a state that nobody knows still tells. */
function withoutStatus(transaction: Json): JsonObject {
  const { status: _, ...parts } = object(transaction);
  return parts;
}

test('a record that no chart can read: it waits, the others go on, and once it reads again it is caught up', async () => {
  const env = { BANK_CALLBACK_SECRET: callbackSecret, SANDBOX_DELAY_MS: '4000' };
  await withServer({ env }, async (server) => {
    const client = await merchant(server, ['--balance', '100000', '--expires-in', '4']);
    const [oldVersion, noState, healthy, order] = await Promise.all([
      charge(client),
      charge(client, 10_100),
      charge(client, 10_200),
      transfer(client, 1_001),
    ]);
    const [oldId, noStateId, healthyId, orderId] = [oldVersion, noState, healthy, order].map((one) =>
      text(one, 'id'),
    ) as [string, string, string, string];
    await server.terminate();
    const sound = new Map([
      [oldId, await rewrite(server.dataDir, oldId, (was) => ({ ...was, version: '999' }))],
      [noStateId, await rewrite(server.dataDir, noStateId, (was) => ({ ...was, value: 'lost' }))],
      [orderId, await rewrite(server.dataDir, orderId, (was) => ({ ...was, version: '999' }))],
    ]);
    await server.restart();

    assert.equal(await shown(client, 'pix-in', oldId), oldVersion, 'the last good state');
    assert.equal(await shown(client, 'cashout', orderId), order, 'the last good state');
    const lost = expectStatus(await client.get(`/pix-in?id=${noStateId}`), 200);
    assert.equal(withoutStatus(lost), withoutStatus(noState));
    await expectClosed(client, oldId);
    await expectClosed(client, noStateId);
    await expectLater(server.root, oldId);
    await expectLater(server.root, noStateId);
    const fromOps = await cli(server, ['send', oldId, 'CANCEL', '--json']);
    assert.is(fromOps.code, 1, 'ops were told that it was done');

    // Others of the same account, in the same callbacks and sweeps.
    const next = text(await charge(client, 10_300), 'id');
    await told(client, next, 'PAY');
    await reaches(client, 'pix-in', healthyId, 'expired', RESUMED_MS);
    const quarantined = await until(
      async () => {
        const items = await attentionOf(server, 'quarantined');
        return items.length >= 3 && items;
      },
      RESUMED_MS,
      'three items for ops',
    );
    assert.equal(quarantined.map((item) => text(item, 'id')).sort(), [oldId, noStateId, orderId].sort());
    // Long after their time, and after several sweeps.
    await sleep(1_500);
    assert.equal(await shown(client, 'pix-in', oldId), oldVersion);
    assert.equal(await shown(client, 'cashout', orderId), order);
    const inspected = await cliJson(server, ['inspect', oldId]);
    assert.is(list(inspected, 'timers').length, 1, 'its timer waits');
    const verified = await cli(server, ['verify', '--json']);
    assert.is(verified.code, 1, 'verify does not see what was changed behind the journal');

    await server.terminate();
    for (const [id, stored] of sound) await restore(server.dataDir, id, stored);
    await server.restart();
    await reaches(client, 'pix-in', oldId, 'expired', RESUMED_MS);
    await reaches(client, 'pix-in', noStateId, 'expired', RESUMED_MS);
    await reaches(client, 'cashout', orderId, 'completed', RESUMED_MS + 5_000);
    assert.equal(await attentionOf(server, 'quarantined'), []);
    await expectVerified(server);
  });
});

test.run();
