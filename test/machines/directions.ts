/** Holds a chart and a table against each other, both ways, without walking. */
import type { AnyStateMachine } from 'xstate';
import type { MachineName } from '../../machines/index.ts';
import { type Step, take } from '../../src/engine/chart.ts';

/** What a chart makes of every event in every state: `from EVENT -> to`, sorted. */
export function edgesOf(
  name: MachineName,
  machine: AnyStateMachine,
  context: object,
  eventOf: (type: string) => { type: string },
  types: readonly string[],
): { from: string; type: string; step: Step }[] {
  return Object.keys(machine.root.states).flatMap((from) =>
    types.flatMap((type) => {
      const snapshot = { machine: name, version: machine.version ?? '', value: from, context };
      const step = take(snapshot, eventOf(type));
      return step === null ? [] : [{ from, type, step }];
    }),
  );
}

/** The names of a step's events, in order. */
export function emitted(step: Step): string[] {
  return step.actions
    .filter(({ type }) => type === 'emit')
    .map(({ params }) => (params as { event: string }).event);
}
