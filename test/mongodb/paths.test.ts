/**
 * Every path of both statecharts through an engine on MongoDB, many at a time, on two processes: each step is a
 * line of the contract's table, and what is stored afterwards is what the journal gives.
 */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cashout } from '../../machines/cashout.ts';
import { pixIn } from '../../machines/pix-in.ts';
import { verifyStore } from '../../src/audit/verify.ts';
import type { Command } from '../../src/engine/commands.ts';
import { Engine } from '../../src/engine/engine.ts';
import { openMongoStore } from '../../src/store/mongo/store.ts';
import { adjustment, charge, due, message, payment, START, transfer } from '../engine/support.ts';
import {
  CASHOUT_MESSAGES,
  CASHOUT_ROWS,
  CASHOUT_STATES,
  PIX_IN_MESSAGES,
  PIX_IN_ROWS,
  PIX_IN_STATES,
} from '../machines/contract-tables.ts';
import { type Kind, pathsOf } from '../machines/walk.ts';
import { freshDatabase } from '../support/mongodb.ts';

const test = suite('paths on mongodb');

const OPENING = 10_000_000;
const EXPIRES_IN_S = 3_600;
const AFTER_EXPIRY = START + EXPIRES_IN_S * 1_000;
const MONEY = { 'pix-in': { amount: 10_000, totalFee: 100 }, cashout: { amount: 1_000, totalFee: 50 } };

const KINDS: Kind[] = [
  {
    machine: pixIn,
    name: 'pix-in',
    rows: PIX_IN_ROWS,
    states: PIX_IN_STATES,
    messages: PIX_IN_MESSAGES,
  },
  {
    machine: cashout,
    name: 'cashout',
    rows: CASHOUT_ROWS,
    states: CASHOUT_STATES,
    messages: CASHOUT_MESSAGES,
  },
];

/** An engine of its own process, as far as the store can tell. */
async function openEngine(uri: string, incarnation: string, now = START) {
  const store = openMongoStore({
    uri,
    incarnation,
    localNow: () => Date.now(),
    silentAfterMs: 5_000,
    onUnusable: (reason) => {
      throw new Error(reason);
    },
    onNotice: () => {},
  });
  await store.ready;
  let batches = 0;
  const engine = new Engine({
    store,
    everyDoorSpeaks: false,
    now: () => now,
    newBatchId: () => {
      batches += 1;
      return `${incarnation}.${batches}`;
    },
    settings: async () => null,
  });
  return { store, engine };
}

let payments = 0;

function dataOf(type: string, amount: number): object {
  payments += 1;
  if (type === 'PAY' || type === 'HOLD') return payment(payments, amount);
  if (type === 'START' || type === 'SETTLE' || type === 'FAIL')
    return { endToEndId: payment(payments).endToEndId };
  return {};
}

function inputOf(kind: Kind): object {
  const createdAt = new Date(START).toISOString();
  const { amount, totalFee } = MONEY[kind.name];
  const common = { amount, fee: { totalFee, netAmount: amount - totalFee }, createdAt, paidAt: null };
  const own =
    kind.name === 'pix-in'
      ? { expiresAt: new Date(AFTER_EXPIRY).toISOString(), endToEndId: null, held: null, customer: null }
      : { reference: null, startImplied: false };
  return { ...common, ...own };
}

function creationOf(kind: Kind, id: string): Command {
  return kind.name === 'pix-in' ? charge(id, { expiresIn: EXPIRES_IN_S }) : transfer(id);
}

type Opened = Awaited<ReturnType<typeof openEngine>>;

/** Walks one path, each step on the next engine, the clock's on a late one; gives the last state of the table. */
async function walk(
  kind: Kind,
  path: readonly string[],
  account: string,
  opened: readonly Opened[],
  late: Opened,
) {
  const id = randomUUID();
  const steps: [string, Command][] = [['CREATE', creationOf(kind, id)]];
  for (const type of path) {
    const isClock = type.startsWith('xstate.after.');
    const { amount } = MONEY[kind.name];
    steps.push(
      isClock
        ? ['EXPIRE', due(id, type, AFTER_EXPIRY)]
        : [type, message(id, type, dataOf(type, amount), { id: randomUUID() })],
    );
  }
  let state: string | null = null;
  for (const [index, [type, command]] of steps.entries()) {
    const row = kind.rows.find((each) => each.from === state && each.message === type);
    if (row === undefined) throw new Error(`the contract has no ${type} from ${state}`);
    const { engine } = type === 'EXPIRE' ? late : (opened[index % opened.length] as Opened);
    const answer = await engine.send(account, command);
    assert.is(answer.kind, 'applied', `${type} in ${state}: ${JSON.stringify(answer).slice(0, 200)}`);
    state = row.to;
    // Another process than the one that answered reads it.
    const { store } = opened[(index + 1) % opened.length] as Opened;
    assert.is((await store.journal.transaction(id))?.snapshot.value, state, `${kind.name} after ${type}`);
  }
  return { id, state };
}

test('every path keeps the table, whichever process takes the step', async () => {
  const { uri, drop } = await freshDatabase();
  const opened = [await openEngine(uri, 'one'), await openEngine(uri, 'two')];
  const late = await openEngine(uri, 'late', AFTER_EXPIRY);
  const [{ engine, store }] = opened as [Opened];
  try {
    let walked = 0;
    for (const kind of KINDS) {
      const paths = pathsOf(kind.machine, inputOf(kind), kind.messages);
      assert.ok(paths.length >= 8, `${kind.name}: ${paths.length} paths`);
      const states = new Set<string | null>();
      const takePath = async (path: readonly string[]): Promise<void> => {
        const account = randomUUID();
        await engine.send(account, adjustment(OPENING));
        const { id, state } = await walk(kind, path, account, opened, late);
        const expected = kind.states.find((each) => each.state === state);
        assert.is((await store.journal.transaction(id))?.final, expected?.final, `${state} is final`);
        const { balances } = await store.journal.head(account);
        assert.is(balances.available, OPENING + (expected?.balance(MONEY[kind.name]) ?? 0), `in ${state}`);
        states.add(state);
        walked += 1;
      };
      // Sixteen at a time: their batches share groups.
      const queue = [...paths];
      const worker = async (): Promise<void> => {
        for (let path = queue.shift(); path !== undefined; path = queue.shift()) await takePath(path);
      };
      await Promise.all(Array.from({ length: 16 }, worker));
      assert.equal([...states].sort(), kind.states.map(({ state }) => state).sort());
    }
    // Messages came past the doors that clean them: asking the charts again is the other tests' part.
    const report = await verifyStore(store.journal, { heads: false, decide: false, everyDoorSpeaks: false });
    assert.equal(report.differences, []);
    assert.is(report.accounts, walked);
  } finally {
    await Promise.all([...opened, late].map((each) => each.store.close()));
    await drop();
  }
});

test.run();
