/** A statechart as it is drawn: made of `machines/` at build. Lengths are the drawing's own units, one a CSS pixel. */

/** A message beside an edge, or in a state that takes it and stays. */
export interface Label {
  message: string;
  /** The middle of its text, on the baseline. */
  x: number;
  y: number;
  /** Raised by the clock: the name of its timer. */
  timer?: string;
}

export interface State {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Where its name stands, on the baseline. */
  titleY: number;
  ended: boolean;
  /** Messages that it takes without being left. */
  stays: Label[];
}

/** One line a pair of states, whatever the number of messages that lead from one to the other. */
export interface Edge {
  /** Null: the beginning. */
  from: string | null;
  to: string;
  /** The line and its arrow's head, as paths of SVG. */
  line: string;
  head: string;
  labels: Label[];
}

export interface Drawing {
  width: number;
  height: number;
  /** The middle of the dot that the chart begins at. */
  start: [number, number];
  states: State[];
  edges: Edge[];
}

export interface Chart {
  version: number;
  wide: Drawing;
  tall: Drawing;
}

/** By the machine's id. */
export type Charts = Readonly<Record<string, Chart>>;
