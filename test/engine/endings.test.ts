/** Claims that end with the batch which they brought: with it alone, and only where it was written. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACCOUNT as SETTINGS } from '../../scripts/simulation/accounts.ts';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import { type Ending, endingsOf } from '../../src/engine/actors/endings.ts';
import type { Answer } from '../../src/engine/commands.ts';
import { Payments } from '../../src/engine/payments.ts';
import { type ClaimOf, isOf } from '../../src/engine/store/due.ts';
import { FaultPlan } from '../support/memory-store/faults.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { engineOn } from './on-store.ts';
import { payment, uuid } from './support.ts';

const s = suite('claims that end with a batch');

const START = 1_800_000_000_000;
const OWNER = { ...SETTINGS, id: 'acc_1' };

/** A charge, and a claim on its order. */
async function opened() {
  const clock = { ms: START };
  const now = (): number => clock.ms;
  const state = new MemoryState();
  const faults = new FaultPlan();
  const store = new MemoryStore({ state, incarnation: 'a', now, silentAfterMs: 5_000, faults });
  const { journal, due } = store;
  let ids = 0;
  const engine = engineOn(store, now, { settings: async () => OWNER });
  const newId = (): string => uuid(++ids);
  const bank = new SandboxBank(1_000);
  const payments = new Payments({ engine, journal, bank, now, newId, chargeExpiryS: 3_600 });
  const parts = { externalRef: null, description: null, additionalInfo: null, customer: null, metadata: {} };
  const created = await payments.createCharge(
    OWNER,
    { amount: 1_001, idempotencyKey: null, expiresIn: null, ...parts },
    {},
  );
  if (created.kind !== 'applied') throw new Error(created.kind);
  clock.ms += 1_000;
  const [claim] = await due.claim('bank', clock.ms, 10);
  if (claim === undefined || !isOf(claim, 'bank')) throw new Error('it has no order');
  const ending: Ending = { claim, isEnded: false };
  const tell = (id: string) =>
    payments.tell(created.record, { id, type: 'PAY', data: payment(1, 1_001) }, 'bank', { ending });
  return { faults, due, claim, ending, tell };
}

s('it ends with the message', async () => {
  const { due, claim, ending, tell } = await opened();
  assert.is((await tell('one')).kind, 'applied');
  assert.is(ending.isEnded, true);
  assert.equal(await due.holds([claim]), [false]);
});

s('others that are first hold it up, and end nothing', async () => {
  const { faults, due, claim, ending, tell } = await opened();
  faults.stale(3);
  assert.is((await tell('one')).kind, 'applied');
  assert.is(ending.isEnded, true);
  assert.equal(await due.settle([{ claim, next: null }]), [false]);
});

s('a message that was taken before makes no batch, and ends nothing', async () => {
  const { due, claim, ending, tell } = await opened();
  assert.is((await tell('one')).kind, 'applied');
  ending.isEnded = false;
  assert.is((await tell('one')).kind, 'repeated');
  assert.is(ending.isEnded, false);
  assert.equal(await due.holds([claim]), [false]);
});

s('what failed, and what ops have to look at first, ends nothing', () => {
  const claimed = (token: string): Ending => {
    const order = { kind: 'payout' } as const;
    const due = { kind: 'bank', at: START, account: 'acc_1', transaction: 't', tries: 0, order } as const;
    return { claim: { due, token } satisfies ClaimOf<'bank'>, isEnded: false };
  };
  const tickets = ['a', 'b', 'c'].map((token) => ({ ending: claimed(token) }));
  const answers = [
    new Error('no'),
    { kind: 'quarantined', transaction: 't', reason: 'unreadable' } as Answer,
    { kind: 'refused' } as unknown as Answer,
  ];
  const tokens = endingsOf([...tickets, { ending: null }], answers).map(({ claim }) => claim.token);
  assert.equal(tokens, ['c']);
});

s.run();
