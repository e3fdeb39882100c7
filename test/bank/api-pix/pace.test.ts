/** How long a bank is waited for. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ApiPixBank } from '../../../src/bank/api-pix/bank.ts';
import { backoffMs } from '../../../src/engine/bank.ts';
import type { ChargeRecord } from '../../../src/engine/journal.ts';
import { pause } from '../../../src/waiting.ts';
import { until } from '../../support/wait.ts';
import { chargeOrder, failsAs, Scene } from './scene.ts';

const test = suite('pace of a bank');
let scene: Scene;

test.before(async () => {
  scene = await Scene.make();
});
test.after(() => scene.end());

const never = async (): Promise<never> => {
  throw new Error('nobody asks here');
};

test('questions begin after 2 s, and are never further apart than 10 minutes', () => {
  const { pace } = new ApiPixBank({
    ...{ connection: scene.us, settings: scene.settings(), transaction: never, account: never },
    ...{ due: { settle: never }, now: () => 0 },
    notes: {
      ...{ unread: never, unknownThere: never, heard: never, difference: never, agreed: never },
      ...{ keyTaken: () => {}, keyRefused: () => {} },
    },
  });
  const waits = Array.from({ length: 12 }, (_, tries) => backoffMs(pace, tries));
  assert.equal(waits.slice(0, 4), [2_000, 4_000, 8_000, 16_000]);
  assert.equal(waits.slice(-3), [600_000, 600_000, 600_000]);
  assert.is(pace.refusalMs, 60_000, 'a refused repeat counts a minute later');
  assert.is(pace.expiryGraceMs, 60_000);
  assert.ok(pace.callMs < 29_000, 'a request waits no longer');
});

test('a charge is registered, or given up, within 20 s', async () => {
  const { bank, us } = scene;
  const unknown = '{"type":"https://x/CobNaoEncontrado","title":"x","status":404}';
  bank.fault('PUT cob', { kind: 'hang' }, 2);
  bank.fault('GET cob', { kind: 'answer', status: 404, body: unknown });
  bank.fault('GET cob', { kind: 'hang' });
  const begun = performance.now();
  await failsAs('unknown', us.charges.register(chargeOrder()));
  const ms = performance.now() - begun;
  assert.ok(ms > 15_000 && ms < 20_000, `${ms} ms`);
  assert.equal(
    bank.seen.filter(({ call }) => call !== 'token').map(({ call }) => call),
    ['PUT cob', 'GET cob', 'PUT cob', 'GET cob'],
  );
});

/** A bank that is asked about charges, none of which it knows. */
function askedBank(): ApiPixBank {
  const nothing = async (): Promise<void> => {};
  return new ApiPixBank({
    ...{ connection: scene.us, settings: scene.settings(), transaction: async () => null, account: never },
    ...{ due: { settle: never }, now: () => 0 },
    notes: {
      ...{ unread: never, unknownThere: nothing, heard: nothing, difference: never, agreed: nothing },
      ...{ keyTaken: () => {}, keyRefused: () => {} },
    },
  });
}

function record(account = 'one'): ChargeRecord {
  const snapshot = { value: 'waiting_payment', context: { amount: 1_234 } };
  return { id: randomUUID(), account, type: 'pix-in', messages: {}, snapshot } as unknown as ChargeRecord;
}

test('a flood of questions leaves half of the calls to charges that are made', async () => {
  const { bank, us } = scene;
  const asked = askedBank();
  const before = bank.calls('GET cob').length;
  bank.fault('GET cob', { kind: 'held' }, 60);
  const answers = Promise.all(Array.from({ length: 120 }, () => asked.query(record(), 0)));
  await until(() => bank.held === 50, 10_000, 'fifty questions at the bank');
  await us.charges.register(chargeOrder());
  await pause(200);
  assert.is(bank.held, 50);
  bank.release();
  await until(() => bank.held === 10, 10_000, 'the next ones');
  bank.release();
  assert.equal(new Set(await answers), new Set([null]));
  assert.is(bank.calls('GET cob').length - before, 120);
});

test('whoever is hinted at, or has one question, waits for none of a flood of another account’s', async () => {
  const { bank } = scene;
  const asked = askedBank();
  const before = bank.calls('GET cob').length;
  bank.fault('GET cob', { kind: 'held' }, 100);
  const flood = Array.from({ length: 120 }, () => asked.query(record(), 0));
  await until(() => bank.held === 50, 10_000, 'fifty questions at the bank');
  const hinted = record();
  const other = record('another');
  const answers = Promise.all([
    ...flood,
    asked.query(other, 0),
    asked.query(hinted, 0, 'E'.repeat(32)),
    asked.query(record('another'), 0),
  ]);
  bank.release();
  await until(() => bank.held === 50, 10_000, 'fifty more');
  const next = bank
    .calls('GET cob')
    .slice(before + 50)
    .map(({ path }) => path);
  for (const { id } of [hinted, other]) assert.ok(next.some((path) => path.includes(id.replaceAll('-', ''))));
  bank.release();
  assert.equal(new Set(await answers), new Set([null]));
  assert.is(bank.calls('GET cob').length - before, 123);
});

test.run();
