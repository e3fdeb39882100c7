/** Deliveries that were claimed from a backlog: they wait for spare time, and what is fresh doesn't wait for them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT } from '../../scripts/simulation/accounts.ts';
import { SEALER } from '../../scripts/simulation/process.ts';
import { Directory } from '../../src/accounts/directory.ts';
import { isOf } from '../../src/engine/store/due.ts';
import { SpareTime } from '../../src/spare-time.ts';
import { later } from '../../src/waiting.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import type { Send } from '../../src/webhooks/sender/port.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { first, START } from '../store/contract/harness.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const test = suite('a backlog of deliveries');

const BACKLOG = 1_500;
const MOST_UNREAD = 1_000;
const PAGE = 100;
const URL = first(ACCOUNT.webhooks).url;

async function scene() {
  const state = new MemoryState();
  const now = (): number => START;
  const store = new MemoryStore({ state, incarnation: 'a', now, silentAfterMs: 10_000 });
  state.putAccount(ACCOUNT);
  const charges = Array.from({ length: BACKLOG }, () => chargeCreated(START, { urls: [URL] }));
  await grow(store, ACCOUNT.id, charges);
  const sent: Send[] = [];
  const time = later<void>();
  /** How many transactions were read in each piece. */
  const pieces: number[] = [];
  let reads = 0;
  const journal: typeof store.journal = Object.create(store.journal);
  journal.transaction = (id) => {
    reads += 1;
    return store.journal.transaction(id);
  };
  const spareTime = new SpareTime();
  const dispatcher = new Dispatcher({
    ...{ journal, due: store.due, backlog: store.backlog, retryScale: 1 },
    directory: new Directory(store.accounts, SEALER, now),
    sender: { send: (items) => sent.push(...items), onResults: () => {}, inFlight: 0, close: async () => {} },
    attention: { note: async () => {}, withdraw: async () => {} },
    spareTime: {
      take: async (piece) => {
        await time.promise;
        return spareTime.take(() => {
          const before = reads;
          return piece().finally(() => pieces.push(reads - before));
        });
      },
    },
    now,
    onTrouble: (error) => {
      throw error;
    },
  });
  /** Claims as a sweep does, until there is no more room; how many. */
  const sweep = async (): Promise<{ claimed: number; read: Promise<void>[] }> => {
    const read: Promise<void>[] = [];
    let claimed = 0;
    for (;;) {
      const reserved = dispatcher.toClaim.reserveUpTo(PAGE);
      const claims = reserved === 0 ? [] : await store.due.claim('delivery', START, reserved);
      dispatcher.toClaim.release(reserved);
      if (claims.length === 0) return { claimed, read };
      claimed += claims.length;
      read.push(dispatcher.dispatchClaimed(claims));
    }
  };
  return { store, dispatcher, sent, giveTime: time.resolve, pieces, sweep };
}

test('sweeps claim no more than was looked at, and what is fresh is sent meanwhile', async () => {
  const { store, dispatcher, sent, sweep } = await scene();
  assert.is((await sweep()).claimed, MOST_UNREAD);
  assert.is((await sweep()).claimed, 0);
  assert.is(sent.length, 0);
  const entry = chargeCreated(START, { urls: [URL] });
  const { append, claims } = await grow(store, ACCOUNT.id, [entry], { claimUntil: START });
  const fresh = first(claims.filter((claim) => isOf(claim, 'delivery')));
  dispatcher.dispatchFresh(
    { account: ACCOUNT.id, taken: [{ entry, record: first(append.records) }], claims },
    new Map([[fresh.due.delivery, fresh]]),
  );
  await new Promise(setImmediate);
  assert.equal(
    sent.map(({ token }) => token),
    [fresh.due.delivery],
  );
});

test('with time all of it is read, a few at a time, and the next of it may be claimed', async () => {
  const { sent, giveTime, pieces, sweep } = await scene();
  const { read } = await sweep();
  giveTime();
  await Promise.all(read);
  assert.is(sent.length, MOST_UNREAD);
  assert.is(Math.max(...pieces), 4);
  const rest = await sweep();
  assert.is(rest.claimed, BACKLOG - MOST_UNREAD);
  await Promise.all(rest.read);
});

test('a dispatcher that is closed reads nothing more', async () => {
  const { dispatcher, sent, giveTime, pieces, sweep } = await scene();
  const { read } = await sweep();
  await dispatcher.close();
  giveTime();
  await Promise.all(read);
  assert.is(sent.length, 0);
  assert.is(Math.max(0, ...pieces), 0);
});

test.run();
