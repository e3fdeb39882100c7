/**
 * What a command writes. With `--json` stdout is exactly one JSON document, the error object where it fails;
 * without, a person reads stdout, and failures go to stderr. Texts may come from the bank and from merchants: their
 * control characters are written as JSON writes them, since a terminal would take them for commands.
 */
import { type Failure, failureOf } from './failure.ts';

/** A command's result, for programs and for people. */
export interface Outcome {
  document: object;
  text: string;
  /** 0 unless the command found that something is off. */
  exitCode?: number;
  /** It is shown once: a sentence on what to do where it was lost. */
  ifLost?: string;
}

export interface OutputOptions {
  json: boolean;
  /** Whether somebody reads how far the work has come. */
  isWatched: boolean;
  /** `ifLost`: what to do where nobody takes it, since it is shown once. */
  out(text: string, ifLost?: string): void;
  err(text: string): void;
}

export class Output {
  readonly json: boolean;
  readonly isWatched: boolean;
  readonly #out: OutputOptions['out'];
  readonly #err: (text: string) => void;

  constructor({ json, isWatched, out, err }: OutputOptions) {
    this.json = json;
    this.isWatched = isWatched;
    this.#out = out;
    this.#err = err;
  }

  /** Writes what a command has to say; gives the exit code. */
  outcome({ document, text, exitCode = 0, ifLost }: Outcome): number {
    this.#out(this.json ? `${JSON.stringify(document, null, 2)}\n` : `${inLines(text)}\n`, ifLost);
    return exitCode;
  }

  /**
   * Writes what was thrown; gives the exit code. `id`: under which the command is done once. `soFar`: what it has done
   * before that.
   */
  failure(error: unknown, id: string | null = null, soFar: Outcome | null = null): number {
    const failure: Failure = failureOf(error, id);
    const { exitCode } = failure;
    const document = { ...failure.document, ...soFar?.document };
    if (this.json) return this.outcome({ ...soFar, document, text: '', exitCode });
    if (soFar !== null) this.outcome(soFar);
    this.#err(`error: ${inLines(failure.message)}\n`);
    return exitCode;
  }

  /** Writes a line beside the result, for people. */
  aside(text: string): void {
    this.#err(text);
  }

  /** Writes what whoever did the work has to say. */
  given(text: string, ifLost?: string): void {
    this.#out(text, ifLost);
  }

  help(text: string): void {
    this.#out(this.json ? `${JSON.stringify({ help: text }, null, 2)}\n` : text);
  }
}

/** Of a single character; JSON itself leaves those above ASCII as they are. */
function escaped(character: string): string {
  const written = JSON.stringify(character).slice(1, -1);
  if (written !== character) return written;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What a terminal obeys and doesn't show: control characters, and marks that set the direction of what follows. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}]/gu;

/** A text without what a terminal obeys, but the ends of its lines. */
function inLines(text: string): string {
  return text.replaceAll(UNSEEN, (character) => (character === '\n' ? character : escaped(character)));
}

/** What others wrote, as a part of a line: it ends none. */
export function inLine(text: string): string {
  return text.replaceAll(UNSEEN, escaped);
}

/** Cents as a person writes them: -1234567 is `R$ -12345.67`. */
export function reais(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `R$ ${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Lines under each other, each label padded to the longest. */
export function labelled(rows: readonly (readonly [string, string])[], indent = ''): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${indent}${label.padEnd(width)}  ${value}`).join('\n');
}
