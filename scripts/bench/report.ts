/** Prints rows: rates and what they are set against, then what the threads took, then the notes. */
import type { Spread, Summary } from './line.ts';
import { printTable } from './table.ts';

const THREADS = /^(CPU us|kI): /;
/** With their digits; what isn't here has a table of its own, or is written in words. */
const COLUMNS: Record<string, number> = {
  'rate/s': 0,
  'p50 ms': 1,
  'p99 ms': 1,
  'worst ms': 1,
  write_bytes: 0,
  'disk bytes': 0,
  'RssAnon MB': 0,
  'foreign %': 0,
};

/** The median and, of several runs, the least and the most. */
function spreadText({ median, least, most, runs }: Spread | undefined = noSpread, digits: number): string {
  if (Number.isNaN(median)) return '';
  const text = median.toFixed(digits);
  return runs.length > 1 ? `${text} (${least.toFixed(digits)}-${most.toFixed(digits)})` : text;
}

const noSpread: Spread = { median: Number.NaN, least: Number.NaN, most: Number.NaN, runs: [] };

function ratesTable(rows: readonly Summary[]): string[][] {
  const ratios = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))].filter((key) =>
    key.startsWith('of '),
  );
  const columns = Object.entries(COLUMNS);
  const lines = rows.map(({ name, figures }) => [
    name,
    ...columns.slice(0, 1).map(([key, digits]) => spreadText(figures[key], digits)),
    ratios
      .filter((key) => figures[key] !== undefined)
      .map((key) => `${spreadText(figures[key], 2)} ${key}`)
      .join(', '),
    ...columns.slice(1).map(([key, digits]) => spreadText(figures[key], digits)),
  ]);
  const [rate = '', ...others] = columns.map(([key]) => key);
  return [['row', rate, 'ratio', ...others], ...lines];
}

/** Each thread's part, the largest first. */
function threadsText({ figures }: Summary, unit: string): string {
  return Object.entries(figures)
    .filter(([key]) => key.startsWith(`${unit}: `))
    .sort(([, a], [, b]) => b.median - a.median)
    .map(([key, { median }]) => `${key.slice(unit.length + 2)} ${median.toFixed(0)}`)
    .join(', ');
}

function threadsTable(rows: readonly Summary[]): string[][] {
  const lines = rows
    .map((row) => [row.name, threadsText(row, 'CPU us'), threadsText(row, 'kI') || 'not measured'])
    .filter(([, cpu]) => cpu !== '');
  return [['row', 'CPU us a request, by thread', 'thousand instructions a request, by thread'], ...lines];
}

/** What has no column: a start's time, memory as it grew. */
function otherTexts(rows: readonly Summary[]): string[] {
  return rows.flatMap(({ name, figures }) => {
    const others = Object.entries(figures).filter(
      ([key]) => COLUMNS[key] === undefined && !THREADS.test(key) && !key.startsWith('of '),
    );
    const texts = others.map(([key, spread]) => `${key} ${spreadText(spread, 0)}`);
    return texts.length === 0 ? [] : [`${name}: ${texts.join(', ')}`];
  });
}

export function printSummaries(rows: readonly Summary[]): void {
  const isRate = ({ figures }: Summary): boolean => figures['rate/s'] !== undefined;
  printTable(ratesTable(rows.filter(isRate)));
  console.log('');
  printTable(threadsTable(rows));
  const texts = [...otherTexts(rows), ...rows.flatMap(({ notes }) => notes)];
  console.log(`\n${[...new Set(texts)].join('\n')}`);
}
