/** What ops are told of with the record of an attempt, and what goes off their list with it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type InHand, toTell } from '../../src/webhooks/in-hand.ts';
import { deliveryRecord } from '../store/contract/builders.ts';

const AT = Date.UTC(2026, 0, 5, 12);
const JOB = {
  event: { id: 'evt_1', name: 'pix-in.paid' },
  record: deliveryRecord('acc', 'transaction', AT, 'dlv_1'),
  state: { target: { account: 'acc', url: 'https://example.com/hook' } },
} as unknown as InHand;

function record(status: 'delivered' | 'rejected' | 'dead', statuses: number[], failures: number) {
  const attempts = statuses.map((statusCode) => ({
    ...{ at: '2026-01-05T12:00:00.000Z', statusCode, error: null, durationMs: 1 },
  }));
  return { ...deliveryRecord('acc', 'transaction', AT, 'dlv_1'), status, attempts, failures };
}

const ITEM = { kind: 'dead', id: 'dlv_1' };

test('what comes through after failures takes nothing off the list', () => {
  assert.equal(toTell(JOB, record('delivered', [200], 0), AT), {});
  assert.equal(toTell(JOB, record('delivered', [503, 503, 200], 2), AT), {});
  assert.is(toTell(JOB, record('rejected', [503, 404], 1), AT).withdrawn, undefined);
});

test('what ends after it was begun anew takes the item of its former end with it', () => {
  assert.equal(toTell(JOB, record('delivered', [503, 503, 200], 0), AT), { withdrawn: ITEM });
  assert.equal(toTell(JOB, record('delivered', [404, 503, 200], 1), AT), { withdrawn: ITEM });
  const { withdrawn, counted } = toTell(JOB, record('rejected', [503, 404], 0), AT);
  assert.equal(withdrawn, ITEM);
  assert.is(counted?.kind, 'rejected');
});

test('what is dead once more is told of once more', () => {
  const { attention, withdrawn } = toTell(JOB, record('dead', [503, 503], 1), AT);
  assert.is(attention?.id, 'dlv_1');
  assert.match(attention?.what ?? '', 'is dead: 503');
  assert.is(withdrawn, undefined);
});

test('what is dead without another attempt is so because its URL is gone', () => {
  const before = record('delivered', [503], 1);
  const { attention } = toTell({ ...JOB, record: before }, record('dead', [503], 1), AT);
  assert.match(attention?.what ?? '', 'is dead: the URL is off the account');
});

test.run();
