/**
 * Draws the statecharts of `machines/` for the console: layered, orthogonal, from left to right and, for phones, from
 * top to bottom. It runs when the package is built, so that no layout is worked out in a browser.
 *
 *   node --import tsx scripts/charts.ts FILE
 */
import { writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import elk, { type ElkEdgeSection, type ElkExtendedEdge, type ElkNode } from 'elkjs';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { machines } from '../machines/index.ts';
import type { Charts, Drawing, Edge, Label, State } from '../src/console/ui/chart/geometry.ts';

/** A transition of a chart: from a state by a message to another, or to none where the state stays. */
export interface Transition {
  from: string;
  to: string | null;
  message: string;
  /** The timer that raises the message, where one does. */
  timer?: string;
}

/** Widths of letters at the sizes of the style sheet: 12 px for names of states, 11 px monospaced for messages. */
const LETTER = { title: 7.3, label: 6.7, stay: 6.1 };
const LINE = { title: 30, label: 14, stay: 13 };
const START_RADIUS = 5;
const CORNER = 6;
const HEAD = { length: 8, half: 3.5 };

/** What raises which message: `after` of a state names an action, and the action raises. */
function raisedBy(machine: AnyStateMachine, node: AnyStateNode): Map<string, string> {
  const raised = new Map<string, string>();
  for (const { delay, actions } of node.after)
    for (const action of actions) {
      const name = typeof action === 'string' ? action : 'type' in action ? String(action.type) : '';
      const done = machine.implementations.actions[name] as { event?: { type?: string } } | undefined;
      if (done?.event?.type !== undefined) raised.set(done.event.type, String(delay));
    }
  return raised;
}

/** All transitions of a machine, each once: several guards of one message to one state are one line to a reader. */
export function transitionsOf(machine: AnyStateMachine): Transition[] {
  const found = new Map<string, Transition>();
  for (const node of Object.values(machine.root.states) as AnyStateNode[]) {
    const raised = raisedBy(machine, node);
    const clocked = new Set(node.after.map(({ eventType }) => eventType));
    for (const [message, candidates] of node.transitions) {
      if (clocked.has(message)) continue;
      for (const { target } of candidates) {
        const to = target?.[0]?.key ?? null;
        const timer = raised.get(message);
        const transition = { from: node.key, to: to === node.key ? null : to, message };
        found.set(JSON.stringify(transition), timer === undefined ? transition : { ...transition, timer });
      }
    }
  }
  return [...found.values()];
}

function widthOf(labels: readonly Transition[], letter: number): number {
  return Math.max(0, ...labels.map(({ message, timer }) => message.length * letter + (timer ? 15 : 0)));
}

function nodeOf(node: AnyStateNode, transitions: readonly Transition[]): ElkNode {
  const stays = transitions.filter(({ from, to }) => from === node.key && to === null);
  const width = Math.max(node.key.length * LETTER.title + 30, widthOf(stays, LETTER.stay) + 38);
  const height = LINE.title + (stays.length === 0 ? 0 : stays.length * LINE.stay + 8);
  return { id: node.key, width: Math.round(width), height };
}

/** One line a pair of states, with the messages that it stands for. */
function pairsOf(transitions: readonly Transition[]): Map<string, Transition[]> {
  const pairs = new Map<string, Transition[]>();
  for (const transition of transitions) {
    if (transition.to === null) continue;
    const id = `${transition.from} ${transition.to}`;
    pairs.set(id, [...(pairs.get(id) ?? []), transition]);
  }
  return pairs;
}

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.layered.cycleBreaking.strategy': 'DEPTH_FIRST',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.thoroughness': '60',
  'elk.spacing.edgeLabel': '4',
  'elk.padding': '[top=10,left=10,bottom=10,right=10]',
};

const SPACING = {
  RIGHT: {
    'elk.spacing.nodeNode': '18',
    'elk.spacing.edgeNode': '14',
    'elk.spacing.edgeEdge': '10',
    'elk.layered.spacing.nodeNodeBetweenLayers': '26',
    'elk.layered.spacing.edgeNodeBetweenLayers': '12',
    'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
  },
  DOWN: {
    'elk.spacing.nodeNode': '12',
    'elk.spacing.edgeNode': '10',
    'elk.spacing.edgeEdge': '8',
    'elk.layered.spacing.nodeNodeBetweenLayers': '20',
    'elk.layered.spacing.edgeNodeBetweenLayers': '12',
    'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
  },
};

type Direction = keyof typeof SPACING;

const START = '(start)';

function graphOf(machine: AnyStateMachine, direction: Direction): ElkNode {
  const transitions = transitionsOf(machine);
  const states = Object.values(machine.root.states) as AnyStateNode[];
  const edges: ElkExtendedEdge[] = [...pairsOf(transitions)].map(([id, labels]) => ({
    id,
    sources: [labels[0]?.from ?? ''],
    targets: [labels[0]?.to ?? ''],
    // A label without a text is given no place.
    labels: [
      {
        ...{ id: `${id} label`, text: id },
        ...{ width: widthOf(labels, LETTER.label) + 4, height: labels.length * LINE.label },
      },
    ],
  }));
  const initial = machine.root.initial.target[0]?.key ?? '';
  return {
    id: machine.id,
    layoutOptions: { ...OPTIONS, ...SPACING[direction], 'elk.direction': direction },
    children: [
      {
        id: START,
        width: 2 * START_RADIUS,
        height: 2 * START_RADIUS,
        layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST_SEPARATE' },
      },
      ...states.map((state) => nodeOf(state, transitions)),
    ],
    edges: [{ id: START, sources: [START], targets: [initial] }, ...edges],
  };
}

type Point = { x: number; y: number };

const short = (length: number): number => Math.round(length * 10) / 10;

/** A point so far from one on the way to the other. */
function toward(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return {
    x: from.x + ((to.x - from.x) / length) * distance,
    y: from.y + ((to.y - from.y) / length) * distance,
  };
}

/** The line with round corners, as far as the head of its arrow, and that head. */
function pathsOf({ startPoint, bendPoints = [], endPoint }: ElkEdgeSection): { line: string; head: string } {
  const before = bendPoints.at(-1) ?? startPoint;
  const neck = toward(endPoint, before, HEAD.length);
  const points = [startPoint, ...bendPoints, toward(endPoint, before, HEAD.length - 1)];
  const text = ({ x, y }: Point) => `${short(x)} ${short(y)}`;
  let line = `M${text(startPoint)}`;
  points.slice(1).forEach((point, index) => {
    const next = points[index + 2];
    if (next === undefined) {
      line += `L${text(point)}`;
      return;
    }
    const previous = points[index] ?? point;
    const room = Math.min(
      CORNER,
      Math.hypot(point.x - previous.x, point.y - previous.y) / 2,
      Math.hypot(next.x - point.x, next.y - point.y) / 2,
    );
    line += `L${text(toward(point, previous, room))}Q${text(point)} ${text(toward(point, next, room))}`;
  });
  const side = toward({ x: 0, y: 0 }, { x: endPoint.y - before.y, y: before.x - endPoint.x }, HEAD.half);
  const left = { x: neck.x + side.x, y: neck.y + side.y };
  const right = { x: neck.x - side.x, y: neck.y - side.y };
  return { line, head: `M${text(left)}L${text(endPoint)}L${text(right)}Z` };
}

function labelsOf(transitions: readonly Transition[], x: number, y: number, height: number): Label[] {
  return transitions.map(({ message, timer }, index) => {
    const label = { message, x: short(x), y: short(y + (index + 1) * height - 3) };
    return timer === undefined ? label : { ...label, timer };
  });
}

function stateOf(machine: AnyStateMachine, node: ElkNode, transitions: readonly Transition[]): State {
  const { id, x = 0, y = 0, width = 0, height = 0 } = node;
  const stays = transitions.filter(({ from, to }) => from === id && to === null);
  return {
    ...{ id, x: short(x), y: short(y), width, height },
    titleY: short(y + LINE.title / 2 + 4),
    ended: machine.root.states[id]?.tags.includes('ended') || transitions.every(({ from }) => from !== id),
    stays: labelsOf(stays, x + width / 2, y + LINE.title - 1, LINE.stay),
  };
}

function edgeOf(edge: ElkExtendedEdge, pairs: Map<string, Transition[]>): Edge {
  const [section] = edge.sections ?? [];
  if (section === undefined) throw new Error(`the edge ${edge.id} was not laid out`);
  const [label] = edge.labels ?? [];
  const { x = 0, y = 0, width = 0 } = label ?? {};
  return {
    from: edge.id === START ? null : (edge.sources[0] ?? null),
    to: edge.targets[0] ?? '',
    ...pathsOf(section),
    labels: labelsOf(pairs.get(edge.id) ?? [], x + width / 2, y, LINE.label),
  };
}

async function draw(machine: AnyStateMachine, direction: Direction): Promise<Drawing> {
  const transitions = transitionsOf(machine);
  const pairs = pairsOf(transitions);
  const {
    width = 0,
    height = 0,
    children = [],
    edges = [],
  } = await new elk.default().layout(graphOf(machine, direction));
  const start = children.find(({ id }) => id === START);
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    start: [short((start?.x ?? 0) + START_RADIUS), short((start?.y ?? 0) + START_RADIUS)],
    states: children.filter(({ id }) => id !== START).map((node) => stateOf(machine, node, transitions)),
    edges: edges.map((edge) => edgeOf(edge, pairs)),
  };
}

/** The newest version of each machine, drawn both ways. */
export async function drawAll(): Promise<Charts> {
  const charts: Record<string, Charts[string]> = {};
  for (const [name, machine] of Object.entries(machines) as [string, AnyStateMachine][]) {
    charts[name] = {
      version: Number(machine.version),
      wide: await draw(machine, 'RIGHT'),
      tall: await draw(machine, 'DOWN'),
    };
  }
  return charts;
}

if (argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(argv[2] ?? 'charts.json', JSON.stringify(await drawAll()));
