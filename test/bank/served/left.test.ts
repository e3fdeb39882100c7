/** A server with a real bank's protocol: what the bank was asked to cancel is booked, whoever has left or died. */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../../faults/scene.ts';
import { basic } from '../../support/client.ts';
import { charge, reaches, shown } from '../../support/flows.ts';
import { text } from '../../support/json.ts';
import { sleep, until } from '../../support/wait.ts';
import { bare, payAt, type Served, withServed } from './scene.ts';

const test = suite('a real bank: callers that leave');
const REMOVED = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
/** Within this a server notices that a caller has left. */
const NOTICED_MS = 500;

/** Asks for a cancel, and leaves once the bank has its call in hand. */
async function cancelAndLeave({ bank, server, client }: Served, id: string): Promise<void> {
  const asked = bank.calls('PATCH cob').length;
  const headers = { Authorization: basic(client.clientId, client.clientSecret) };
  const call = request(`${server.url}/pix-in/${id}/cancel`, { method: 'POST', headers });
  call.on('error', () => {});
  call.end();
  await until(() => bank.calls('PATCH cob').length > asked && bank.held === 1, 10_000, 'a call to the bank');
  call.destroy();
  await sleep(NOTICED_MS);
}

for (const HTTP_THREADS of ['1', '0']) {
  test(`with ${HTTP_THREADS} threads: a cancel whose caller leaves while the bank works is made`, async () => {
    // A question that heals it comes after a minute, and not before the test ends.
    await withServed({ env: { HTTP_THREADS, BANK_RETRY_SCALE: '1' } }, async (served) => {
      const { bank, server, client } = served;
      const id = text(await charge(client, 5_000), 'id');
      bank.fault('PATCH cob', { kind: 'held' });
      await cancelAndLeave(served, id);
      bank.release();
      await reaches(client, 'pix-in', id, 'canceled');
      assert.is(bank.state.charges.get(bare(id))?.status, REMOVED);
      assert.is(bank.calls('GET cob').length, 0, 'the bank had to be asked');
      await expectVerified(server);
    });
  });

  test(`with ${HTTP_THREADS} threads: a payment that the bank tells of is booked, though nobody waits`, async () => {
    await withServed({ env: { HTTP_THREADS, BANK_RETRY_SCALE: '1' } }, async (served) => {
      const { bank, server, client } = served;
      const created = await charge(client, 5_000);
      payAt(served, created);
      bank.fault('PATCH cob', { kind: 'held' });
      await cancelAndLeave(served, text(created, 'id'));
      bank.release();
      await reaches(client, 'pix-in', text(created, 'id'), 'paid');
      await expectVerified(server);
    });
  });
}

test('a kill between the bank’s doing and the journal’s word: the bank is asked, and it is canceled', async () => {
  // The question comes 12 s after the cancel was asked for: surely after the kill, on a busy machine too.
  await withServed({ env: { BANK_RETRY_SCALE: '0.2' } }, async (served) => {
    const { bank, server, client } = served;
    const id = text(await charge(client, 5_000), 'id');
    bank.fault('PATCH cob', { kind: 'held' });
    await cancelAndLeave(served, id);
    await server.kill();
    bank.release();
    await until(() => bank.state.charges.get(bare(id))?.status === REMOVED, 10_000, 'removed at the bank');
    await server.restart();
    await reaches(client, 'pix-in', id, 'canceled', 40_000);
    await expectVerified(server);
  });
});

test('a cancel that was booked costs the bank no question', async () => {
  await withServed({}, async ({ bank, client }) => {
    const id = text(await charge(client, 5_000), 'id');
    assert.is((await client.post(`/pix-in/${id}/cancel`, {})).status, 200);
    // Longer than the question waits that sees to what nobody booked.
    await sleep(2_000);
    assert.is(bank.calls('GET cob').length, 0);
    assert.is(text(await shown(client, 'pix-in', id), 'status'), 'canceled');
  });
});

test.run();
