/** The mailbox: bounded, and rid of what nobody waits for. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MAILBOX_SIZE, Overloaded } from '../../src/engine/actor.ts';
import { Engine } from '../../src/engine/engine.ts';
import { adjust } from '../../src/engine/payments.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryStore } from '../support/memory-store/store.ts';

const s = suite('mailbox');

const ACCOUNT = 'acc_1';
const now = (): number => 1_800_000_000_000;

function opened() {
  const faults = new FaultPlan();
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000, faults });
  let batches = 0;
  const newBatchId = (): string => `a.${++batches}`;
  return {
    faults,
    store,
    engine: new Engine({ store, everyDoorSpeaks: true, now, newBatchId, settings: async () => null }),
  };
}

const deposit = (id: number) => ({ id: String(id), amount: 1, reason: 'test', allowNegative: false });

s('it holds at least the burst of 5,000, and turns away what is more without losing any', async () => {
  assert.ok(MAILBOX_SIZE >= 5_000);
  const { engine, faults, store } = opened();
  const release = faults.hang('append');
  const first = adjust(engine, ACCOUNT, deposit(0));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const waiting = Array.from({ length: MAILBOX_SIZE }, (_, index) =>
    adjust(engine, ACCOUNT, deposit(index + 1)),
  );
  const beyond = await adjust(engine, ACCOUNT, deposit(99_999)).catch((error: unknown) => error);
  assert.instance(beyond, Overloaded);
  release();
  await Promise.all([first, ...waiting]);
  assert.is((await store.journal.head(ACCOUNT)).balances.available, MAILBOX_SIZE + 1);
});

s('what nobody waits for is dropped while it is not decided, and takes no effect later', async () => {
  const { engine, faults, store } = opened();
  const release = faults.hang('append');
  const first = adjust(engine, ACCOUNT, deposit(1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  let left = false;
  const command = { kind: 'adjust', ...deposit(2), digest: 'x' } as const;
  void engine.send(ACCOUNT, command, { abandoned: () => left });
  left = true;
  const last = adjust(engine, ACCOUNT, deposit(3));
  release();
  await Promise.all([first, last]);
  assert.is((await store.journal.head(ACCOUNT)).balances.available, 2);
});

s('a failure in one command fails nobody else in its batch', async () => {
  const { engine, store } = opened();
  const broken = { kind: 'adjust', ...deposit(7), amount: Number.NaN, digest: 'x' } as const;
  const answers = await Promise.allSettled([
    adjust(engine, ACCOUNT, deposit(1)),
    engine.send(ACCOUNT, broken),
    adjust(engine, ACCOUNT, deposit(2)),
  ]);
  assert.equal(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.is((await store.journal.head(ACCOUNT)).balances.available, 2);
});

s.run();
