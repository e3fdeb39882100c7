/**
 * Statecharts as pure functions: snapshot and event in, snapshot and actions out. Nothing runs here.
 *
 * XState's exported `transition` builds an actor and a system for every call; the machine's own methods with
 * one inert scope give the same in a fifth of the time (`test/engine/chart.test.ts` compares both on every
 * transition). That is why xstate's version is pinned and why nobody else calls these methods.
 */

import { type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';
import {
  type MachineName,
  type Migration,
  machines,
  migrations,
  released,
  type Snapshot,
} from '../../machines/index.ts';
import { textOf } from '../errors.ts';

/** An action that a transition asks for, as data. */
export interface ChartAction {
  type: string;
  params: unknown;
}

/** A delayed message of a state's `after`: `name` identifies it, `delayMs` counts from now. */
export interface ChartTimer {
  name: string;
  delayMs: number;
}

/** A statechart's answer to a message. */
export interface Step {
  value: string;
  context: object;
  /** Named actions in order, without XState's own. */
  actions: ChartAction[];
  /** Timers that start with this step. */
  started: ChartTimer[];
  /** Names of timers that end with it. */
  ended: string[];
  /** The first message that the chart sent itself on the way: what a timer stands for. Null: none. */
  raised: string | null;
}

/** A message as a statechart gets it: its type, and the parts that actions read. */
export type ChartEvent = { type: string; [part: string]: unknown };

/** A snapshot that no known statechart can read: it is quarantined, never lost. */
export class UnreadableSnapshot extends Error {}

/** The statecharts that something is decided with. */
export interface Charts {
  machines: Readonly<Record<string, AnyStateMachine>>;
  migrations: Readonly<Record<string, Migration>>;
  /** Version 1 took money back whole, or not at all. */
  takesParts: boolean;
  /** Former builds didn't look among a charge's refunds for the bank's id of a return. */
  findsReturns: boolean;
}

/** Those of today. */
export const PRESENT: Charts = { machines, migrations, takesParts: true, findsReturns: true };

/** The same, as builds decided with them that booked a return once more where a refund was done by it. */
export const WITHOUT_RETURNS: Charts = { ...PRESENT, findsReturns: false };

/** Those that a released version had; null: it had the present ones, or nobody knows it. */
export function chartsOf(version: string): Charts | null {
  const former = Object.hasOwn(released, version) ? released[version] : undefined;
  return former === undefined
    ? null
    : { machines: former, migrations: {}, takesParts: false, findsReturns: false };
}

interface Collector {
  scope: AnyActorScope;
  actions: { type: string; params: unknown }[];
}

const collectors = new Map<AnyStateMachine, Collector>();

/** One inert scope for each machine; its actions go to a list that is emptied before each call. */
function collectorOf(machine: AnyStateMachine, input: object): Collector {
  const known = collectors.get(machine);
  if (known) {
    known.actions = [];
    return known;
  }
  const self = createActor(machine, { input });
  const collector: Collector = {
    actions: [],
    scope: {
      self,
      id: '',
      sessionId: '',
      system: self.system,
      logger: () => {},
      defer: () => {},
      emit: () => {},
      stopChild: () => {},
      actionExecutor: (action) => {
        collector.actions.push({ type: action.type, params: action.params });
      },
    },
  };
  collectors.set(machine, collector);
  return collector;
}

function toStep(snapshot: AnyMachineSnapshot, raw: { type: string; params: unknown }[]): Step {
  if (snapshot.status === 'error') throw snapshot.error;
  const step: Step = {
    value: snapshot.value as string,
    context: snapshot.context,
    actions: [],
    started: [],
    ended: [],
    raised: null,
  };
  for (const action of raw) {
    if (action.type === 'xstate.raise') {
      const { id, delay, event } = action.params as { id?: string; delay?: number; event: { type: string } };
      if (delay !== undefined && id !== undefined) step.started.push({ name: id, delayMs: delay });
      // A raise without a delay is listed too, but XState has taken it already.
      else step.raised ??= event.type;
    } else if (action.type === 'xstate.cancel') {
      step.ended.push((action.params as { sendId: string }).sendId);
    } else if (!action.type.startsWith('xstate.')) {
      step.actions.push(action);
    }
  }
  return step;
}

function machineOf(name: string, charts: Charts): AnyStateMachine {
  const machine = Object.hasOwn(charts.machines, name) ? charts.machines[name] : undefined;
  if (machine === undefined) throw new UnreadableSnapshot(`no statechart is called ${name}`);
  return machine;
}

/** The version of a machine's statechart. */
export function versionOf(name: MachineName, charts: Charts = PRESENT): string {
  return machineOf(name, charts).version ?? '';
}

/** A new actor: its first state and what that asks for. */
export function begin(name: MachineName, context: object, charts: Charts = PRESENT): Step {
  const machine = machineOf(name, charts);
  const collector = collectorOf(machine, context);
  const snapshot = machine.getInitialSnapshot(collector.scope, context) as AnyMachineSnapshot;
  return toStep(snapshot, collector.actions);
}

/** More versions than any chart will have: a migration that leads in a circle ends here. */
const MAX_MIGRATIONS = 1_000;

function migrated(snapshot: Snapshot, machine: AnyStateMachine, charts: Charts, steps: number): Snapshot {
  const from = `${snapshot.machine} ${snapshot.version}`;
  const migrate = charts.migrations[`${snapshot.machine}@${snapshot.version}`];
  if (!migrate) throw new UnreadableSnapshot(`no migration from ${from} to ${machine.version}`);
  let next: Snapshot | undefined;
  try {
    next = migrate(snapshot);
  } catch (error) {
    throw new UnreadableSnapshot(`the migration from ${from} failed: ${String(error)}`);
  }
  const isSound = typeof next === 'object' && next !== null && next.machine === snapshot.machine;
  if (!isSound || steps >= MAX_MIGRATIONS)
    throw new UnreadableSnapshot(`the migration from ${from} leads nowhere`);
  return next;
}

/**
 * Brings a stored snapshot up to the present version of its machine.
 * @throws UnreadableSnapshot where machine, version or state are unknown, or a migration fails.
 */
export function upToDate(snapshot: Snapshot, charts: Charts = PRESENT): Snapshot {
  let current = snapshot;
  const machine = machineOf(snapshot.machine, charts);
  for (let steps = 0; current.version !== machine.version; steps++)
    current = migrated(current, machine, charts, steps);
  if (typeof current.value !== 'string' || !Object.hasOwn(machine.root.states, current.value)) {
    throw new UnreadableSnapshot(
      `${current.machine} ${current.version} has no state ${String(current.value)}`,
    );
  }
  return current;
}

/** Restored snapshots by machine, version and state: finding a state's nodes is most of what restoring costs. */
const templates = new Map<string, AnyMachineSnapshot>();

function restore(
  snapshot: Snapshot,
  charts: Charts,
): { machine: AnyStateMachine; resolved: AnyMachineSnapshot } {
  const current = upToDate(snapshot, charts);
  const machine = machineOf(current.machine, charts);
  const key = `${current.machine} ${current.version} ${current.value}`;
  let template = templates.get(key);
  if (template === undefined) {
    template = machine.resolveState({ value: current.value, context: {} });
    templates.set(key, template);
  }
  // Of a restored snapshot only the context is its own.
  return { machine, resolved: { ...template, context: current.context } };
}

/**
 * One message to a stored actor; null where the present state doesn't take it.
 * @throws UnreadableSnapshot where the snapshot can't be restored or the statechart throws.
 */
export function take(snapshot: Snapshot, event: ChartEvent, charts: Charts = PRESENT): Step | null {
  const { machine, resolved } = restore(snapshot, charts);
  try {
    const collector = collectorOf(machine, snapshot.context);
    const next = machine.transition(resolved, event, collector.scope) as AnyMachineSnapshot;
    // A message that isn't taken leaves the very same snapshot, and asks for nothing.
    if (next === resolved && collector.actions.length === 0) return null;
    return toStep(next, collector.actions);
  } catch (error) {
    throw new UnreadableSnapshot(`the statechart failed: ${textOf(error)}`);
  }
}

/** Timers of a state as the present chart has them, counted from when the state was entered. */
export function timersOf(snapshot: Snapshot, charts: Charts = PRESENT): ChartTimer[] {
  const { machine, resolved } = restore(snapshot, charts);
  const { delays } = machine.implementations;
  return resolved._nodes.flatMap((node) =>
    node.after.map(({ delay, eventType }) => {
      const named = typeof delay === 'string' ? delays[delay] : delay;
      const ms =
        typeof named === 'function'
          ? named({ context: snapshot.context } as never, undefined as never)
          : named;
      return { name: eventType, delayMs: Number(ms) };
    }),
  );
}

function statesOf(
  machine: string,
): Record<string, { ownEvents: readonly string[]; tags: readonly string[] }> {
  return Object.hasOwn(machines, machine) ? machines[machine as MachineName].root.states : {};
}

/** What was asked of a state once; each message is asked about twice. */
const allowed = new Map<string, readonly string[]>();

/** Message types that a state has transitions for, in the statechart's order; timers of `after` are not among them. */
export function allowedTypes(machine: string, value: string): readonly string[] {
  const known = allowed.get(`${machine} ${value}`);
  if (known !== undefined) return known;
  const events = statesOf(machine)[value]?.ownEvents;
  if (events === undefined) return [];
  const types = events.filter((type) => !type.startsWith('xstate.'));
  allowed.set(`${machine} ${value}`, types);
  return types;
}

/** Whether a state counts as the transaction's end: it waits for nothing, though the bank may have later words. */
export function isEnded(machine: string, value: string): boolean {
  return statesOf(machine)[value]?.tags.includes('ended') === true;
}
