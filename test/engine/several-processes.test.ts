/** Two engines on one store: what one process knows may be old, and no answer may be given on it. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SandboxBank } from '../../src/bank/sandbox.ts';
import type { Account } from '../../src/domain/account.ts';
import { DEMO_FEES } from '../../src/domain/fees.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { adjust } from '../../src/engine/ops/adjust.ts';
import { Payments } from '../../src/engine/payments.ts';
import { MemoryState } from '../support/memory-store/state.ts';
import { MemoryStore } from '../support/memory-store/store.ts';
import { engineOn } from './on-store.ts';

const s = suite('several processes');

const ACCOUNT = 'acc_1';
const now = (): number => 1_800_000_000_000;
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

function processOn(
  state: MemoryState,
  incarnation: string,
): { engine: Engine; payments: Payments; store: MemoryStore } {
  const store = new MemoryStore({ state, incarnation, now, silentAfterMs: 5_000 });
  const engine = engineOn(store, now, { incarnation });
  let ids = incarnation === 'a' ? 0 : 1_000;
  const newId = (): string => uuid(++ids);
  const bank = new SandboxBank(500);
  const payments = new Payments({ engine, journal: store.journal, bank, now, newId, chargeExpiryS: 60 });
  return { engine, payments, store };
}

const deposit = (id: string, amount: number) => ({ id, amount, reason: 'test', allowNegative: false });

const transfer = (amount: number, idempotencyKey: string | null) => ({
  amount,
  idempotencyKey,
  externalRef: null,
  description: null,
  metadata: {},
  pixKeyType: 'EMAIL' as const,
  pixKey: 'a@b.com',
});

s('a refusal is not given on a balance that another process has raised', async () => {
  const state = new MemoryState();
  const [a, b] = [processOn(state, 'a'), processOn(state, 'b')];
  await adjust(a.engine, ACCOUNT, deposit('1', 100));
  await adjust(b.engine, ACCOUNT, deposit('2', 10_000));
  const fee = { netAmount: 5_000, totalFee: 0 };
  const command = {
    kind: 'createTransfer',
    id: uuid(7),
    transfer: { ...transfer(5_000, null), fee },
  } as const;
  assert.is((await a.engine.send(ACCOUNT, command)).kind, 'applied');
});

s('a retry that finds the money gone and its key taken meanwhile is a duplicate, not a refusal', async () => {
  const state = new MemoryState();
  const [a, b] = [processOn(state, 'a'), processOn(state, 'b')];
  await adjust(a.engine, ACCOUNT, deposit('1', 5_000));
  const account = {
    id: ACCOUNT,
    fees: { ...DEMO_FEES, cashout: { fixed: 0, percent: 0, min: 0, max: null } },
  } as Account;
  const { journal } = a.store;
  const read = journal.read.bind(journal);
  let first: string | null = null;
  // Between the first look at the key and the look at the balance, another process takes both.
  journal.read = async (...wanted) => {
    const seen = await read(...wanted);
    if (first === null) {
      const answer = await b.payments.createTransfer(account, transfer(5_000, 'key'), {});
      first = answer.kind === 'applied' ? answer.record.id : '';
    }
    return seen;
  };
  const answer = await a.payments.createTransfer(account, transfer(5_000, 'key'), {});
  assert.equal(answer, { kind: 'duplicateKey', transaction: first });
});

s.run();
