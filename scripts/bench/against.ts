/**
 * `npm run bench -- --against FOLDER`: this build and another one, both up at the same time, each with a store and a
 * receiver of its own. Short bursts of load go to them in turn, so that both see the machine in the same mood: its speed
 * moves by half within minutes, and what two runs say of each other moves with it. Both are started anew several times:
 * of equal processes one takes up to a tenth more CPU than another as long as it lives, by what V8 made of it and where
 * it lies in memory. With `--mongodb` both are on MongoDB.
 *
 * It doesn't measure what one burst is too short for: stores that grow, backlogs. The one that rests keeps its timers.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATOR, generate } from './generator.ts';
import { drained, EVENTS } from './lifecycle.ts';
import { spreadOf } from './line.ts';
import { machine } from './machine.ts';
import { type MongodbServer, openMongodb } from './mongodb/server.ts';
import { ACCOUNTS, CLIENTS, OPTIONS } from './options.ts';
import { stop, temporaryFolder } from './processes.ts';
import {
  accounts,
  folderEnv,
  type Receiver,
  type Server,
  serve,
  startReceiver,
  THIS_BUILD,
} from './server.ts';
import { printTable } from './table.ts';
import { creations, ENDS_WELL, type Kind, type RequestText, WAITS } from './texts.ts';
import { cpuByThread, cpuOf } from './usage.ts';

const LOOK_MS = 25;

/** One build on its own store, while one kind of load goes to it. */
interface Side {
  server: Server;
  receiver: Receiver;
  requests: readonly RequestText[];
  /** Events of each creation that are waited for. */
  events: number;
  close(): Promise<void>;
}

/** What came of a burst, by names of figures. */
interface Burst {
  rate: number;
  p99: number;
  refused: number;
  /** Deliveries of events that had been delivered. */
  again: number;
  /** CPU, us a request. */
  main: number;
  all: number;
  mongod: number;
}

type Load = 'creates' | 'lifecycles';

/** The other build, by its folder and version. */
function nameOf(build: string): string {
  const { version } = JSON.parse(readFileSync(join(build, 'package.json'), 'utf8')) as { version?: string };
  return `${build} (${version ?? 'no version'})`;
}

async function sideOf(build: string, kind: Kind, load: Load, mongodb: MongodbServer | null): Promise<Side> {
  const receiver = await startReceiver();
  const database = mongodb?.database();
  const env = database?.env ?? folderEnv(temporaryFolder());
  const hooks = load === 'lifecycles' ? ['--webhook-url', receiver.url] : [];
  const credentials = await accounts(env, ACCOUNTS, hooks, build);
  const server = await serve(env, build);
  return {
    server,
    receiver,
    requests: creations(kind, credentials, load === 'lifecycles' ? ENDS_WELL : WAITS[kind]),
    events: load === 'lifecycles' ? EVENTS[kind] : 0,
    close: async () => {
      await stop(server.child);
      await receiver.stop();
      await database?.drop();
    },
  };
}

async function burst(
  { server, receiver, requests, events }: Side,
  seconds: number,
  mongod: number | undefined,
): Promise<Burst> {
  // Requests that a burst's end has cut off are created, too: their events have come while the other had its turn.
  const before = await receiver.seen();
  const cpu = cpuByThread(server.pid);
  const database = cpuOf(mongod);
  const begun = performance.now();
  const shot = await generate({ port: server.port, requests, seconds });
  const created = shot.answered - shot.refused;
  if (events > 0) await drained(receiver, before.count + created * events, LOOK_MS);
  const whole = (performance.now() - begun) / 1000;
  const spent = Object.entries(cpuByThread(server.pid)).map(
    ([thread, s]) => [thread, ((s - (cpu[thread] ?? 0)) * 1e6) / shot.answered] as const,
  );
  return {
    rate: events === 0 ? shot.rate : created / whole,
    p99: shot.p99,
    refused: shot.refused + shot.broken,
    again: (await receiver.seen()).again - before.again,
    main: spent.find(([thread]) => thread === 'main')?.[1] ?? Number.NaN,
    all: spent.reduce((sum, [, us]) => sum + us, 0),
    mongod: ((cpuOf(mongod) - database) * 1e6) / shot.answered,
  };
}

/** The median of all rounds, and between what the medians of single starts lie. */
function ratioText(values: readonly number[]): string {
  const { rounds, starts } = OPTIONS;
  const ofStarts = Array.from({ length: starts }, (_, start) =>
    spreadOf(values.slice(start * rounds, (start + 1) * rounds)),
  );
  const { least, most } = spreadOf(ofStarts.map(({ median }) => median));
  return `${spreadOf(values).median.toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`;
}

/** What a kind of load takes of this build for what it takes of the other. */
function lineOf(name: string, others: readonly Burst[], own: readonly Burst[]): string[] {
  const median = (bursts: readonly Burst[], figure: keyof Burst): string =>
    spreadOf(bursts.map((each) => each[figure])).median.toFixed(0);
  const ratio = (figure: keyof Burst): string =>
    ratioText(own.map((each, turn) => each[figure] / (others[turn]?.[figure] ?? Number.NaN)));
  const cpu = (figure: 'main' | 'all' | 'mongod'): string =>
    Number.isNaN(own[0]?.[figure] ?? Number.NaN)
      ? ''
      : `${median(own, figure)} for ${median(others, figure)}: ${ratio(figure)}`;
  return [
    name,
    `${median(own, 'rate')} for ${median(others, 'rate')}`,
    ratio('rate'),
    `${median(own, 'p99')} for ${median(others, 'p99')}`,
    ...[cpu('main'), cpu('all'), cpu('mongod')],
  ];
}

function sumOf(bursts: readonly Burst[], figure: keyof Burst): number {
  return bursts.reduce((sum, each) => sum + each[figure], 0);
}

interface Pair {
  other: Burst[];
  own: Burst[];
}

/** Bursts in turn to both, each started anew; who is started first, and who has the first burst, changes. */
async function oneStart(start: number, kind: Kind, load: Load, mongodb: MongodbServer | null): Promise<Pair> {
  const { against, rounds, burstSeconds, warmUpSeconds } = OPTIONS;
  const pair: Pair = { other: [], own: [] };
  const sides: [Side, Burst[]][] = [];
  const inTurn = <Item>(items: readonly Item[], count: number): Item[] =>
    count % 2 === 0 ? [...items] : [...items].reverse();
  const builds = [[against, pair.other] as const, [THIS_BUILD, pair.own] as const];
  for (const [build, bursts] of inTurn(builds, start))
    sides.push([await sideOf(build, kind, load, mongodb), bursts]);
  for (const [side] of sides) await burst(side, warmUpSeconds, mongodb?.pid);
  for (let round = 0; round < rounds; round++)
    for (const [side, bursts] of inTurn(sides, round))
      bursts.push(await burst(side, burstSeconds, mongodb?.pid));
  for (const [side] of sides) await side.close();
  return pair;
}

async function compared(kind: Kind, load: Load, mongodb: MongodbServer | null): Promise<string[]> {
  const { rounds, starts } = OPTIONS;
  const name = load === 'creates' ? `POST /${kind}` : `lifecycle of ${kind}`;
  process.stderr.write(`${name}: ${starts} starts of ${rounds} rounds\n`);
  const pairs: Pair[] = [];
  for (let start = 0; start < starts; start++) pairs.push(await oneStart(start, kind, load, mongodb));
  const others = pairs.flatMap(({ other }) => other);
  const owns = pairs.flatMap(({ own }) => own);
  for (const [whose, bursts] of [['this build', owns] as const, ['the other', others] as const]) {
    const [refused, again] = [sumOf(bursts, 'refused'), sumOf(bursts, 'again')];
    if (refused > 0) process.stderr.write(`${name}, ${whose}: ${refused} refused or broken\n`);
    if (again > 0) process.stderr.write(`${name}, ${whose}: ${again} deliveries came again\n`);
  }
  return lineOf(name, others, owns);
}

const HEAD = ['row', 'a second', 'times as many', 'p99 ms', 'us of CPU: main', 'all threads', 'mongod'];

export async function againstBench(): Promise<void> {
  const { against, rows, rounds, starts, burstSeconds } = OPTIONS;
  const mongodb = OPTIONS.mongodb ? await openMongodb() : null;
  const lines: string[][] = [];
  for (const load of ['creates', 'lifecycles'] as const)
    for (const kind of ['pix-in', 'cashout'] as const)
      if (rows.includes(load)) lines.push(await compared(kind, load, mongodb));
  printTable([HEAD, ...lines]);
  const { node, cores, cpu, memoryGb, system } = machine();
  console.log(`
this build for ${nameOf(against)}; ratios: the median of ${starts * rounds} rounds, and between what those of ${starts} starts lie
Node ${node}, ${cores} cores (${cpu}), ${memoryGb} GB, ${system}; load by ${GENERATOR}${mongodb === null ? '' : `; ${mongodb.name}`}
${CLIENTS} clients, bursts of ${burstSeconds} s in turn, lifecycles until their last event is delivered
Not measured: a network, TLS, slow receivers, what grows; the other build is up and at rest meanwhile.`);
}
