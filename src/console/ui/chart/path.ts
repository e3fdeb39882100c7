/** Which lines of a drawing a transaction has walked: from its entries, oldest first. */
import type { Entry } from '../../shapes.ts';
import type { Drawing, Edge } from './geometry.ts';

/** An entry with what names it: one batch may hold several of a transaction. */
export interface KeyedEntry extends Entry {
  key: string;
}

/** Names entries, newest first as they come; batches come whole, so a name stays whatever comes before or after. */
export function keyed(entries: readonly Entry[]): KeyedEntry[] {
  const counts = new Map<number, number>();
  const named = entries.toReversed().map((entry) => {
    const number = (counts.get(entry.seq) ?? 0) + 1;
    counts.set(entry.seq, number);
    return { ...entry, key: `${entry.seq}.${number}` };
  });
  return named.reverse();
}

/** What one entry walked: lines of the drawing, in order, or a message that its state took and stayed. */
export interface Step {
  key: string;
  message: string;
  at: string;
  /** Indexes of the drawing's edges. */
  edges: number[];
  /** Where the state stayed: which one took the message. */
  stayed: string | null;
  to: string;
}

function indexOf(edges: readonly Edge[], from: string | null, to: string): number {
  return edges.findIndex((edge) => edge.from === from && edge.to === to);
}

/** The lines that bear a message, from one state on to another: a SETTLE before the START implies the START. */
function followed(edges: readonly Edge[], message: string, from: string, to: string): number[] {
  const walked: number[] = [];
  let at = from;
  while (at !== to) {
    const next = edges.findIndex(
      (edge, index) =>
        edge.from === at && !walked.includes(index) && edge.labels.some((label) => label.message === message),
    );
    const edge = edges[next];
    if (edge === undefined) return [];
    walked.push(next);
    at = edge.to;
  }
  return walked;
}

function stepOf({ edges, states }: Drawing, entry: KeyedEntry): Step {
  const { key, at, from, to } = entry;
  const message = entry.message.type;
  const step: Step = { key, message, at, edges: [], stayed: null, to };
  if (from === to) {
    const state = states.find(({ id }) => id === to);
    const takes = state?.stays.some((label) => label.message === message) === true;
    return { ...step, stayed: takes ? to : null };
  }
  const direct = indexOf(edges, from, to);
  if (direct >= 0) return { ...step, edges: [direct] };
  return from === null ? step : { ...step, edges: followed(edges, message, from, to) };
}

/** The steps of a path, of entries oldest first: a refused message is none. */
export function stepsOf(drawing: Drawing, entries: readonly KeyedEntry[]): Step[] {
  return entries.filter(({ refusal }) => refusal === null).map((entry) => stepOf(drawing, entry));
}

/** A timer's name as the charts' authors gave it: a stored one says of which state it is, too. */
export function timerName(stored: string): string {
  const [, name] = /^xstate\.after\.([^.]+)\./.exec(stored) ?? [];
  return name ?? stored;
}

/** What is known of a drawing's parts once a path has been walked. */
export interface Walked {
  edges: ReadonlySet<number>;
  /** `edge message`: of the labels beside an edge those that were taken. */
  labels: ReadonlySet<string>;
  states: ReadonlySet<string>;
  /** `state message` */
  stays: ReadonlySet<string>;
  last: Step | null;
}

export function walkedBy(drawing: Drawing, steps: readonly Step[]): Walked {
  const edges = new Set<number>();
  const labels = new Set<string>();
  const states = new Set<string>();
  const stays = new Set<string>();
  for (const step of steps) {
    for (const index of step.edges) {
      edges.add(index);
      labels.add(`${index} ${step.message}`);
      const { from, to } = drawing.edges[index] ?? { from: null, to: step.to };
      if (from !== null) states.add(from);
      states.add(to);
    }
    states.add(step.to);
    if (step.stayed !== null) stays.add(`${step.stayed} ${step.message}`);
  }
  return { edges, labels, states, stays, last: steps.at(-1) ?? null };
}
