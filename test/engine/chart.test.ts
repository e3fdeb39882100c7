/**
 * The inert-scope calls of `chart.ts` against XState's own pure functions, on every event in every state of
 * every chart; and which snapshots can't be read.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnyStateMachine, initialTransition, transition } from 'xstate';
import { type MachineName, machines, type Snapshot } from '../../machines/index.ts';
import { allowedTypes, begin, isEnded, type Step, take, versionOf } from '../../src/engine/chart.ts';
import { endToEndId, frozen, START, withMigration } from './support.ts';

const s = suite('chart');

const AT = new Date(START).toISOString();
const PAYER = { name: 'Maria', document: null, email: null, phone: null };

const CHARGE = {
  amount: 10_000,
  fee: { totalFee: 100, netAmount: 9_900 },
  customer: null,
  createdAt: AT,
  expiresAt: new Date(START + 60_000).toISOString(),
  endToEndId: null,
  paidAt: null,
  held: null,
};
const TRANSFER = {
  amount: 1_000,
  fee: { totalFee: 50, netAmount: 950 },
  createdAt: AT,
  reference: null,
  paidAt: null,
  startImplied: false,
};

const CONTEXTS: Record<MachineName, object[]> = {
  'pix-in': [
    CHARGE,
    { ...CHARGE, fee: { totalFee: 10_000, netAmount: 0 }, customer: PAYER },
    { ...CHARGE, held: { endToEndId: endToEndId(1), paidAt: AT, payer: PAYER }, expiresAt: AT },
    { ...CHARGE, endToEndId: endToEndId(2), paidAt: AT },
  ],
  cashout: [
    TRANSFER,
    { ...TRANSFER, fee: { totalFee: 0, netAmount: 1_000 }, reference: endToEndId(3) },
    { ...TRANSFER, startImplied: true, paidAt: AT },
  ],
  'webhook-delivery': [0, 1, 2, 3, 4, 5].flatMap((failures) => [
    { failures, retryAfterMs: 0, scale: 1 },
    { failures, retryAfterMs: 7_200_000, scale: 0.001 },
  ]),
};

/** Different data for the same event, since contexts are made of it. */
function eventsOf(type: string): { type: string }[] {
  const data = [
    {},
    { endToEndId: endToEndId(4), paidAt: AT, amount: 10_000, payer: PAYER, reason: 'why' },
    { endToEndId: endToEndId(5) },
  ];
  return data.map((each, index) => ({ type, at: AT, data: each, retryAfterMs: index * 90_000, scale: 1 }));
}

/** What XState's executable actions come to, in the shape of a step. */
function stepOf([snapshot, actions]: [unknown, { type: string; params?: unknown }[]]): Step {
  const { value, context } = snapshot as { value: string; context: object };
  const step: Step = { value, context, actions: [], started: [], ended: [], raised: null };
  for (const { type, params } of actions) {
    const { id, delay, sendId, event } = (params ?? {}) as {
      id?: string;
      delay?: number;
      sendId?: string;
      event?: { type: string };
    };
    if (type === 'xstate.cancel') step.ended.push(String(sendId));
    else if (type !== 'xstate.raise') step.actions.push({ type, params });
    else if (delay !== undefined) step.started.push({ name: String(id), delayMs: delay });
    else step.raised ??= event?.type ?? null;
  }
  return step;
}

function stored(machine: MachineName, value: string, context: object): Snapshot {
  return frozen({ machine, version: versionOf(machine), value, context });
}

const NAMES = Object.keys(machines) as MachineName[];

/** Every state, context and event of a chart, with what XState's own function says. */
function* cases(name: MachineName): Generator<{ what: string; snapshot: Snapshot; event: { type: string } }> {
  const machine: AnyStateMachine = machines[name];
  const states = Object.keys(machine.root.states);
  const types = new Set(Object.values(machine.root.states).flatMap((state) => state.ownEvents as string[]));
  for (const value of states) {
    for (const context of CONTEXTS[name]) {
      for (const event of [...types, 'NOBODY_KNOWS'].flatMap(eventsOf)) {
        yield { what: `${name} ${value} ${event.type}`, snapshot: stored(name, value, context), event };
      }
    }
  }
}

for (const name of NAMES) {
  const machine: AnyStateMachine = machines[name];

  s(`${name}: a beginning is what initialTransition says`, () => {
    for (const context of CONTEXTS[name]) {
      assert.equal(begin(name, frozen(context)), stepOf(initialTransition(machine, context)));
    }
  });

  s(`${name}: each step is what transition says, and it is null where that changes nothing`, () => {
    let taken = 0;
    for (const { what, snapshot, event } of cases(name)) {
      const before = machine.resolveState({ value: snapshot.value, context: snapshot.context });
      const theirs = stepOf(transition(machine, before, event));
      const ours = take(snapshot, event);
      if (ours !== null) {
        taken += 1;
        assert.equal(ours, theirs, what);
      } else {
        assert.equal(
          { ...theirs, context: snapshot.context },
          { ...idle(snapshot), context: snapshot.context },
          what,
        );
        assert.is(theirs.context, before.context, what);
      }
    }
    assert.ok(taken >= CONTEXTS[name].length, 'nothing was taken');
  });
}

function idle({ value, context }: Snapshot): Step {
  return { value, context, actions: [], started: [], ended: [], raised: null };
}

s('calls on several machines in turn leave nothing behind in one another', () => {
  const alone = NAMES.map((name) => [...cases(name)].map(({ snapshot, event }) => take(snapshot, event)));
  const lists = NAMES.map((name) => [...cases(name)]);
  const longest = Math.max(...lists.map((list) => list.length));
  const mixed: (Step | null)[][] = NAMES.map(() => []);
  for (let index = 0; index < longest; index += 1) {
    for (const [which, list] of lists.entries()) {
      const each = list[index];
      if (each === undefined) continue;
      mixed[which]?.push(take(each.snapshot, each.event));
      begin(
        NAMES[(which + 1) % NAMES.length] as MachineName,
        CONTEXTS[NAMES[(which + 1) % NAMES.length] as MachineName][0] ?? {},
      );
    }
  }
  assert.equal(mixed, alone);
});

s('a step that was given stays as it was, whatever is taken afterwards', () => {
  const first = take(stored('cashout', 'pending', TRANSFER), eventsOf('SETTLE')[0] as { type: string });
  const kept = structuredClone(first);
  take(stored('cashout', 'pending', { ...TRANSFER, amount: 5 }), eventsOf('REJECT')[0] as { type: string });
  begin('cashout', { ...TRANSFER, amount: 7 });
  assert.equal(first, kept);
});

s('a call inside another one, from a migration, disturbs neither', () => {
  const inner: (Step | null)[] = [];
  withMigration(
    'cashout@0',
    (old) => {
      inner.push(take(stored('cashout', 'processing', TRANSFER), eventsOf('FAIL')[0] as { type: string }));
      return { ...old, version: '1' };
    },
    () => {
      const [event] = eventsOf('SETTLE') as [{ type: string }];
      const old = { ...stored('cashout', 'pending', TRANSFER), version: '0' };
      assert.equal(take(old, event), take(stored('cashout', 'pending', TRANSFER), event));
      assert.is(inner[0]?.value, 'failed');
    },
  );
});

s('nothing is allowed and nothing is final in what nobody knows', () => {
  assert.equal(allowedTypes('pix-out', 'paid'), []);
  assert.equal(allowedTypes('pix-in', 'lost'), []);
  assert.equal([isEnded('pix-out', 'paid'), isEnded('pix-in', 'lost')], [false, false]);
});

s('a timer comes back as the event that XState named', () => {
  const { started } = begin('pix-in', CHARGE);
  assert.is(started.length, 1);
  assert.is(started[0]?.delayMs, 60_000);
  const expired = take(stored('pix-in', 'waiting_payment', CHARGE), { type: started[0]?.name ?? '' });
  assert.is(expired?.value, 'expired');
});

s.run();
