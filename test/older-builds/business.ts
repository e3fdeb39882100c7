/** What an older build told is known still, and its transactions and accounts go on. */
import * as assert from 'uvu/assert';
import { callBack } from '../faults/scene.ts';
import { cli } from '../support/cli.ts';
import { type Client, merchantOf } from '../support/client.ts';
import { expectError, expectStatus } from '../support/expect.ts';
import type { FixtureSuite } from '../support/fixture.ts';
import { askTransfer, charge, deliveries, reaches, shown, told, transfer } from '../support/flows.ts';
import { at, list, text, whole } from '../support/json.ts';
import { countDeliveries, keptMerchant, keptOf } from '../support/older-build.ts';
import type { Received } from '../support/receiver.ts';
import { isSignedWith } from '../support/signature.ts';
import { eachOf, until } from '../support/wait.ts';
import { clientOf, listed, played, type Served, SOON_MS } from './served.ts';

const TOGETHER = 4;

async function areRetired({ kept, server }: Served, merchant: string): Promise<void> {
  const retired = merchantOf(server, { ...keptMerchant(kept, merchant), ...kept.retired });
  expectError(await retired.get('/balance'), 401, 'INVALID_CREDENTIALS');
}

/** The balance that a merchant's statement comes to, whose rows begin at nothing and add up. */
async function toldBalance(client: Client): Promise<number> {
  const pages = ['/statement?from=2020-01-01&to=2100-01-01&limit=50'];
  let [balance, rows] = [0, 0];
  for (const path of pages) {
    const page = expectStatus(await client.get(path), 200);
    assert.is(whole(page, 'openingBalance'), balance);
    for (const row of list(page, 'data')) {
      balance += whole(row, 'amount');
      rows += 1;
      assert.is(whole(row, 'balance'), balance);
    }
    assert.is(whole(page, 'closingBalance'), balance);
    const next = at(page, 'nextCursor');
    if (next !== null) pages.push(`/statement?limit=50&cursor=${next}`);
  }
  assert.ok(rows > 0);
  return balance;
}

/** What has come to rest, and all that transactions, messages and accounts are known by. */
export function isKnown({ test }: FixtureSuite<Served>): void {
  test('statements tell what changed the balances, from the first entry on', async (served) => {
    await eachOf(['shop', 'overdrawn', 'flooded'], TOGETHER, async (name) => {
      const client = clientOf(served, name);
      // What is in hand goes on meanwhile.
      const agrees = async (): Promise<boolean> => (await toldBalance(client)) === (await client.balance());
      await until(agrees, SOON_MS, `the statement of ${name} ends with its balance`);
    });
  });

  test('what has come to rest is shown as it was', async (served) => {
    const resting = served.kept.transactions.filter(({ moves, merchant }) => !moves && merchant !== null);
    assert.ok(resting.length > 25, `${resting.length} transactions`);
    await eachOf(resting, TOGETHER, async ({ id, type, story, merchant, deliveries: counts }) => {
      const client = clientOf(served, merchant ?? '');
      assert.equal(await shown(client, type, id), served.kept.bodies[id], story);
      assert.equal(countDeliveries(await deliveries(client, id)), counts, story);
    });
  });

  test('keys, references and messages are known', async (served) => {
    const { client, transaction, body } = played(served, 'cashout cancelled, then settled: an alarm');
    const idempotencyKey = text(body, 'idempotencyKey');
    const repeated = await askTransfer(client, 2_207, { idempotencyKey });
    const duplicate = expectError(repeated, 409, 'DUPLICATE_REQUEST');
    assert.is(text(duplicate, 'transactionId'), transaction.id);

    const newest = played(served, 'charge waiting, with all its fields');
    const externalRef = encodeURIComponent(text(newest.body, 'externalRef'));
    const found = expectStatus(await client.get(`/pix-in?externalRef=${externalRef}`), 200);
    assert.is(text(found, 'id'), newest.transaction.id);

    const settled = played(served, 'cashout completed');
    const reference = text(settled.body, 'reference');
    const referred = expectStatus(await client.get(`/cashout?reference=${reference}`), 200);
    assert.equal(referred, settled.body);

    const { kept, server } = served;
    const { status, body: results } = await callBack(server.root, [{ ...kept.message }]);
    assert.is(status, 200);
    assert.is(at(results, '0.result'), 'duplicate');
  });

  test('accounts that are shut stay shut, and old credentials are dead', async (served) => {
    expectError(await clientOf(served, 'suspended').get('/balance'), 403, 'ACCOUNT_INACTIVE');
    expectError(await clientOf(served, 'user suspended').get('/balance'), 403, 'USER_INACTIVE');
    await areRetired(served, 'rotated');
    assert.is(await clientOf(served, 'idle').balance(), 0);
  });
}

/** Transactions that wait for somebody's word. */
export function isDecided({ test }: FixtureSuite<Served>): void {
  test('analyses and protests are decided', async (served) => {
    const client = clientOf(served, 'shop');
    const before = await client.balance();
    const net = (story: string): number => whole(played(served, story).body, 'fee.netAmount');
    const decide = async (story: string, type: string, status: string): Promise<void> => {
      const after = await told(client, played(served, story).transaction.id, type);
      assert.is(text(after, 'status'), status);
    };
    await decide('charge in analysis', 'APPROVE', 'paid');
    await decide('charge in protest, told by the sandbox', 'DISMISS', 'paid');
    await decide('charge in protest, told by ops', 'CHARGEBACK', 'chargedback');
    await decide('charge of a large amount', 'REFUND', 'refunded');
    const changes = [
      net('charge in analysis'),
      -net('charge in protest, told by ops'),
      -net('charge of a large amount'),
    ];
    assert.is(
      await client.balance(),
      changes.reduce((sum, change) => sum + change, before),
    );
  });

  test('stuck cashouts are settled, and are no longer listed', async (served) => {
    const stuck = ['cashout processing, then silence', 'cashout pending, then silence'];
    for (const story of stuck) {
      const { client, transaction } = played(served, story);
      assert.is(text(await told(client, transaction.id, 'SETTLE'), 'status'), 'completed');
    }
    const still = (await listed(served, 'stuck')).join('\n');
    for (const story of stuck) assert.not.ok(still.includes(keptOf(served.kept, story).id), story);
  });
}

/** New business of old accounts; at the end everything is sound. */
export function goesOnWithBusiness({ test }: FixtureSuite<Served>): void {
  test('old accounts do new business', async (served) => {
    const client = clientOf(served, 'shop');
    const before = await client.balance();
    const id = text(await charge(client, 40_000, { externalRef: 'new' }), 'id');
    const paid = await told(client, id, 'PAY');
    const sent = await transfer(client, 5_001);
    await reaches(client, 'cashout', text(sent, 'id'), 'completed');
    const spent = 5_001 + whole(sent, 'fee.totalFee');
    assert.is(await client.balance(), before + whole(paid, 'fee.netAmount') - spent);
    const isOf = ({ path, headers }: Received): boolean =>
      path === '/paid' && headers['x-transaction-id'] === id;
    const webhook = await served.receiver.waitFor(isOf, SOON_MS);
    const secret = client.webhooks[1]?.secret ?? '';
    assert.ok(isSignedWith(secret, webhook.headers, webhook.rawBody));
  });

  test('the journals are sound, and go on where they ended', async ({ kept, server }) => {
    const { code, json } = await cli(server, ['verify', '--heads', '--decide', '--json']);
    assert.is(code, 0, JSON.stringify(json));
    const seqs = new Map(list(json, 'heads').map((head) => [text(head, 'account'), whole(head, 'seq')]));
    for (const head of kept.heads) {
      const seq = seqs.get(text(head, 'account')) ?? -1;
      assert.ok(seq >= whole(head, 'seq'), `the head of ${text(head, 'account')} is ${seq}`);
    }
  });
}
