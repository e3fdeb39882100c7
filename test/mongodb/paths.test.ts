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
import { adjustment, charge, due, EXPIRY, message, payment, START, transfer } from '../engine/support.ts';
import {
  CASHOUT_MESSAGES,
  CASHOUT_ROWS,
  CASHOUT_STATES,
  PIX_IN_MESSAGES,
  PIX_IN_ROWS,
  PIX_IN_STATES,
} from '../machines/contract-tables.ts';
import { eventTypesOf, type ModelPath, pathsOf } from '../machines/model.ts';
import { type Kind, modelOfKind } from '../machines/walk.ts';
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
    silentAfterMs: 5_000,
    leaseMs: 10_000,
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
    stuckAfterMs: 300_000,
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

function creationOf(kind: Kind, id: string): Command {
  return kind.name === 'pix-in' ? charge(id, { expiresIn: EXPIRES_IN_S }) : transfer(id);
}

type Opened = Awaited<ReturnType<typeof openEngine>>;

/** What a walk is in: the transaction, its account, and which state the table expects. */
interface Walk {
  kind: Kind;
  id: string;
  account: string;
  opened: readonly Opened[];
  /** The engine of the clock, past the expiry. */
  late: Opened;
  /** How many steps were taken. */
  steps: number;
  state: string | null;
}

/** One step, on the next engine, the clock's on the late one. */
async function step(walk: Walk, type: string, command: Command): Promise<void> {
  const { kind, account, opened, late, state } = walk;
  const row = kind.rows.find((each) => each.from === state && each.message === type);
  if (row === undefined) throw new Error(`the contract has no ${type} from ${state}`);
  const { engine } = type === 'EXPIRE' ? late : (opened[walk.steps % opened.length] as Opened);
  const answer = await engine.send(account, command);
  assert.is(answer.kind, 'applied', `${type} in ${state}: ${JSON.stringify(answer).slice(0, 200)}`);
  walk.state = row.to;
  walk.steps += 1;
}

function send(walk: Walk, type: string): Promise<void> {
  const { id, kind } = walk;
  if (type === EXPIRY) return step(walk, 'EXPIRE', due(id, type, AFTER_EXPIRY));
  const data = dataOf(type, MONEY[kind.name].amount);
  return step(walk, type, message(id, type, data, { id: randomUUID() }));
}

/** What is stored is in the model's state, final or not, with the balance of the state table. */
async function assertArrived({ kind, id, account, opened, steps, state }: Walk, at: string): Promise<void> {
  const row = kind.states.find((each) => each.state === at);
  if (row === undefined) throw new Error(`the contract has no state ${at}`);
  // Another process than the one that answered reads it.
  const { store } = opened[steps % opened.length] as Opened;
  const record = await store.journal.transaction(id);
  assert.equal([state, record?.snapshot.value, record?.final], [at, at, row.final], kind.name);
  const { balances } = await store.journal.head(account);
  assert.is(balances.available, OPENING + row.balance(MONEY[kind.name]), `in ${at}`);
}

/** Runs a path of the model; gives the states of the table that it came through. */
async function walkPath(walk: Walk, path: ModelPath): Promise<string[]> {
  const { kind } = walk;
  const types = eventTypesOf(kind.machine, kind.messages);
  const senders = types.map((type) => [type, () => send(walk, type)] as const);
  const create = (): Promise<void> => step(walk, 'CREATE', creationOf(kind, walk.id));
  const seen: string[] = [];
  await path.test({
    events: { 'xstate.init': create, ...Object.fromEntries(senders) },
    states: {
      '*': async ({ value }) => {
        await assertArrived(walk, String(value));
        seen.push(String(value));
      },
    },
  });
  return seen;
}

test('every path keeps the table, whichever process takes the step', async () => {
  const { uri, drop } = await freshDatabase();
  const opened = [await openEngine(uri, 'one'), await openEngine(uri, 'two')];
  const late = await openEngine(uri, 'late', AFTER_EXPIRY);
  const [{ engine, store }] = opened as [Opened];
  try {
    let walked = 0;
    for (const kind of KINDS) {
      const paths = pathsOf(modelOfKind(kind, MONEY[kind.name]));
      assert.ok(paths.length >= 6, `${kind.name}: ${paths.length} paths`);
      const states = new Set<string>();
      const takePath = async (path: ModelPath): Promise<void> => {
        const walk: Walk = {
          kind,
          id: randomUUID(),
          account: randomUUID(),
          opened,
          late,
          steps: 0,
          state: null,
        };
        await engine.send(walk.account, adjustment(OPENING));
        for (const state of await walkPath(walk, path)) states.add(state);
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
