/** What an open console costs the engine: equal loads, in turn without and with ten streams and a search a second. */
import { origin, startConsole, type Visitor, visitor } from '../../../test/console/visitor.ts';
import type { Server } from '../../../test/support/server.ts';
import { count, whyNotCounted } from '../instructions.ts';
import { EVENTS, lifecycles } from '../lifecycle.ts';
import { spreadOf } from '../line.ts';
import { temporaryFolder } from '../processes.ts';
import { accounts, load, type Order, type Receiver, startReceiver } from '../server.ts';
import { printTable } from '../table.ts';
import { ENDS_WELL, type Kind, WAITS } from '../texts.ts';
import { cpuByThread } from '../usage.ts';
import { creates, entry, pairs, wholes } from './options.ts';

const CLIENTS = 64;
const LOADED_ACCOUNTS = 64;
const STREAMS = 10;
/** One session has no more. */
const STREAMS_EACH = 5;
const SEARCH_MS = 1_000;

/** Ten streams that are read, and a search a second, until the function given back is called. */
async function open(server: Server, own: readonly Visitor[]): Promise<() => Promise<void>> {
  const abort = new AbortController();
  const { signal } = abort;
  const ends: Promise<void>[] = [];
  for (let n = 0; n < STREAMS; n++) {
    const headers = own[Math.floor(n / STREAMS_EACH)]?.headers ?? {};
    const answer = await fetch(`${origin(server)}/console/api/live`, { headers, signal });
    if (answer.status !== 200) throw new Error(`a stream was answered ${answer.status}`);
    ends.push(drained(answer, signal));
  }
  let searches = 0;
  let failure: unknown = null;
  const timer = setInterval(() => {
    searches += 1;
    own[0]?.get(`/find?q=order-${searches}`).then(
      ({ status }) => {
        if (status !== 200) failure ??= new Error(`a search was answered ${status}`);
      },
      (error) => {
        failure ??= error;
      },
    );
  }, SEARCH_MS);
  return async () => {
    clearInterval(timer);
    abort.abort();
    await Promise.all(ends);
    if (failure !== null) throw failure;
  };
}

async function drained({ body }: Response, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of body ?? []);
  } catch (error) {
    if (!signal.aborted) throw error;
    return;
  }
  if (!signal.aborted) throw new Error('a stream ended');
}

type Costs = Record<'CPU us' | 'kI', number | null>;

/** What the engine's thread takes for each of so many. */
async function costsOf({ pid }: Server, each: number, work: () => Promise<void>): Promise<Costs> {
  const counted = await count(pid);
  const before = cpuByThread(pid).main ?? Number.NaN;
  await work();
  const after = cpuByThread(pid).main ?? Number.NaN;
  const counts = await counted();
  return {
    'CPU us': ((after - before) * 1e6) / each,
    kI: counts?.main === undefined ? null : counts.main / 1000 / each,
  };
}

interface Stage {
  server: Server;
  receiver: Receiver;
  own: readonly Visitor[];
  credentials: readonly string[];
}

let seeds = 0;

function orderOf({ server, credentials }: Stage, kind: Kind, amount: number, requests: number): Order {
  seeds += 1;
  const constant = { routing: 'account', clients: CLIENTS } as const;
  return { ...constant, ports: [server.port], credentials, kind, amount, requests, seed: seeds };
}

/** A load by its name; each of its parts costs what is measured. */
interface Load {
  name: string;
  each: number;
  run(stage: Stage): Promise<void>;
}

const LOADS: readonly Load[] = [
  {
    name: 'POST /cashout',
    each: creates,
    async run(stage) {
      const { statuses } = await load(orderOf(stage, 'cashout', WAITS.cashout, creates));
      if (statuses['201'] !== creates) throw new Error(`transfers were answered ${JSON.stringify(statuses)}`);
    },
  },
  {
    name: 'lifecycle of pix-in',
    each: wholes,
    async run(stage) {
      const order = orderOf(stage, 'pix-in', ENDS_WELL, wholes);
      const { created, events } = await lifecycles(order, EVENTS['pix-in'], stage.receiver);
      const { statuses } = created;
      if (statuses['201'] !== wholes) throw new Error(`charges were answered ${JSON.stringify(statuses)}`);
      if (events.seen < events.wanted) throw new Error(`${events.wanted - events.seen} events are missing`);
    },
  },
];

async function measured(stage: Stage, { each, run }: Load, isOpen: boolean): Promise<Costs> {
  const { server, own } = stage;
  const close = isOpen ? await open(server, own) : async () => {};
  const costs = await costsOf(server, each, () => run(stage));
  await close();
  return costs;
}

/** What the open console adds to each of a load's parts, in percent, pair by pair; which is first changes. */
async function pairsOf(stage: Stage, wanted: Load): Promise<Record<keyof Costs, number[]>> {
  const added: Record<keyof Costs, number[]> = { 'CPU us': [], kI: [] };
  // The first of a process cost V8's compiler a multiple of what they cost later.
  await wanted.run(stage);
  for (let pair = 0; pair < pairs; pair++) {
    const isOpenFirst = pair % 2 === 1;
    const first = await measured(stage, wanted, isOpenFirst);
    const second = await measured(stage, wanted, !isOpenFirst);
    const [closed, opened] = isOpenFirst ? [second, first] : [first, second];
    process.stderr.write(`${wanted.name}: ${JSON.stringify({ closed, opened })}\n`);
    for (const unit of ['CPU us', 'kI'] as const) {
      const [a, b] = [closed[unit], opened[unit]];
      if (a !== null && b !== null) added[unit].push((100 * (b - a)) / a);
    }
  }
  return added;
}

async function stageOf(server: Server, receiver: Receiver): Promise<Stage> {
  const credentials = await accounts(server.env, LOADED_ACCOUNTS, ['--webhook-url', receiver.url]);
  return { server, receiver, credentials, own: [await visitor(server), await visitor(server)] };
}

/** Measures in pairs, and prints. */
export async function costs(): Promise<void> {
  const receiver = await startReceiver();
  const server = await startConsole({ dataDir: temporaryFolder(), entry });
  try {
    const stage = await stageOf(server, receiver);
    const rows = [['engine thread, with the console open', 'median %', 'least', 'most']];
    for (const wanted of LOADS) {
      const added = await pairsOf(stage, wanted);
      for (const [unit, all] of Object.entries(added)) {
        if (all.length === 0) continue;
        const { median, least, most } = spreadOf(all);
        rows.push([`${wanted.name}, ${unit}`, ...[median, least, most].map((each) => each.toFixed(1))]);
      }
    }
    printTable(rows);
    const why = await whyNotCounted();
    if (why !== null) console.log(why);
  } finally {
    await server.terminate();
    await receiver.stop();
  }
}
