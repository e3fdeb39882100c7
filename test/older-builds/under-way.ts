/** What an older build had under way goes on: what it had in hand, what it was to do later, what it tried in vain. */
import * as assert from 'uvu/assert';
import { RESUMED_MS } from '../faults/scene.ts';
import { cliJson } from '../support/cli.ts';
import type { FixtureSuite } from '../support/fixture.ts';
import { deliveries, reaches } from '../support/flows.ts';
import { at, list, text } from '../support/json.ts';
import { until } from '../support/wait.ts';
import { allArrive, clientOf, comesTo, listed, played, type Served, SOON_MS, signedAt } from './served.ts';

/** Claims of the server that was killed: to be asked first, since they are measured from readiness on. */
export function inHand({ test }: FixtureSuite<Served>): void {
  test('what the dead server had in hand goes on within seconds', async (served) => {
    const { kept, receiver } = served;
    const story = 'charge whose deliveries are in hand';
    const client = clientOf(served, 'flooded');
    const flood = kept.transactions.filter((transaction) => transaction.story === 'flood');
    assert.ok(flood.length > 0);
    await Promise.all([
      allArrive(served, story, RESUMED_MS),
      ...flood.map(({ id }) => reaches(client, 'cashout', id, 'completed', RESUMED_MS)),
    ]);
    assert.equal(
      signedAt(served, '/hung', story).map(({ json }) => at(json, 'event')),
      ['pix-in.waiting_payment', 'pix-in.paid'],
    );
    assert.is(receiver.at('/hung').length, 2, 'each once');
  });
}

/** What was due after the crash, or parked. */
export function dueLater({ test }: FixtureSuite<Served>): void {
  test('what the bank was to say, and what was to expire, happens', async (served) => {
    await Promise.all([
      comesTo(served, 'charge that is paid soon', 'paid'),
      comesTo(served, 'cashout that is completed soon', 'completed'),
      comesTo(served, 'charge that expires soon', 'expired'),
    ]);
  });

  test('what was parked, since its transaction could not be read, goes on', async (served) => {
    await Promise.all([
      comesTo(served, 'charge whose expiry is parked', 'expired'),
      comesTo(served, 'cashout whose order is parked', 'completed'),
    ]);
  });
}

/** Deliveries that were tried in vain, once their receivers answer. */
export function deliveriesGoOn({ test }: FixtureSuite<Served>): void {
  test('deliveries that were tried in vain are tried again, with what they had to say', async (served) => {
    const story = 'charge whose deliveries are tried again';
    // Whoever runs this a month later sees the charge expire besides, which overtakes what is tried again.
    const tried = (path: string) =>
      signedAt(served, path, story).find(({ json }) => at(json, 'event') === 'pix-in.waiting_payment');
    await until(() => tried('/later') && tried('/flaky'), SOON_MS, 'a second attempt');
    const { client, transaction, body } = played(served, story);
    assert.is(at(tried('/later')?.json ?? null, 'data.pix.qrcode'), at(body, 'pix.qrcode'));
    const attempts = (await deliveries(client, transaction.id))
      .filter((delivery) => text(delivery, 'event') === 'pix-in.waiting_payment')
      .map((delivery) => list(delivery, 'attempts').length);
    assert.equal(attempts.sort(), [2, 3], 'the attempts of both builds');
  });

  test('after a rotation the new secret signs', async (served) => {
    const story = 'charge that expires soon';
    const arrived = await until(
      () => signedAt(served, '/rotated', story).find(({ json }) => at(json, 'event') === 'pix-in.expired'),
      SOON_MS,
      'its expiry at the receiver',
    );
    assert.is(at(arrived.json, 'data.status'), 'expired');
  });

  test('dead and rejected deliveries start anew', async (served) => {
    const story = 'charge whose deliveries fail';
    const { transaction } = played(served, story);
    const retried = await cliJson(served.server, ['deliveries', 'retry', transaction.id]);
    assert.is(list(retried, 'retried').length, 2);
    await until(
      () => signedAt(served, '/down', story).length > 0 && signedAt(served, '/gone', story).length > 0,
      SOON_MS,
      'both',
    );
    await until(
      async () => !(await listed(served, 'dead')).some((what) => what.includes(transaction.id)),
      SOON_MS,
      'no dead delivery of it',
    );
  });
}
