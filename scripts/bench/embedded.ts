/** The embedded store against bare Koa and, where asked for, against PostgreSQL: the rows that are wanted, in runs. */
import { tmpdir } from 'node:os';
import { GENERATOR } from './generator.ts';
import { whyNotCounted } from './instructions.ts';
import { type Line, type Summary, summaries } from './line.ts';
import { machine } from './machine.ts';
import { OPTIONS, type RowKind } from './options.ts';
import { printSummaries } from './report.ts';
import { backlogRows, hangingRows } from './rows/backlog.ts';
import { createAndReadRows } from './rows/creates.ts';
import { lifecycleRows } from './rows/lifecycles.ts';
import { manyRows } from './rows/many.ts';
import { verifyRows } from './rows/verify.ts';
import { isInMemory } from './usage.ts';

const NOT_MEASURED = [
  'a network, TLS, a disk under other load, receivers that are slow, data that does not fit into memory',
  'several machines: generator, receiver, server and PostgreSQL share the cores',
];

/** What measures rows of some kinds. */
const MEASURES: readonly { kinds: readonly RowKind[]; rows: () => Promise<Line[]> }[] = [
  { kinds: ['creates', 'reads'], rows: createAndReadRows },
  { kinds: ['lifecycles'], rows: lifecycleRows },
  { kinds: ['verify'], rows: verifyRows },
  { kinds: ['backlog'], rows: backlogRows },
  { kinds: ['hanging'], rows: hangingRows },
  { kinds: ['many'], rows: manyRows },
];

async function oneRun(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const { kinds, rows } of MEASURES)
    if (kinds.some((kind) => OPTIONS.rows.includes(kind))) lines.push(...(await rows()));
  return lines;
}

async function notMeasured(): Promise<string[]> {
  const why = await whyNotCounted();
  const unasked = MEASURES.flatMap(({ kinds }) => kinds).filter((kind) => !OPTIONS.rows.includes(kind));
  return [
    ...NOT_MEASURED,
    ...(isInMemory(tmpdir()) ? [`what a flush to the disk takes: ${tmpdir()} is in memory (TMPDIR)`] : []),
    ...(why === null ? [] : [why]),
    ...(OPTIONS.sql ? [] : ['PostgreSQL (--sql)']),
    ...unasked.map((kind) => `rows "${kind}" (--rows)`),
  ];
}

interface Report {
  machine: ReturnType<typeof machine>;
  generator: string;
  options: typeof OPTIONS;
  notMeasured: string[];
  rows: Summary[];
}

function print({
  machine: { node, cores, cpu, memoryGb, system },
  generator,
  notMeasured,
  rows,
}: Report): void {
  printSummaries(rows);
  const { clients, seconds, warmUpSeconds, runs, seed } = OPTIONS;
  console.log(`\nNode ${node}, ${cores} cores (${cpu}), ${memoryGb} GB, ${system}; load by ${generator}`);
  console.log(
    `${clients} clients, ${seconds} s a row after ${warmUpSeconds} s of warm-up, runs: ${runs}, seed ${seed}`,
  );
  console.log(`Not measured: ${notMeasured.join('; ')}.`);
}

/** Measures and prints. */
export async function embeddedBench(): Promise<void> {
  const runs: Line[][] = [];
  for (let run = 1; run <= OPTIONS.runs; run++) {
    if (OPTIONS.runs > 1) process.stderr.write(`run ${run} of ${OPTIONS.runs}\n`);
    runs.push(await oneRun());
  }
  const report: Report = {
    machine: machine(),
    generator: GENERATOR,
    options: OPTIONS,
    notMeasured: await notMeasured(),
    rows: summaries(runs),
  };
  if (OPTIONS.json) console.log(JSON.stringify(report, null, 2));
  else print(report);
}
