/** Answers to bodies as tables for people: a word for each answer, and the words' meaning below. */
import type { Answer } from '../faults/pipeline.ts';
import type { Said } from './bodies-requests.ts';

/** Words for answers, by a part of their text. */
const WORDS: readonly [RegExp, string][] = [
  [/is larger than/, 'large'],
  [/The Content-Type must/, 'type'],
  [/must not be compressed/, 'packed'],
  [/is not valid UTF-8/, 'utf8'],
  [/nested too deeply/, 'deep'],
  [/is not valid JSON/, 'json'],
  [/must be a JSON object/, 'object'],
  [/must be a JSON array/, 'array'],
  [/Every element must be/, 'element'],
  [/signature is missing/, 'unsigned'],
  [/Transaction not found/, 'taken'],
];

/** Words of all tables, each with the status and the text that it stands for. */
export class Legend {
  readonly #meanings = new Map<string, string>();

  wordOf({ status, body }: Answer): string {
    if (status < 300) return String(status);
    const meaning = `${status} ${JSON.stringify(body)}`;
    const word = WORDS.find(([part]) => part.test(meaning))?.[1] ?? meaning;
    const before = this.#meanings.get(word);
    // The same rule with another number, of another endpoint, has a word of its own.
    const told = before === undefined || before === meaning ? word : `${word}-2`;
    this.#meanings.set(told, meaning);
    return told;
  }

  toString(): string {
    return [...this.#meanings]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([word, meaning]) => `${word.padEnd(9)} ${meaning}\n`)
      .join('');
  }
}

function shown({ type, encoding }: Said): string {
  const named = (value: string): string => (value === '' ? '(empty)' : value);
  return `${type === null ? '-' : named(type)}${encoding === null ? '' : ` | ${named(encoding)}`}`;
}

export interface Row {
  said: Said;
  /** An answer's word for each body. */
  words: readonly string[];
}

/** One table: a column for each body; rows that are alike stand once, and below them what is said about the body. */
export function tableOf(names: readonly string[], rows: readonly Row[]): string {
  const widths = names.map((name, at) =>
    Math.max(name.length, ...rows.map(({ words }) => words[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(' ')
      .trimEnd();
  const alike = new Map<string, string[]>();
  for (const { said, words } of rows) {
    const told = line(words);
    alike.set(told, [...(alike.get(told) ?? []), `    ${shown(said)}`]);
  }
  return [line(names), ...[...alike].flatMap(([told, all]) => [told, ...all]), ''].join('\n');
}
