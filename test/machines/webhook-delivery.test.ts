/** The statechart of deliveries against the contract's schedule: every transition, on every path. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { type DeliveryContext, webhookDelivery } from '../../machines/webhook-delivery.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { allowedTypes, begin, isEnded, type Step, take } from '../../src/engine/chart.ts';
import type { DeliveryAttempt, DeliveryRecord } from '../../src/engine/store/deliveries.ts';
import { attempted, newDelivery, revived, urlRemoved, wantsAttempt } from '../../src/webhooks/delivery.ts';
import { frozen, START } from '../engine/support.ts';
import {
  CASHOUT_MESSAGES,
  DELIVERY_MESSAGES,
  DELIVERY_ROWS,
  DELIVERY_STATES,
  type DeliveryRow,
  PIX_IN_MESSAGES,
  VERDICTS,
} from './contract-tables.ts';
import { eventTypesOf, type ModelPath, modelOf, pathsOf, typesOf } from './model.ts';

const s = suite('webhook-delivery statechart');

const RETRY = 'xstate.after.retry.webhook-delivery.retrying';
const FRESH: DeliveryContext = { failures: 0, retryAfterMs: 0, scale: 1 };
const types = eventTypesOf(webhookDelivery, DELIVERY_MESSAGES);

function eventOf(type: string): EventObject {
  const failure = { retryAfterMs: 0, scale: 1 };
  return type === 'FAILED' ? { type, ...failure } : { type };
}

/** A scale of its own before the first failure, so that simple paths lead through a revived round, too. */
const input: DeliveryContext = { ...FRESH, scale: 0 };
const paths = pathsOf(modelOf({ machine: webhookDelivery, input, eventOf }));

function attempt(statusCode: number | null, at: number): DeliveryAttempt {
  return {
    at: new Date(at).toISOString(),
    statusCode,
    error: statusCode === null ? 'TIMEOUT' : null,
    durationMs: 3,
  };
}

const STATUS: Record<string, number> = { ACCEPTED: 200, DECLINED: 404, FAILED: 500 };

function rowOf(from: string, type: string, failures: number): DeliveryRow | null {
  return (
    DELIVERY_ROWS.find(
      (row) => row.from === from && row.message === type && (row.failures ?? failures) === failures,
    ) ?? null
  );
}

/** Sends one event through the functions that the dispatcher and ops call. */
function send(record: DeliveryRecord, type: string, now: number): DeliveryRecord | null {
  if (type === 'REVIVE') return revived(record, now);
  if (type === 'URL_REMOVED') return urlRemoved(record, now);
  const statusCode = STATUS[type];
  if (statusCode === undefined) throw new Error(`nobody sends ${type}`);
  return attempted(record, attempt(statusCode, now), null, 1, now);
}

/** What a walk is in: the record, the time, and the table's lines that it took. */
interface Walk {
  record: DeliveryRecord;
  now: number;
  walked: string[];
}

function assertIsNew({ record, now }: Walk): void {
  assert.equal([record.status, wantsAttempt(record, now)], ['pending', true]);
}

/** Waiting is over when the clock's turn comes. */
function wait(walk: Walk): void {
  const { record } = walk;
  if (record.status !== 'retrying') throw new Error(`an attempt in ${record.status}`);
  if (record.nextAttemptAt !== null) walk.now = Date.parse(record.nextAttemptAt);
  assert.ok(wantsAttempt(record, walk.now), 'the time has come');
  walk.walked.push('retrying ATTEMPT');
}

/** Sends one event of the path; what it does must be a line of the table. */
function step(walk: Walk, type: string): void {
  const { record, now } = walk;
  const row = rowOf(record.status, type, record.failures);
  if (row === null) throw new Error(`the contract has no ${type} in ${record.status}`);
  const next = send(frozen(record), type, now);
  if (next === null) throw new Error(`${type} was not taken in ${record.status}`);
  const nextAttemptAt = row.retryMs === null ? null : new Date(now + row.retryMs).toISOString();
  assert.equal([next.status, next.nextAttemptAt], [row.to, nextAttemptAt], `${row.from} ${type}`);
  assert.is(next.deliveredAt, type === 'ACCEPTED' ? new Date(now).toISOString() : null);
  assert.is(next.attempts.length, record.attempts.length + (type in STATUS ? 1 : 0));
  assert.is(next.failures, type === 'REVIVE' ? 0 : record.failures + (type === 'FAILED' ? 1 : 0));
  walk.walked.push(`${row.from} ${type} ${row.failures}`);
  walk.record = next;
}

/** Runs a path of the model, each step held against the table; `arrived` is called in each state on the way. */
function walkPath(path: ModelPath, arrived: (walk: Walk) => void): Walk {
  const walk: Walk = { record: newDelivery('dlv_1', 'account', 'transaction'), now: START, walked: [] };
  const senders = types.map((type) => {
    const isWait = type === RETRY || type === 'ATTEMPT';
    return [type, () => (isWait ? wait(walk) : step(walk, type))] as const;
  });
  const checks = DELIVERY_STATES.map((state) => {
    const check = ({ context, status }: AnyMachineSnapshot): void => {
      assert.equal([walk.record.status, walk.record.failures], [state, context.failures]);
      assert.is(status, 'active', `${state} is no end`);
      arrived(walk);
    };
    return [state, check] as const;
  });
  const isUnknown = ({ value }: AnyMachineSnapshot): never => {
    throw new Error(`the contract has no state ${value}`);
  };
  path.testSync({
    events: { 'xstate.init': () => assertIsNew(walk), ...Object.fromEntries(senders) },
    states: { ...Object.fromEntries(checks), '*': isUnknown },
  });
  return walk;
}

/** Whatever the table doesn't take in the present state changes nothing. */
function assertTakesNothingElse({ record, now }: Walk): void {
  const before = canonicalJson(record);
  frozen(record);
  for (const type of ['REVIVE', 'URL_REMOVED']) {
    if (rowOf(record.status, type, record.failures) === null) assert.is(send(record, type, now), null, type);
  }
  for (const type of Object.keys(STATUS)) {
    if (rowOf(record.status, type, record.failures) !== null) continue;
    assert.throws(() => send(record, type, now), /has no attempt/, `${type} in ${record.status}`);
  }
  const canAttempt = record.status === 'pending' || record.status === 'retrying';
  assert.is(wantsAttempt(record, now + 100 * 3_600_000), canAttempt, record.status);
  assert.is(canonicalJson(record), before);
}

s('every path keeps the schedule', () => {
  const seen = new Set<string>();
  const walked = new Set<string>();
  for (const path of paths) {
    const walk = walkPath(path, ({ record }) => seen.add(record.status));
    for (const line of walk.walked) walked.add(line);
  }
  assert.equal([...seen].sort(), [...DELIVERY_STATES].sort());
  for (const { from, message, failures } of DELIVERY_ROWS) {
    const line = message === 'ATTEMPT' ? 'retrying ATTEMPT' : `${from} ${message} ${failures}`;
    assert.ok(walked.has(line), `nobody walked ${line}`);
  }
  assert.equal([...new Set(paths.flatMap(typesOf))].sort(), [...DELIVERY_MESSAGES, RETRY].sort());
});

s('in every state of every path, what the table lacks changes nothing', () => {
  for (const path of paths) walkPath(path, assertTakesNothingElse);
});

/** What the chart does in each state for each number of failures. */
function drawn(): { from: string; failures: number; type: string; step: Step }[] {
  return DELIVERY_STATES.flatMap((from) =>
    [0, 1, 2, 3, 4].flatMap((failures) =>
      types.flatMap((type) => {
        const snapshot = {
          machine: 'webhook-delivery',
          version: '1',
          value: from,
          context: { ...FRESH, failures },
        };
        const step = take(snapshot, eventOf(type));
        return step === null ? [] : [{ from, failures, type, step }];
      }),
    ),
  );
}

/** States and failures that a round can come to: nothing is retried before a failure, nothing pends after one. */
function isPossible({ from, failures }: { from: string; failures: number }): boolean {
  if (from === 'pending') return failures === 0;
  return from !== 'retrying' || failures > 0;
}

s('chart and table have the same transitions, and nothing more', () => {
  const lines = drawn().filter(isPossible);
  for (const { from, failures, type, step } of lines) {
    const row = rowOf(from, type === RETRY ? 'ATTEMPT' : type, failures);
    if (row === null) throw new Error(`the contract has no ${type} in ${from}`);
    assert.is(step.value, row.to, `${from} ${type} ${failures}`);
    assert.is(
      step.actions.some((action) => action.type === 'attempt'),
      row.attempt,
      `${from} ${type}`,
    );
    assert.is(step.started[0]?.delayMs ?? null, row.retryMs, `${from} ${type} ${failures}`);
  }
  for (const { from, message, failures } of DELIVERY_ROWS) {
    const found = lines.some(
      (line) => line.from === from && line.type === message && line.failures === (failures ?? line.failures),
    );
    assert.ok(found, `the chart has no ${message} in ${from}`);
  }
  assert.equal(Object.keys(webhookDelivery.root.states).sort(), [...DELIVERY_STATES].sort());
});

s('no state takes what is meant for transactions, and each takes what its lines say', () => {
  const foreign = [...PIX_IN_MESSAGES, ...CASHOUT_MESSAGES];
  for (const value of DELIVERY_STATES) {
    const snapshot = { machine: 'webhook-delivery', version: '1', value, context: FRESH };
    for (const type of foreign) assert.is(take(snapshot, { type }), null, `${type} in ${value}`);
    const lines = DELIVERY_ROWS.filter(({ from }) => from === value).map(({ message }) => message);
    assert.equal([...allowedTypes('webhook-delivery', value)].sort(), [...new Set(lines)].sort(), value);
    assert.is(isEnded('webhook-delivery', value), false, 'a dead letter may be sent again');
  }
});

s('the timer does nothing but raise ATTEMPT', () => {
  const snapshot = {
    machine: 'webhook-delivery',
    version: '1',
    value: 'retrying',
    context: { ...FRESH, failures: 1 },
  };
  const byTimer = take(snapshot, { type: RETRY });
  assert.is(byTimer?.raised, 'ATTEMPT');
  assert.equal({ ...byTimer, raised: null }, take(snapshot, { type: 'ATTEMPT' }));
  assert.equal(take(snapshot, { type: 'ATTEMPT' })?.started, []);
  assert.equal(
    begin('webhook-delivery', FRESH).actions.map(({ type }) => type),
    ['attempt'],
  );
});

s('answers are judged as the contract says', () => {
  const to: Record<string, string> = { ACCEPTED: 'delivered', DECLINED: 'rejected', FAILED: 'retrying' };
  for (const { statusCode, message } of VERDICTS) {
    const record = attempted(newDelivery('d', 'a', 't'), attempt(statusCode, START), null, 1, START);
    assert.is(record.status, to[message], String(statusCode));
  }
});

s('Retry-After counts where it is later than the schedule, up to 24 hours', () => {
  const after = (retryAfterMs: number | null, scale = 1): number => {
    const record = attempted(newDelivery('d', 'a', 't'), attempt(429, START), retryAfterMs, scale, START);
    return Date.parse(record.nextAttemptAt ?? '') - START;
  };
  assert.equal([after(null), after(59_999), after(60_001)], [60_000, 60_000, 60_001]);
  assert.equal([after(86_400_000), after(86_400_001), after(9e12)], [86_400_000, 86_400_000, 86_400_000]);
  assert.equal([after(null, 0.001), after(500, 0.001)], [60, 500]);
});

s('a Retry-After is not remembered: the next delay is the schedule again', () => {
  const first = attempted(newDelivery('d', 'a', 't'), attempt(429, START), 3_600_000, 1, START);
  const second = attempted(first, attempt(500, START), null, 1, START);
  assert.is(Date.parse(second.nextAttemptAt ?? '') - START, 300_000);
});

s('never an attempt before its time', () => {
  const record = attempted(newDelivery('d', 'a', 't'), attempt(500, START), null, 1, START);
  assert.equal([wantsAttempt(record, START + 59_999), wantsAttempt(record, START + 60_000)], [false, true]);
});

s('a revived delivery has five attempts again, and its old ones stay on record', () => {
  let record = newDelivery('d', 'a', 't');
  for (let round = 1; round <= 2; round += 1) {
    for (let n = 1; n <= 5; n += 1) {
      assert.is.not(record.status, 'dead');
      record = attempted(record, attempt(500, START), null, 1, START);
    }
    assert.equal([record.status, record.attempts.length], ['dead', round * 5]);
    record = revived(record, START) ?? record;
  }
  assert.equal([record.status, record.failures, record.nextAttemptAt], ['pending', 0, null]);
});

s.run();
