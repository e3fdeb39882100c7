/** A delivery that was claimed by a process whose clock is a little ahead, and is taken over by another one. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT } from '../../scripts/simulation/accounts.ts';
import { SEALER } from '../../scripts/simulation/process.ts';
import { Directory } from '../../src/accounts/directory.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { attempted, newDelivery } from '../../src/webhooks/delivery.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { Send } from '../../src/webhooks/sender/port.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, START } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('a delivery that is taken over');

const [URL] = ACCOUNT.webhooks.map(({ url }) => url);
/** Two processes that measure one clock differ by so much at the most. */
const BEHIND_MS = 200;

async function sentBy(clockMs: number): Promise<{ sent: Send[]; left: number }> {
  const state = new MemoryState();
  const now = (): number => clockMs;
  const store = new MemoryStore({ state, incarnation: 'a', now, silentAfterMs: 10_000 });
  state.putAccount(ACCOUNT);
  await grow(store, ACCOUNT.id, [chargeCreated(START, { urls: [String(URL)] })]);
  const fresh = first(await store.due.claim('delivery', START, 1));
  const { delivery, account, transaction } = fresh.due;
  const failed = { at: new Date(START).toISOString(), statusCode: 500, error: null, durationMs: 1 };
  const record = attempted(newDelivery(delivery, account, transaction), failed, null, 1, START);
  const at = Date.parse(String(record.nextAttemptAt));
  await store.due.settle([{ claim: fresh, next: { ...fresh.due, at, tries: 1 }, record }]);
  const claim = first(await store.due.claim('delivery', at, 1));
  const sent: Send[] = [];
  const dispatcher = new Dispatcher({
    ...{ journal: store.journal, due: store.due, backlog: store.backlog, retryScale: 1 },
    directory: new Directory(store.accounts, SEALER, now),
    sender: { send: (items) => sent.push(...items), onResults: () => {}, inFlight: 0, close: async () => {} },
    spareTime: new SpareTime(),
    attention: { note: async () => {}, withdraw: async () => {} },
    now: () => at + clockMs - START,
    onTrouble: (error) => {
      throw error;
    },
  });
  await dispatcher.dispatchClaimed([claim]);
  await new Promise((resolve) => setTimeout(resolve, 10));
  return { sent, left: state.due.size };
}

test('what one clock has shown as due is sent by a process whose clock is a little behind', async () => {
  const { sent, left } = await sentBy(START - BEHIND_MS);
  assert.is(sent.length, 1);
  assert.is(left, 1);
});

test('and by one whose clock has come to it', async () => {
  assert.is((await sentBy(START)).sent.length, 1);
});

test.run();
