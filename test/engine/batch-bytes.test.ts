/** A batch is bounded by the bytes of what was decided: what has no room in it comes first in the next one. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT as SETTINGS } from '../../scripts/simulation/accounts.ts';
import { BATCH_BYTES } from '../../src/engine/actors/batch-text.ts';
import { Abandoned, Overloaded } from '../../src/engine/actors/host.ts';
import type { Answer, Command } from '../../src/engine/commands.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { contentOf } from '../../src/engine/store/content.ts';
import { StoreUnavailable } from '../../src/engine/store.ts';
import { turn } from '../../src/waiting.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { engineOn } from './on-store.ts';
import { charge, message, pay, transfer, uuid } from './support.ts';

const s = suite('bytes of batches');

const now = (): number => 1_800_000_000_000;
const ACCOUNT = 'acc_1';

/** An account with ten URLs as long as they may be. */
function opened(batchBytes?: number) {
  const faults = new FaultPlan();
  const store = new MemoryStore({ incarnation: 'a', now, silentAfterMs: 5_000, faults });
  const webhooks = Array.from({ length: 10 }, (_, index) => ({
    url: `https://${index}.example/`.padEnd(2_048, 'x'),
    events: null,
    secrets: [],
  }));
  const settings = async () => ({ ...SETTINGS, webhooks });
  const engine = engineOn(store, now, { settings, ...(batchBytes !== undefined && { batchBytes }) });
  const batches = (): Promise<Batch[]> => store.journal.batchesFrom(ACCOUNT, 1, 1_000);
  return { engine, faults, store, batches };
}

const bytesOf = (batch: Batch): number => Buffer.byteLength(contentOf(batch));
const deposit = (id: number, amount = 1): Command => {
  return { kind: 'adjust', id: String(id), amount, reason: 'test', allowNegative: false, digest: 'x' };
};
const charges = (count: number): Command[] =>
  Array.from({ length: count }, (_, index) => charge(uuid(index)));

function sendAll(engine: Engine, commands: readonly Command[]): Promise<Answer[]> {
  return Promise.all(commands.map((command) => engine.send(ACCOUNT, command)));
}

/** Which transactions a journal's entries are of, or the ids of their messages, in order. */
const inOrder = (batches: readonly Batch[]): string[] =>
  batches.flatMap(({ entries }) => entries.map(({ transaction, message: { id } }) => transaction ?? id));

s(
  '500 charges, and 500 payments, of an account with ten long URLs are as many batches as they need',
  async () => {
    const { engine, batches } = opened();
    const ids = Array.from({ length: 500 }, (_, index) => uuid(index));
    await sendAll(engine, charges(500));
    const paid = await sendAll(
      engine,
      ids.map((id, index) => pay(id, index)),
    );
    assert.ok(paid.every(({ kind }) => kind === 'applied'));
    const all = await batches();
    assert.equal(inOrder(all), [...ids, ...ids]);
    // What an entry has room beside, and what a batch has besides its entries.
    const [entry, around] = [23_000, 1_000];
    for (const batch of all) assert.ok(bytesOf(batch) < BATCH_BYTES + around, `${bytesOf(batch)} bytes`);
    const full = all.filter((batch) => bytesOf(batch) > BATCH_BYTES - entry);
    assert.ok(full.length >= all.length - 2, 'no batch ends before it is full');
  },
);

s('an entry that is larger than a batch goes alone, and keeps nobody back', async () => {
  const { engine, batches } = opened();
  const large = message(uuid(0), 'PROTEST', { unknown: 'x'.repeat(BATCH_BYTES) });
  await engine.send(ACCOUNT, charge(uuid(0)));
  const answers = await sendAll(engine, [deposit(1), large, deposit(2), deposit(3)]);
  assert.equal(
    answers.map(({ kind }) => kind),
    ['adjusted', 'refused', 'adjusted', 'adjusted'],
  );
  const [, ...after] = await batches();
  assert.equal(
    after.map(({ entries }) => entries.length),
    [1, 1, 2],
  );
});

s('a command that had no room is decided on what the batch before left', async () => {
  const { engine, batches } = opened(1);
  const other = { amount: 600, fee: { totalFee: 0, netAmount: 600 } };
  const answers = await sendAll(engine, [
    deposit(0, 1_000),
    transfer(uuid(1), other),
    transfer(uuid(2), other),
    deposit(0, 1_000),
    deposit(3, 500),
    transfer(uuid(4), other),
  ]);
  assert.equal(
    answers.map(({ kind }) => kind),
    ['adjusted', 'applied', 'insufficientBalance', 'adjusted', 'adjusted', 'applied'],
  );
  const all = await batches();
  assert.equal(
    all.map(({ entries }) => entries.length),
    [1, 1, 1, 1],
  );
  assert.is(all.at(-1)?.balances.available, 300);
});

s('where another process was first, what had no room still comes behind what had, each once', async () => {
  const { engine, faults, batches } = opened(60_000);
  faults.stale(3);
  await sendAll(engine, charges(9));
  const all = await batches();
  assert.equal(
    inOrder(all),
    Array.from({ length: 9 }, (_, index) => uuid(index)),
  );
  assert.ok(all.length > 3);
});

s('whoever left while its command had no room is dropped, and those behind it go on in order', async () => {
  const { engine, faults, batches } = opened(60_000);
  const release = faults.hang('append');
  let left = false;
  const sent = charges(9).map((command, index) =>
    engine.send(ACCOUNT, command, { abandoned: () => left && index === 5 }).then(
      ({ kind }) => kind,
      (error: unknown) => error,
    ),
  );
  for (let turns = 0; turns < 20; turns++) await turn();
  left = true;
  release();
  const answers = await Promise.all(sent);
  assert.instance(answers[5], Abandoned);
  assert.is(answers.filter((answer) => answer === 'applied').length, 8);
  const expected = Array.from({ length: 9 }, (_, index) => uuid(index)).filter((id) => id !== uuid(5));
  assert.equal(inOrder(await batches()), expected);
});

s('a write that fails, or stalls, is told to those in it alone: the others were not decided', async () => {
  const { engine, faults, batches } = opened(60_000);
  const send = (command: Command): Promise<unknown> =>
    engine.send(ACCOUNT, command).then(
      ({ kind }) => kind,
      (error: unknown) => (error as Error).constructor,
    );
  faults.fail('append');
  const failed = await Promise.all(charges(9).map(send));
  const decided = failed.filter((answer) => answer !== 'applied').length;
  assert.ok(decided > 0 && decided < 5, `${decided} failed`);
  assert.equal(
    failed.slice(decided),
    Array.from({ length: 9 - decided }, () => 'applied'),
  );
  const before = (await batches()).length;
  const release = faults.hang('append');
  const stalled = await Promise.all(
    Array.from({ length: 9 }, (_, index) => charge(uuid(100 + index))).map(send),
  );
  release();
  assert.equal(stalled, [
    ...Array.from({ length: decided }, () => StoreUnavailable),
    ...Array.from({ length: 9 - decided }, () => Overloaded),
  ]);
  await engine.drain(5_000);
  assert.equal((await batches()).length, before + 1);
});

s.run();
