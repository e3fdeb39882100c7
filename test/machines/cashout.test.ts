/** The cashout statechart against the contract's and the decisions' tables: every transition, on every path. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cashout } from '../../machines/cashout.ts';
import type { Transfer } from '../../src/domain/transactions.ts';
import { allowedTypes, isEnded } from '../../src/engine/chart.ts';
import { endToEndId, message, START } from '../engine/support.ts';
import {
  CASHOUT_MESSAGES,
  CASHOUT_ROWS,
  CASHOUT_STATES,
  PART_MESSAGES,
  PIX_IN_MESSAGES,
} from './contract-tables.ts';
import { edgesOf, emitted } from './directions.ts';
import { eventTypesOf, pathsOf, typesOf } from './model.ts';
import {
  assertTakesNothingElse,
  type Kind,
  MONIES,
  modelOfKind,
  SUBJECT,
  walkAlong,
  walkPath,
} from './walk.ts';

const s = suite('cashout statechart');

const KIND: Kind = {
  machine: cashout,
  name: 'cashout',
  rows: CASHOUT_ROWS,
  states: CASHOUT_STATES,
  messages: CASHOUT_MESSAGES,
};
const MONEY = { amount: 1_000, totalFee: 50 };
const CONTEXT = {
  amount: 1_000,
  fee: { totalFee: 50, netAmount: 950 },
  createdAt: new Date(START).toISOString(),
  reference: null,
  paidAt: null,
  startImplied: false,
};
const paths = pathsOf(modelOfKind(KIND, MONEY));

function contextAfter(path: readonly string[]): Transfer {
  return walkAlong(KIND, MONEY, path).ledger.record(SUBJECT).snapshot.context as Transfer;
}

s('every path keeps the table, step by step', () => {
  const seen = new Set<string>();
  const lines = new Set<string>();
  for (const money of MONIES) {
    for (const path of pathsOf(modelOfKind(KIND, money))) {
      const { ledger } = walkPath(KIND, money, path, ({ state }) => seen.add(state));
      for (const { entry } of ledger.entries) lines.add(`${entry.from} ${entry.message.type} ${entry.to}`);
    }
  }
  assert.equal([...seen].sort(), CASHOUT_STATES.map(({ state }) => state).sort());
  for (const { from, message: type, to } of CASHOUT_ROWS) {
    assert.ok(lines.has(`${from} ${type} ${to}`), `nobody walked ${from} ${type}`);
  }
});

s('in every state of every path, what the table lacks changes nothing', () => {
  for (const path of paths)
    walkPath(KIND, MONEY, path, (walk) => assertTakesNothingElse(walk, PIX_IN_MESSAGES));
});

s('chart and table have the same transitions, and nothing more', () => {
  const types = [...new Set([...eventTypesOf(cashout, CASHOUT_MESSAGES), ...PIX_IN_MESSAGES])];
  const eventOf = (type: string) => ({ type, at: CONTEXT.createdAt, data: {} });
  const drawn = edgesOf('cashout', cashout, CONTEXT, eventOf, types).map(
    ({ from, type, step }) => `${from} ${type} ${step.value} ${emitted(step)}`,
  );
  const written = CASHOUT_ROWS.filter(({ from }) => from !== null).map(
    ({ from, message: type, to, events }) => `${from} ${type} ${to} ${events}`,
  );
  assert.equal(drawn.sort(), written.sort());
});

s('there are six states, final ones as the contract says, and each takes what its lines say', () => {
  assert.is(CASHOUT_STATES.length, 6);
  assert.equal(Object.keys(cashout.root.states).sort(), CASHOUT_STATES.map(({ state }) => state).sort());
  for (const { state, final } of CASHOUT_STATES) {
    assert.is(isEnded('cashout', state), final, state);
    const taken = CASHOUT_ROWS.filter(({ from }) => from === state).map((row) => row.message);
    const drawn = allowedTypes('cashout', state).filter((type) => !PART_MESSAGES.includes(type));
    assert.equal(drawn.sort(), taken.sort(), state);
  }
});

s('nothing in a cashout is delayed: a silent bank means unknown, not failed', () => {
  const delayed = eventTypesOf(cashout, []).filter((type) => type.startsWith('xstate.'));
  assert.equal(delayed, []);
  assert.equal(walkAlong(KIND, MONEY, ['START']).ledger.record(SUBJECT).timers, []);
});

s('`paid_at` and the end-to-end id are filled once completed, and paid_at nowhere else', () => {
  for (const path of [['START', 'SETTLE'], ['SETTLE']]) {
    const { paidAt, reference } = contextAfter(path);
    assert.is(paidAt, new Date(START).toISOString());
    assert.is(reference, endToEndId(1));
  }
  for (const path of [['START'], ['START', 'FAIL'], ['FAIL'], ['REJECT'], ['CANCEL']]) {
    assert.is(contextAfter(path).paidAt, null, path.join());
  }
});

s("SETTLE's own time is the paidAt, and the first end-to-end id stays", () => {
  const { ledger } = walkAlong(KIND, MONEY, ['START']);
  const paidAt = new Date(START - 5_000).toISOString();
  ledger.commit(message(SUBJECT, 'SETTLE', { endToEndId: endToEndId(9), paidAt }));
  const context = ledger.record(SUBJECT).snapshot.context as Transfer;
  assert.equal([context.paidAt, context.reference], [paidAt, endToEndId(1)]);
});

s('only a result on a pending cashout implies the start', () => {
  const types = paths.map(typesOf);
  const implied = types.filter((path) => contextAfter(path).startImplied).map((path) => path.join());
  assert.equal(implied.sort(), ['FAIL', 'SETTLE']);
  assert.is(contextAfter(['START']).startImplied, false);
  assert.is(paths.length, 6);
});

s.run();
