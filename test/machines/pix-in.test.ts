/** The PIX IN statechart against the contract's and the decisions' tables: every transition, on every path. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pixIn } from '../../machines/pix-in.ts';
import { allowedTypes, isEnded } from '../../src/engine/chart.ts';
import { EXPIRY, payment, START } from '../engine/support.ts';
import {
  CASHOUT_MESSAGES,
  CASHOUT_ROWS,
  EVENTS,
  PART_MESSAGES,
  PIX_IN_MESSAGES,
  PIX_IN_ROWS,
  PIX_IN_STATES,
} from './contract-tables.ts';
import { edgesOf, emitted } from './directions.ts';
import { eventTypesOf, pathsOf, typesOf } from './model.ts';
import { assertTakesNothingElse, type Kind, MONIES, modelOfKind, walkAlong, walkPath } from './walk.ts';

const s = suite('pix-in statechart');

const KIND: Kind = {
  machine: pixIn,
  name: 'pix-in',
  rows: PIX_IN_ROWS,
  states: PIX_IN_STATES,
  messages: PIX_IN_MESSAGES,
};
const CONTEXT = {
  amount: 10_000,
  fee: { totalFee: 100, netAmount: 9_900 },
  customer: null,
  held: null,
  createdAt: new Date(START).toISOString(),
  expiresAt: new Date(START + 3_600_000).toISOString(),
  endToEndId: null,
  paidAt: null,
};
const MONEY = { amount: 10_000, totalFee: 100 };

s('every path keeps the table, step by step', () => {
  const seen = new Set<string>();
  const lines = new Set<string>();
  const types = new Set<string>();
  for (const money of MONIES) {
    for (const path of pathsOf(modelOfKind(KIND, money))) {
      const { ledger } = walkPath(KIND, money, path, ({ state }) => seen.add(state));
      for (const type of typesOf(path)) types.add(type);
      for (const { entry } of ledger.entries) lines.add(`${entry.from} ${entry.message.type} ${entry.to}`);
    }
  }
  assert.equal([...seen].sort(), PIX_IN_STATES.map(({ state }) => state).sort());
  for (const { from, message, to } of PIX_IN_ROWS) {
    assert.ok(lines.has(`${from} ${message} ${to}`), `nobody walked ${from} ${message}`);
  }
  assert.equal([...types].sort(), [...PIX_IN_MESSAGES, EXPIRY].sort());
});

s('in every state of every path, what the table lacks changes nothing', () => {
  for (const path of pathsOf(modelOfKind(KIND, MONEY)))
    walkPath(KIND, MONEY, path, (walk) => assertTakesNothingElse(walk, CASHOUT_MESSAGES));
});

s('chart and table have the same transitions, and nothing more', () => {
  const types = [...new Set([...eventTypesOf(pixIn, PIX_IN_MESSAGES), ...CASHOUT_MESSAGES])];
  const eventOf = (type: string) => ({ type, at: CONTEXT.createdAt, data: payment(1) });
  const drawn = edgesOf('pix-in', pixIn, CONTEXT, eventOf, types)
    .filter(({ type }) => type !== EXPIRY)
    .map(({ from, type, step }) => `${from} ${type} ${step.value} ${emitted(step)}`);
  const written = PIX_IN_ROWS.filter(({ from }) => from !== null).map(
    ({ from, message, to, events }) => `${from} ${message} ${to} ${events}`,
  );
  assert.equal(drawn.sort(), written.sort());
});

s('there are ten states, final ones as the contract says, and each takes what its lines say', () => {
  assert.is(PIX_IN_STATES.length, 10);
  assert.equal(Object.keys(pixIn.root.states).sort(), PIX_IN_STATES.map(({ state }) => state).sort());
  for (const { state, final } of PIX_IN_STATES) {
    assert.is(isEnded('pix-in', state), final, state);
    const taken = PIX_IN_ROWS.filter(({ from }) => from === state).map(({ message }) => message);
    const drawn = allowedTypes('pix-in', state).filter((type) => !PART_MESSAGES.includes(type));
    assert.equal(drawn.sort(), taken.sort(), state);
  }
});

s('the lines of both kinds emit all 16 events', () => {
  const events = [...PIX_IN_ROWS, ...CASHOUT_ROWS].flatMap((row) => row.events);
  assert.is(EVENTS.length, 16);
  assert.equal([...new Set(events)].sort(), [...EVENTS].sort());
});

s('expiry comes through EXPIRE alone: the timer only raises it', () => {
  const transitions = Object.values(pixIn.root.states).flatMap((state) =>
    [...state.transitions.values()].flat(),
  );
  const expiring = transitions.filter(({ target }) => target?.some(({ key }) => key === 'expired'));
  assert.equal(
    expiring.map(({ eventType, source }) => [source.key, eventType]),
    [['waiting_payment', 'EXPIRE']],
  );
  const delayed = transitions.filter(({ eventType }) => eventType.startsWith('xstate.'));
  assert.equal(
    delayed.map(({ eventType, target }) => [eventType, target ?? null]),
    [[EXPIRY, null]],
  );
  const eventOf = (type: string) => ({ type, at: CONTEXT.createdAt, data: {} });
  const [byTimer] = edgesOf('pix-in', pixIn, CONTEXT, eventOf, [EXPIRY]);
  const [byMessage] = edgesOf('pix-in', pixIn, CONTEXT, eventOf, ['EXPIRE']);
  assert.is(byTimer?.step.raised, 'EXPIRE');
  assert.equal({ ...byTimer?.step, raised: null }, byMessage?.step);
});

s('a protest that is dismissed credits nothing, however often, and what follows debits once', () => {
  const dismissed = ['PROTEST', 'DISMISS'];
  const { ledger } = walkAlong(KIND, MONEY, ['PAY', ...dismissed, ...dismissed, ...dismissed]);
  const credited = ledger.entries.filter(
    ({ entry }) => entry.transaction !== null && entry.postings.length > 0,
  );
  assert.equal(
    credited.map(({ entry }) => entry.message.type),
    ['PAY'],
  );
  for (const end of ['REFUND', 'CHARGEBACK']) {
    walkAlong(KIND, MONEY, ['HOLD', 'APPROVE', ...dismissed, end]);
    walkAlong(KIND, MONEY, ['PAY', ...dismissed, 'PROTEST', end]);
  }
});

s.run();
