/** A statechart with what a transaction has walked of it. Its classes carry the meaning; the style sheet shows it. */
import type { Timer } from '../../shapes.ts';
import type { Drawing, Edge, Label, State } from './geometry.ts';
import { type Step, timerName, type Walked } from './path.ts';

export interface ChartProps {
  drawing: Drawing;
  label: string;
  /** The state that it is in. */
  state: string;
  walked: Walked;
  /** Messages that the state takes; none where an earlier moment is shown. */
  allowed: readonly string[];
  timers: readonly Timer[];
  /** How large it may be drawn, at most; 1 is its own size. */
  scale?: number;
  /** A step that a reader points at. */
  pointed: Step | null;
  /** What a press on a possible message does, or on the arrow of several (null); absent where nothing can be done. */
  send?: (message: string | null) => void;
}

/** Names of the conditions that hold. */
function classes(...names: (string | false)[]): string {
  return names.filter((name) => name !== false).join(' ');
}

const CLOCK = 'M0-4.4A4.4 4.4 0 1 0 0 4.4 4.4 4.4 0 0 0 0-4.4M0-2.4V0l1.7 1.2';
/** Half of a letter of the labels, so that the clock stands before the first one. */
const HALF_LETTER = 3.3;

interface TextProps {
  label: Label;
  class: string;
  isRunning: boolean;
  /** A press sends the message: what keys do by a button beside the chart, whose parts no reader can reach. */
  send: ((message: string | null) => void) | undefined;
}

function Text({ label, class: name, isRunning, send }: TextProps) {
  const { message, x, y, timer } = label;
  const shift = timer === undefined ? 0 : 7;
  const press = send === undefined ? {} : { onClick: () => send(message) };
  return (
    <g class={classes(name, send !== undefined && 'can')} data-message={message} {...press}>
      {timer === undefined ? null : (
        <path
          class={classes('alarm', isRunning && 'running')}
          transform={`translate(${x - message.length * HALF_LETTER - 1} ${y - 4})`}
          d={CLOCK}
        />
      )}
      <text x={x + shift} y={y} text-anchor="middle">
        {message}
      </text>
    </g>
  );
}

function EdgeLine({ edge, index, chart }: { edge: Edge; index: number; chart: ChartProps }) {
  const { walked, allowed, state, pointed, timers } = chart;
  const isNext = (message: string) => edge.from === state && allowed.includes(message);
  const isWalked = walked.edges.has(index);
  const [next, another] = edge.labels.filter(({ message }) => isNext(message));
  const { send } = chart;
  const press =
    next === undefined || send === undefined
      ? {}
      : { onClick: () => send(another === undefined ? next.message : null) };
  const name = classes(
    'edge',
    isWalked && 'walked',
    walked.last?.edges.includes(index) === true && 'last',
    !isWalked && next !== undefined && 'next',
    pointed?.edges.includes(index) === true && 'pointed',
  );
  return (
    <g class={name} data-from={edge.from ?? ''} data-to={edge.to}>
      {'onClick' in press ? <path class="hit can" d={edge.line} {...press} /> : null}
      <path class="line" d={edge.line} />
      {isWalked ? <path class="flow" d={edge.line} /> : null}
      <path class="head" d={edge.head} />
      {edge.labels.map((label) => (
        <Text
          key={label.message}
          label={label}
          isRunning={edge.from === state && timers.some(({ name }) => timerName(name) === label.timer)}
          send={isNext(label.message) ? send : undefined}
          class={classes(
            'label',
            walked.labels.has(`${index} ${label.message}`) && 'walked',
            isNext(label.message) && 'next',
          )}
        />
      ))}
    </g>
  );
}

function StateBox({ state, chart }: { state: State; chart: ChartProps }) {
  const { walked, allowed, pointed, timers } = chart;
  const { id, x, y, width, height, titleY, ended, stays } = state;
  const isLit = id === chart.state;
  const radius = ended ? 15 : 7;
  return (
    <g
      class={classes('state', isLit && 'lit', walked.states.has(id) && 'walked', ended && 'ended')}
      data-state={id}
    >
      {isLit ? (
        <rect class="glow" x={x - 4} y={y - 4} width={width + 8} height={height + 8} rx={radius + 4} />
      ) : null}
      <rect class="box" x={x} y={y} width={width} height={height} rx={radius} />
      {ended ? (
        <rect class="inner" x={x + 3} y={y + 3} width={width - 6} height={height - 6} rx={radius - 3} />
      ) : null}
      <text class="title" x={x + width / 2} y={titleY} text-anchor="middle">
        {id}
      </text>
      {stays.map((label) => (
        <Text
          key={label.message}
          label={label}
          isRunning={isLit && timers.some(({ name }) => timerName(name) === label.timer)}
          send={isLit && allowed.includes(label.message) ? chart.send : undefined}
          class={classes(
            'stay',
            walked.stays.has(`${id} ${label.message}`) && 'walked',
            pointed?.stayed === id && pointed.message === label.message && 'pointed',
            isLit && allowed.includes(label.message) && 'next',
          )}
        />
      ))}
    </g>
  );
}

export function Chart(props: ChartProps) {
  const { drawing, label, walked, scale = 1 } = props;
  const order = drawing.edges.map((_, index) => index);
  // What was walked lies above what wasn't.
  order.sort((one, other) => Number(walked.edges.has(one)) - Number(walked.edges.has(other)));
  const [startX, startY] = drawing.start;
  return (
    <svg
      class="chart"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      width={drawing.width * scale}
      height={drawing.height * scale}
    >
      <circle class="start" cx={startX} cy={startY} r="5" />
      {order.map((index) => {
        const edge = drawing.edges[index];
        return edge === undefined ? null : <EdgeLine key={index} edge={edge} index={index} chart={props} />;
      })}
      {drawing.states.map((state) => (
        <StateBox key={state.id} state={state} chart={props} />
      ))}
    </svg>
  );
}
