/**
 * Walks the charts of transactions: the model's paths, sent to the engine's `decide` and held against the
 * contract's tables.
 */
import * as assert from 'uvu/assert';
import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { Posting } from '../../src/domain/money.ts';
import type { Command } from '../../src/engine/commands.ts';
import type { Decision } from '../../src/engine/decision.ts';
import type { Entry } from '../../src/engine/journal.ts';
import {
  adjustment,
  charge,
  due,
  EXPIRY,
  endToEndId,
  Ledger,
  message,
  payment,
  START,
  transfer,
  uuid,
} from '../engine/support.ts';
import { type Money, PART_MESSAGES, type Row, type StateRow } from './contract-tables.ts';
import { eventTypesOf, type Model, type ModelPath, modelOf, pathAlong } from './model.ts';

/** One of the two kinds of transaction with its tables. */
export interface Kind {
  machine: AnyStateMachine;
  name: 'pix-in' | 'cashout';
  rows: readonly Row[];
  states: readonly StateRow[];
  messages: readonly string[];
}

/** The transaction that is walked, and what it moves. */
export const SUBJECT = uuid(1);
const OPENING = 1_000_000;
const EXPIRES_IN_S = 3_600;
const EXPIRES_AT = START + EXPIRES_IN_S * 1000;

/** What is walked: amounts with a fee, without one, and where the fee eats all. */
export const MONIES: readonly Money[] = [
  { amount: 10_000, totalFee: 100 },
  { amount: 777, totalFee: 0 },
  { amount: 100, totalFee: 100 },
];

/** What a walk is in: the account and which state the tables expect. */
export interface Walk {
  ledger: Ledger;
  kind: Kind;
  money: Money;
  state: string;
}

function dataOf(type: string, money: Money, n = 1): object {
  if (type === 'PAY' || type === 'HOLD') return payment(n, money.amount);
  if (type === 'START' || type === 'SETTLE' || type === 'FAIL') return { endToEndId: endToEndId(1) };
  return {};
}

/** An event as the engine hands it to the chart. */
function eventOf(type: string, money: Money): EventObject & { at: string; data: object } {
  return { type, at: new Date(START).toISOString(), data: dataOf(type, money) };
}

function creation(kind: Kind, { amount, totalFee }: Money): Command {
  const fee = { totalFee, netAmount: amount - totalFee };
  return kind.name === 'pix-in'
    ? charge(SUBJECT, { amount, fee, expiresIn: EXPIRES_IN_S })
    : transfer(SUBJECT, { amount, fee });
}

/** The command that brings an event of the chart to the engine. */
function commandOf(type: string, money: Money): Command {
  if (type.startsWith('xstate.')) return due(SUBJECT, type, EXPIRES_AT);
  return message(SUBJECT, type, dataOf(type, money));
}

/** The model of a kind's chart, with the context that the engine gives a new transaction. */
export function modelOfKind(kind: Kind, money: Money): Model {
  const ledger = new Ledger();
  ledger.commit(adjustment(OPENING), creation(kind, money));
  const { machine } = kind;
  const input = ledger.record(SUBJECT).snapshot.context;
  return modelOf({ machine, input, eventOf: (type) => eventOf(type, money) });
}

function legs(postings: readonly Posting[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { leg, amount } of postings) sums[leg] = (sums[leg] ?? 0) + amount;
  return Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0));
}

function assertEntry(entry: Entry, row: Row, money: Money): void {
  const what = `${row.from} ${row.message}`;
  assert.is(entry.from, row.from, what);
  assert.is(entry.to, row.to, what);
  assert.equal(
    entry.events.map(({ name }) => name),
    row.events,
    what,
  );
  assert.equal(legs(entry.postings), legs(row.postings(money)), what);
  assert.equal(
    entry.orders.map(({ kind }) => kind),
    row.orders,
    what,
  );
  const timers = {
    starts: [{ name: EXPIRY, at: new Date(EXPIRES_AT).toISOString() }],
    ends: [],
    stays: null,
  };
  assert.equal(entry.timers, timers[row.expiry], what);
  assert.is(entry.refusal, null, what);
  assert.is(entry.attention, null, what);
}

function step(walk: Walk, from: string | null, type: string, command: Command): void {
  const row = walk.kind.rows.find((each) => each.from === from && each.message === type);
  if (row === undefined) throw new Error(`the contract has no ${type} from ${from}`);
  const [decision] = walk.ledger.commit(command) as [Decision];
  assert.is(decision.answer.kind, 'applied', `${type} in ${from}`);
  if (decision.taken === null) throw new Error(`${type} in ${from} left no entry`);
  assertEntry(decision.taken.entry, row, walk.money);
  walk.state = row.to;
}

/** Sends one event of the path; the clock's come when they are due. */
function send(walk: Walk, type: string): void {
  const isClock = type.startsWith('xstate.after.expiry.');
  if (isClock) walk.ledger.now = EXPIRES_AT;
  step(walk, walk.state, isClock ? 'EXPIRE' : type, commandOf(type, walk.money));
}

/**
 * Runs a path of the model: each step must be a line of the table, and lead where the model and the state table
 * say. `arrived` is called in each state on the way.
 */
export function walkPath(
  kind: Kind,
  money: Money,
  path: ModelPath,
  arrived: (walk: Walk) => void = () => {},
): Walk {
  const walk: Walk = { ledger: new Ledger(), kind, money, state: '' };
  walk.ledger.commit(adjustment(OPENING));
  const types = eventTypesOf(kind.machine, kind.messages);
  const create = (): void => step(walk, null, 'CREATE', creation(kind, money));
  const senders = types.map((type) => [type, () => send(walk, type)] as const);
  const checks = kind.states.map((row) => {
    const check = (model: AnyMachineSnapshot): void => {
      assertArrived(walk, row, model);
      arrived(walk);
    };
    return [row.state, check] as const;
  });
  path.testSync({
    events: { 'xstate.init': create, ...Object.fromEntries(senders) },
    states: { ...Object.fromEntries(checks), '*': isUnknown },
  });
  return walk;
}

/** Walks along these messages, through states that the walk was in, too. */
export function walkAlong(kind: Kind, money: Money, types: readonly string[]): Walk {
  const events = types.map((type) => eventOf(type, money));
  return walkPath(kind, money, pathAlong(modelOfKind(kind, money), events));
}

/** The check of the states that the state table lacks. */
function isUnknown({ value }: AnyMachineSnapshot): never {
  throw new Error(`the contract has no state ${value}`);
}

/**
 * The record is in the model's state with the model's context; final or not and the balance are what the state
 * table says; the journal replays to the same bytes.
 */
function assertArrived({ ledger, money, state }: Walk, row: StateRow, model: AnyMachineSnapshot): void {
  const record = ledger.record(SUBJECT);
  assert.equal([state, record.snapshot.value], [row.state, row.state]);
  assert.is(canonicalJson(record.snapshot.context), canonicalJson(model.context), `the context in ${state}`);
  assert.equal([record.final, model.hasTag('ended')], [row.final, row.final], `${state} is final`);
  assert.is(ledger.balances.available, OPENING + row.balance(money), `the balance in ${state}`);
  ledger.assertReplays();
}

/** Whatever the table doesn't take in the present state changes nothing; what it takes is told. */
export function assertTakesNothingElse(walk: Walk, others: readonly string[]): void {
  const { kind, ledger, money, state } = walk;
  const taken = kind.rows.filter((row) => row.from === state).map((row) => row.message);
  const before = canonicalJson([ledger.record(SUBJECT).snapshot, ledger.balances]);
  const events = ledger.record(SUBJECT).events;
  const left = [...kind.messages, ...others].filter((type) => !taken.includes(type));
  for (const type of new Set(left)) {
    const [decision] = ledger.commit(message(SUBJECT, type, dataOf(type, money, 2))) as [Decision];
    const { answer } = decision;
    const isLateStart =
      type === 'START' &&
      (ledger.record(SUBJECT).snapshot.context as { startImplied?: boolean }).startImplied;
    assert.is(answer.kind, isLateStart ? 'repeated' : 'refused', `${type} in ${state}`);
    if (answer.kind === 'refused') {
      const allowed = answer.allowed.filter((each) => !PART_MESSAGES.includes(each));
      assert.equal(allowed.sort(), [...taken].sort(), `in ${state}`);
    }
    assertUnmoved(decision.taken?.entry ?? null, `${type} in ${state}`);
    assert.is(
      canonicalJson([ledger.record(SUBJECT).snapshot, ledger.balances]),
      before,
      `${type} in ${state}`,
    );
    assert.is(ledger.record(SUBJECT).events, events, `${type} in ${state}`);
  }
  if (!taken.includes('EXPIRE')) assertClockIsLate(walk, before);
}

/** An entry that keeps what was said: `to` = `from`, neither postings nor events. */
function assertUnmoved(entry: Entry | null, what: string): void {
  if (entry === null) return;
  assert.is(entry.to, entry.from, what);
  assert.equal([entry.postings, entry.events, entry.timers, entry.snapshot], [[], [], null, null], what);
}

/** An expiry that comes after all changes nothing and leaves nothing. */
function assertClockIsLate({ ledger, state }: Walk, before: string): void {
  const entries = ledger.entries.length;
  const { now } = ledger;
  ledger.now = Math.max(now, EXPIRES_AT);
  const [decision] = ledger.commit(due(SUBJECT, EXPIRY, EXPIRES_AT)) as [Decision];
  assert.is(decision.answer.kind, 'repeated', `the clock in ${state}`);
  assert.is(ledger.entries.length, entries, `the clock in ${state}`);
  assert.is(canonicalJson([ledger.record(SUBJECT).snapshot, ledger.balances]), before);
  // The path goes on from when it came here.
  ledger.now = now;
}
