/**
 * The charts as models of @xstate/test: its `TestModel` finds the paths through a chart and runs each of them
 * against what is tested.
 *
 * `createTestModel` of the same package refuses charts with `after`, and it fails at the first named action:
 * XState 5.33 hands each action to `actionExecutor` of the scope, which @xstate/test 1.0.0-beta.5 doesn't put
 * there. `TestModel` walks any actor logic, so it gets the chart's own functions with that hook added, and the
 * options that `createTestModel` would have set.
 */
import {
  createShortestPathsGen,
  createSimplePathsGen,
  type PathGenerator,
  TestModel,
  type TestPath,
} from '@xstate/test';
import type { ActorLogic, AnyActorScope, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';

import { PART_MESSAGES } from './contract-tables.ts';

export type Model = TestModel<AnyMachineSnapshot, EventObject, object>;
export type ModelPath = TestPath<AnyMachineSnapshot, EventObject>;

/** A chart to walk: what it begins with, and how its events look. */
export interface ModelParts {
  machine: AnyStateMachine;
  input: object;
  eventOf: (type: string) => EventObject;
}

/** The message types of a state, `xstate.after...` ones too, in the chart's order; parts are walked elsewhere. */
function ownTypesOf(machine: AnyStateMachine, state: string): string[] {
  const types: string[] = machine.root.states[state]?.ownEvents ?? [];
  return types.filter((type) => !PART_MESSAGES.includes(type));
}

/** Every event that any state names, `xstate.after...` ones too, and all the kind's messages. */
export function eventTypesOf(machine: AnyStateMachine, messages: readonly string[]): string[] {
  const named = Object.keys(machine.root.states).flatMap((state) => ownTypesOf(machine, state));
  return [...new Set([...named, ...messages])];
}

function scoped(scope: AnyActorScope): AnyActorScope {
  return { ...scope, actionExecutor: () => {} };
}

function logicOf(
  machine: AnyStateMachine,
  input: object,
): ActorLogic<AnyMachineSnapshot, EventObject, object> {
  return {
    getInitialSnapshot: (scope) => machine.getInitialSnapshot(scoped(scope), input),
    transition: (snapshot, event, scope) => machine.transition(snapshot, event, scoped(scope)),
    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

/** A place of the chart: its state and context. */
function placeOf({ value, context }: AnyMachineSnapshot): string {
  return JSON.stringify([value, context]);
}

/** A place and the transition that led there: with it each transition is a place of its own. */
function arrivalOf(snapshot: AnyMachineSnapshot, event?: EventObject, before?: AnyMachineSnapshot): string {
  return `${placeOf(snapshot)} by ${event?.type} from ${before && placeOf(before)}`;
}

/** More places than any chart has: one that counts for ever fails here instead of walking on. */
const MAX_PLACES = 10_000;

/** The model of a chart; in each state it is sent what that state names. */
export function modelOf({ machine, input, eventOf }: ModelParts): Model {
  return new TestModel(logicOf(machine, input), {
    events: (snapshot) => ownTypesOf(machine, String(snapshot.value)).map(eventOf),
    serializeState: placeOf,
    traversalLimit: MAX_PLACES,
    stateMatcher: (snapshot, state) => snapshot.value === state,
  });
}

/**
 * All simple paths, and for each transition a shortest one that ends with it: a simple path never takes a
 * transition that comes back to where it was.
 */
const everyTransition: PathGenerator<AnyMachineSnapshot, EventObject, object> = (logic, options) => [
  ...createSimplePathsGen<AnyMachineSnapshot, EventObject, object>()(logic, options),
  ...createShortestPathsGen<AnyMachineSnapshot, EventObject, object>()(logic, {
    ...options,
    serializeState: arrivalOf,
  }),
];

/** The paths that take every transition; what begins another path is not listed by itself. */
export function pathsOf(model: Model): ModelPath[] {
  return model.getPaths(everyTransition);
}

/** The path that takes these events one after the other, through places that it has been in, too. */
export function pathAlong(model: Model, events: readonly EventObject[]): ModelPath {
  const [path] = model.getPathsFromEvents([...events], model.options);
  if (path === undefined) throw new Error('the chart has no such path');
  return path;
}

/** The event types of a path, in order; the creation is not among them. */
export function typesOf(path: ModelPath): string[] {
  return path.steps.slice(1).map(({ event }) => event.type);
}
