/**
 * Walks statecharts: paths from XState's graph functions, replayed on the engine's `decide` and held against the
 * contract's tables.
 */
import * as assert from 'uvu/assert';
import type { AnyStateMachine, EventObject } from 'xstate';
import { getShortestPaths, getSimplePaths, type StatePath } from 'xstate/graph';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { Posting } from '../../src/domain/money.ts';
import type { Command } from '../../src/engine/commands.ts';
import type { Decision } from '../../src/engine/entries.ts';
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
import type { Money, Row, StateRow } from './contract-tables.ts';

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

/** An event as XState's graph functions send it. */
function graphEvent(type: string): EventObject & { at: string; data: object } {
  return { type, at: new Date(START).toISOString(), data: dataOf(type) };
}

function dataOf(type: string): object {
  if (type === 'PAY' || type === 'HOLD') return { ...payment(1), payer: null };
  if (type === 'START' || type === 'SETTLE' || type === 'FAIL') return { endToEndId: endToEndId(1) };
  return {};
}

type Path = StatePath<{ value: unknown } & ReturnType<AnyStateMachine['getInitialSnapshot']>, EventObject>;

function typesOf(path: Path): string[] {
  return path.steps.map(({ event }) => event.type).filter((type) => type !== 'xstate.init');
}

/** Every event that any state names, `xstate.after...` ones too, and all the kind's messages. */
export function eventTypesOf(machine: AnyStateMachine, messages: readonly string[]): string[] {
  const named = Object.values(machine.root.states).flatMap((state) => state.ownEvents as string[]);
  return [...new Set([...named, ...messages])];
}

/**
 * Paths through the chart as lists of event types: all simple ones, and for each transition one that ends with
 * it, since a simple path never comes back to where it was.
 */
export function pathsOf(machine: AnyStateMachine, input: object, messages: readonly string[]): string[][] {
  const types = eventTypesOf(machine, messages);
  const options = { input, events: types.map(graphEvent) };
  const simple = (getSimplePaths(machine, options) as Path[]).map(typesOf);
  const closing = (getShortestPaths(machine, options) as Path[]).flatMap((path) => {
    const state = machine.root.states[String(path.state.value)];
    return ((state?.ownEvents ?? []) as string[]).map((type) => [...typesOf(path), type]);
  });
  const unique = new Map([...simple, ...closing].map((path) => [path.join(' '), path]));
  return [...unique.values()];
}

/** What a walk is in: the account and which state the tables expect. */
export interface Walk {
  ledger: Ledger;
  kind: Kind;
  money: Money;
  state: string;
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
  const data = type === 'PAY' || type === 'HOLD' ? payment(1, money.amount) : dataOf(type);
  return message(SUBJECT, type, data);
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

/** Creates the transaction and sends it the path's events; each step must be a line of the table. */
export function walkAlong(kind: Kind, money: Money, path: readonly string[]): Walk {
  const ledger = new Ledger();
  ledger.commit(adjustment(OPENING));
  const walk: Walk = { ledger, kind, money, state: '' };
  step(walk, null, 'CREATE', creation(kind, money));
  for (const type of path) {
    const clock = type.startsWith('xstate.after.expiry.');
    if (clock) ledger.now = EXPIRES_AT;
    step(walk, walk.state, clock ? 'EXPIRE' : type, commandOf(type, money));
  }
  return walk;
}

/** Final or not, status and balance are what the state table says; the journal replays to the same bytes. */
export function assertArrived({ kind, ledger, money, state }: Walk): void {
  const row = kind.states.find((each) => each.state === state);
  if (row === undefined) throw new Error(`the contract has no state ${state}`);
  const record = ledger.record(SUBJECT);
  assert.is(record.snapshot.value, state);
  assert.is(record.final, row.final, `${state} is final`);
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
    const data = type === 'PAY' || type === 'HOLD' ? payment(2, money.amount) : dataOf(type);
    const [decision] = ledger.commit(message(SUBJECT, type, data)) as [Decision];
    const { answer } = decision;
    const isLateStart =
      type === 'START' &&
      (ledger.record(SUBJECT).snapshot.context as { startImplied?: boolean }).startImplied;
    assert.is(answer.kind, isLateStart ? 'repeated' : 'refused', `${type} in ${state}`);
    if (answer.kind === 'refused') assert.equal([...answer.allowed].sort(), [...taken].sort(), `in ${state}`);
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
  ledger.now = Math.max(ledger.now, EXPIRES_AT);
  const [decision] = ledger.commit(due(SUBJECT, EXPIRY, EXPIRES_AT)) as [Decision];
  assert.is(decision.answer.kind, 'repeated', `the clock in ${state}`);
  assert.is(ledger.entries.length, entries, `the clock in ${state}`);
  assert.is(canonicalJson([ledger.record(SUBJECT).snapshot, ledger.balances]), before);
}
