/** The bank's messages to an account that was moved to another store, at the data folder that it was moved from. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { callBack } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import { merchant } from '../support/client.ts';
import { charge, newEndToEndId } from '../support/flows.ts';
import { at, type JsonObject, list, text } from '../support/json.ts';
import { type Server, startServer } from '../support/server.ts';
import { callbackSecret } from '../support/signature.ts';

const test = suite('callbacks to a moved account');

/** Marks an account as `migrate-store` leaves it. */
async function handOver(folder: string, id: string): Promise<void> {
  const core = await openCore(readConfig({ DATA_DIR: folder }), {
    onFatal: (error) => {
      throw error;
    },
  });
  const account = await core.store.accounts.get(id);
  assert.ok(account !== null);
  const off = { status: 'inactive', userStatus: 'inactive', handedOver: true } as const;
  await core.store.accounts.put({ ...account, ...off, version: account.version + 1 });
  await core.close();
}

async function results(server: Server, message: JsonObject): Promise<string[]> {
  const reply = await callBack(server.root, [message]);
  assert.is(reply.status, 200, reply.text);
  return list(reply.body).map((result) => text(result, 'result'));
}

for (const threads of ['0', '1'])
  test(`later, and one item for ops, with HTTP_THREADS=${threads}`, async () => {
    const env = { BANK_CALLBACK_SECRET: callbackSecret, HTTP_THREADS: threads };
    const server = await startServer({ env });
    try {
      const client = await merchant(server);
      const transactionId = text(await charge(client, 10_000), 'id');
      await server.terminate();
      await handOver(server.dataDir, client.accountId);
      await server.restart();
      const data = { endToEndId: newEndToEndId(), amount: 10_000, paidAt: new Date().toISOString() };
      const message = { id: randomUUID(), transactionId, type: 'PAY', data };
      for (let times = 0; times < 3; times++) assert.equal(await results(server, message), ['later']);
      const items = list(await cliJson(server, ['attention']), 'items');
      assert.equal(
        items.map((item) => [text(item, 'code'), at(item, 'account')]),
        [['MESSAGE_UNDECIDED', null]],
      );
      const what = text(items[0] ?? null, 'what');
      for (const part of ['moved to another store', transactionId, data.endToEndId]) assert.match(what, part);
      await cliJson(server, ['attention', 'done', text(items[0] ?? null, 'id')]);
      assert.equal(await results(server, message), ['later']);
      assert.equal(
        list(await cliJson(server, ['attention']), 'items'),
        [],
        'what ops are done with stays done',
      );
      const [head] = list(
        await cliJson(server, ['verify', '--heads', '--account', client.accountId]),
        'heads',
      );
      assert.is(at(head ?? null, 'seq'), 1, 'nothing is booked here');
    } finally {
      await server.stop();
    }
  });

test.run();
