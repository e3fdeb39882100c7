/** Deliveries of a URL that was taken off its account, by settings that are remembered, and by those that are stored. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT } from '../../scripts/simulation/accounts.ts';
import { SEALER } from '../../scripts/simulation/process.ts';
import { Directory } from '../../src/accounts/directory.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { Send } from '../../src/webhooks/sender/port.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, START } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('a URL that is put back');

const URL = first(ACCOUNT.webhooks).url;
const COUNT = 100;

/** Claims deliveries where the settings without their URL are remembered; `isBack`: it has been put back since. */
async function dispatched(isBack: boolean): Promise<{ sent: Send[]; dead: number; reads: number }> {
  const state = new MemoryState();
  const now = (): number => START;
  const store = new MemoryStore({ state, incarnation: 'a', now, silentAfterMs: 10_000 });
  const charges = Array.from({ length: COUNT }, () => chargeCreated(START, { urls: [URL] }));
  await grow(store, ACCOUNT.id, charges);
  let reads = 0;
  const counted = {
    byClientId: (id: string) => store.accounts.byClientId(id),
    get: (id: string) => {
      reads += 1;
      return store.accounts.get(id);
    },
  };
  const directory = new Directory(counted, SEALER, now);
  state.putAccount({ ...ACCOUNT, webhooks: [] });
  assert.equal(await directory.secrets(ACCOUNT.id, URL), []);
  if (isBack) await store.accounts.put({ ...ACCOUNT, version: ACCOUNT.version + 1 });
  reads = 0;
  const sent: Send[] = [];
  const dispatcher = new Dispatcher({
    ...{ journal: store.journal, due: store.due, backlog: store.backlog, directory, retryScale: 1, now },
    sender: { send: (items) => sent.push(...items), onResults: () => {}, inFlight: 0, close: async () => {} },
    spareTime: new SpareTime(),
    attention: { note: async () => {}, withdraw: async () => {} },
    readTogether: COUNT,
    onTrouble: (error) => {
      throw error;
    },
  });
  await dispatcher.dispatchClaimed(await store.due.claim('delivery', START, COUNT));
  await new Promise((resolve) => setTimeout(resolve, 10));
  await dispatcher.close();
  return { sent, dead: await store.attention.count({ kind: 'dead' }, null), reads };
}

test('nothing dies by settings that are only remembered; they are read again for many at once', async () => {
  const { sent, dead, reads } = await dispatched(true);
  assert.is(sent.length, COUNT);
  assert.is(dead, 0);
  assert.ok(reads <= 2, `${reads} reads`);
});

test('what is off the account as it is stored dies without an attempt', async () => {
  const { sent, dead, reads } = await dispatched(false);
  assert.is(sent.length, 0);
  assert.is(dead, COUNT);
  assert.ok(reads <= 2, `${reads} reads`);
});

test.run();
