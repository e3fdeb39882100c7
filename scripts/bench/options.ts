/** What a run is made of: the same for every variant, so that figures compare. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** The kinds of rows, in the order in which they are measured. */
export const ROWS = ['creates', 'reads', 'lifecycles', 'verify', 'backlog', 'hanging', 'many'] as const;
export type RowKind = (typeof ROWS)[number];
/** Those of a run that nobody asked for others. */
const USUAL: readonly RowKind[] = ['creates', 'reads', 'lifecycles', 'verify'];
const PHASES_OF_MONGODB = ['stores', 'processes', 'latency'] as const;

export const USAGE = `usage: npm run bench -- [options]
  --sql                    PostgreSQL beside it, by wrk (see scripts/bench/sql-setup.sh)
  --rows A,B               of ${ROWS.join(', ')}; all (without it: ${USUAL.join(', ')})
  --runs N                 so many runs; their medians and spread (1)
  --json                   one JSON document on stdout, all else on stderr
  --seconds N              of a row (10)
  --warm-up N              seconds before it (5)
  --clients N              keep-alive connections (64)
  --seed N                 what references and keys begin with (1)
  --lifecycles N           of a burst (20000)
  --lifecycle-seconds N    for which lifecycles are held (10)
  --deliveries N           that drain in the row "backlog" (100000)
  --waiting N              that wait behind the URL of the row "hanging" (60000)
  --transactions N         in the store of the row "many" (1000000)
  --verified N             transactions in the store of the row "verify" (200000)
  --against FOLDER         this build and the one that lies there, in bursts in turn: the rows creates and lifecycles;
                           each started --starts N times (4) for --rounds N (5) of --burst-seconds N (2); with --mongodb
                           both on MongoDB
  --mongodb                the embedded store and MongoDB instead; with --requests N, --many-clients N, --cache-gb N,
                           --latency-ms N, --phases A,B of ${PHASES_OF_MONGODB.join(', ')}`;

/** A command line that can't be followed. */
export class UsageError extends Error {}

const FLAGS = {
  sql: { type: 'boolean', default: false },
  mongodb: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  rows: { type: 'string' },
  against: { type: 'string', default: '' },
  starts: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '5' },
  'burst-seconds': { type: 'string', default: '2' },
  phases: { type: 'string', default: PHASES_OF_MONGODB.join(',') },
  runs: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '10' },
  'warm-up': { type: 'string', default: '5' },
  clients: { type: 'string', default: '64' },
  seed: { type: 'string', default: '1' },
  requests: { type: 'string', default: '40000' },
  lifecycles: { type: 'string', default: '20000' },
  'lifecycle-seconds': { type: 'string', default: '10' },
  deliveries: { type: 'string', default: '100000' },
  waiting: { type: 'string', default: '60000' },
  transactions: { type: 'string', default: '1000000' },
  verified: { type: 'string', default: '200000' },
  'many-clients': { type: 'string', default: '512' },
  'cache-gb': { type: 'string', default: '0.5' },
  'latency-ms': { type: 'string', default: '2' },
} as const;

type Values = ReturnType<typeof valuesOf>;

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type NumberName = {
  [Name in keyof Values]-?: Values[Name] extends string ? Name : never;
}[keyof Values];

function number(values: Values, name: NumberName, isWhole = true): number {
  const value = Number(values[name]);
  if (value > 0 && Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value))) return value;
  throw new UsageError(`--${name} must be a ${isWhole ? 'whole ' : ''}number above 0, not "${values[name]}"`);
}

function choices<Choice extends string>(name: string, text: string, all: readonly Choice[]): Choice[] {
  if (text === 'all') return [...all];
  const wanted = text.split(',');
  const unknown = wanted.find((word) => !all.some((choice) => choice === word));
  if (unknown !== undefined) throw new UsageError(`--${name}: "${unknown}" is none of ${all.join(', ')}`);
  return all.filter((choice) => wanted.includes(choice));
}

/** Rows in which two builds are compared. */
const COMPARED: readonly RowKind[] = ['creates', 'lifecycles'];

/** @throws UsageError where two builds can't be compared so */
function checkAgainst({ against, sql, json }: Values, rows: readonly RowKind[]): void {
  if (sql || json) throw new UsageError(`--against goes without --${sql ? 'sql' : 'json'}`);
  if (rows.some((row) => !COMPARED.includes(row)))
    throw new UsageError(`--against is about the rows ${COMPARED.join(', ')}`);
  const missing = ['package.json', 'dist/src/main.js'].find((file) => !existsSync(join(against, file)));
  if (missing !== undefined)
    throw new UsageError(`--against: there is no build in ${against}: no ${missing}`);
}

/** The options of a command line. @throws UsageError */
export function optionsOf(args: readonly string[]) {
  const values = valuesOf(args);
  const { sql, mongodb, json, help } = values;
  const { against } = values;
  const usual = against === '' ? USUAL : COMPARED;
  const rows = choices('rows', values.rows ?? usual.join(','), ROWS);
  if (against !== '') checkAgainst(values, rows);
  if (sql && mongodb) throw new UsageError('--sql and --mongodb are two runs');
  if (sql && !rows.includes('creates')) throw new UsageError('--sql is about the rows "creates"');
  if (mongodb && json) throw new UsageError('--mongodb prints no JSON');
  return {
    ...{ sql, mongodb, json, help, rows, against },
    phases: choices('phases', values.phases, PHASES_OF_MONGODB),
    runs: number(values, 'runs'),
    starts: number(values, 'starts'),
    rounds: number(values, 'rounds'),
    burstSeconds: number(values, 'burst-seconds'),
    seconds: number(values, 'seconds'),
    warmUpSeconds: number(values, 'warm-up'),
    clients: number(values, 'clients'),
    seed: number(values, 'seed'),
    requests: number(values, 'requests'),
    lifecycles: number(values, 'lifecycles'),
    lifecycleSeconds: number(values, 'lifecycle-seconds'),
    deliveries: number(values, 'deliveries'),
    waiting: number(values, 'waiting'),
    transactions: number(values, 'transactions'),
    verified: number(values, 'verified'),
    manyClients: number(values, 'many-clients'),
    cacheGb: number(values, 'cache-gb', false),
    latencyMs: number(values, 'latency-ms', false),
  };
}

export type Options = ReturnType<typeof optionsOf>;

function given(): Options {
  try {
    return optionsOf(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n${USAGE}\n`);
    process.exit(2);
  }
}

export const OPTIONS = given();
/** Accounts that requests are spread over. */
export const ACCOUNTS = 256;
export const {
  clients: CLIENTS,
  manyClients: MANY_CLIENTS,
  requests: REQUESTS,
  lifecycles: LIFECYCLES,
  cacheGb: CACHE_GB,
  latencyMs: LATENCY_MS,
  phases: PHASES,
} = OPTIONS;
