/**
 * Whole lifecycles: from a creation to its last delivered event. First a burst, as fast as creations are answered, and
 * the wait until all is delivered; then creations at a steady rate, beside which the backlog must not grow. The rate is
 * found in short trials, from the burst's on, and then held for the time that is asked for.
 */
import { CAN_PACE, generate, type Moment, type Shot } from '../generator.ts';
import { type Backlog, backlogOf } from '../held.ts';
import { drained, EVENTS, lifecycles } from '../lifecycle.ts';
import { type Line, refusedOf } from '../line.ts';
import { measure } from '../measure.ts';
import { ACCOUNTS, CLIENTS, LIFECYCLES, OPTIONS } from '../options.ts';
import { stop, temporaryFolder } from '../processes.ts';
import {
  accounts,
  cli,
  folderEnv,
  type Order,
  type Receiver,
  type Seen,
  type Server,
  type StoreEnv,
  serve,
  startReceiver,
} from '../server.ts';
import { creations, ENDS_WELL, type Kind } from '../texts.ts';

const TRIAL_SECONDS = 5;
const TRIALS = 8;
/** What a rate becomes after a trial that was held, and after one that wasn't, until there was one of both. */
const MORE = 1.12;
const LESS = 0.88;
/** Between two rates that are so near to each other none is tried. */
const NEAR = 1.03;
/** The final time is tried at most so often, each time at a rate so much lower. */
const FINALS = 3;
const FINAL_LESS = 0.95;
/** The share of a rate that must be created for it to count as held. */
const CREATED = 0.97;
const LOOK_MS = 200;
const QUIET_MS = 3_000;

interface Held {
  backlog: Backlog;
  shot: Shot;
}

interface Stage {
  server: Server;
  receiver: Receiver;
  credentials: readonly string[];
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What is delivered by when, until something is over. */
async function watch(receiver: Receiver, until: Promise<unknown>): Promise<Moment[]> {
  const looks: Moment[] = [];
  let goesOn = true;
  const end = until.finally(() => {
    goesOn = false;
  });
  while (goesOn) {
    const { count } = await receiver.seen();
    looks.push({ at: Number(process.hrtime.bigint()) / 1e6, count });
    await Promise.race([pause(LOOK_MS), end]);
  }
  return looks;
}

/** Creates at a steady rate, watches what becomes of it, and waits until all of it is delivered. */
async function hold(
  { server, receiver, credentials }: Stage,
  kind: Kind,
  rate: number,
  seconds: number,
): Promise<Held> {
  const before = (await receiver.seen()).count;
  const requests = creations(kind, credentials, ENDS_WELL);
  const came = generate({ port: server.port, requests, seconds, rate: Math.round(rate) });
  const [shot, looks] = await Promise.all([came, watch(receiver, came)]);
  const whole = looks.map(({ at, count }) => ({ at, count: (count - before) / EVENTS[kind] }));
  const backlog = backlogOf(shot.sent, whole);
  await drained(receiver, before + (shot.answered - shot.refused) * EVENTS[kind], LOOK_MS);
  return { backlog, shot };
}

function backlogText({ first, last }: Backlog): string {
  return `${first.toFixed(0)} unfinished after the start, ${last.toFixed(0)} at the end`;
}

/** Whether a short trial holds a rate. */
async function isHeld(stage: Stage, kind: Kind, rate: number): Promise<boolean> {
  const { backlog, shot } = await hold(stage, kind, rate, TRIAL_SECONDS);
  const keptUp = !backlog.grew && shot.rate > rate * CREATED;
  const created = `${shot.rate.toFixed(0)} created a second, ${backlogText(backlog)}`;
  process.stderr.write(`  ${rate.toFixed(0)}/s ${keptUp ? 'is held' : 'is too much'}: ${created}\n`);
  return keptUp;
}

/** About the highest rate that short trials hold. */
async function search(stage: Stage, kind: Kind, burst: number): Promise<number> {
  let rate = burst;
  let held: number | null = null;
  let tooMuch: number | null = null;
  for (let trial = 0; trial < TRIALS; trial++) {
    if (await isHeld(stage, kind, rate)) held = rate;
    else tooMuch = rate;
    if (held === null) rate *= LESS;
    else if (tooMuch === null) rate *= MORE;
    else if (tooMuch < held * NEAR) break;
    else rate = (held + tooMuch) / 2;
  }
  return held ?? rate;
}

function lineOf(name: string, { backlog, shot }: Held): Line {
  const { p50, p99, worst } = shot;
  const grew = backlog.grew ? 'GREW' : 'did not grow';
  return {
    name,
    figures: { 'rate/s': backlog.rate, 'p50 ms': p50, 'p99 ms': p99, 'worst ms': worst },
    notes: [`${name}: the backlog ${grew}: ${backlogText(backlog)}`],
  };
}

async function held(stage: Stage, kind: Kind, burst: number): Promise<Line> {
  const seconds = OPTIONS.lifecycleSeconds;
  const name = `lifecycle of ${kind}, held for ${seconds} s`;
  process.stderr.write(`${name}\n`);
  let rate = await search(stage, kind, burst);
  for (let final = 1; ; final++) {
    const result: Held[] = [];
    const plan = { port: stage.server.port, requests: [], seconds };
    const costs = await measure(name, stage.server, plan, async () => {
      const came = await hold(stage, kind, rate, seconds);
      result.push(came);
      return came.shot;
    });
    const [came] = result;
    if (came === undefined) throw new Error('nothing was held');
    if (came.backlog.grew && final < FINALS) {
      rate *= FINAL_LESS;
      continue;
    }
    const line = lineOf(name, came);
    return {
      ...line,
      figures: { ...costs.figures, ...line.figures },
      notes: [...costs.notes, ...line.notes],
    };
  }
}

/** So many at once, and the wait for their last event. */
async function burst({ server, receiver, credentials }: Stage, kind: Kind, requests: number): Promise<Line> {
  const order: Order = {
    ports: [server.port],
    routing: 'account',
    clients: CLIENTS,
    credentials,
    kind,
    amount: ENDS_WELL,
    requests,
    seed: nextSeed(),
  };
  const name = `lifecycle of ${kind}, a burst of ${LIFECYCLES}`;
  let rate = 0;
  const plan = { port: server.port, requests: [], seconds: 0 };
  const line = await measure(name, server, plan, async () => {
    const came = await lifecycles(order, EVENTS[kind], receiver);
    rate = came.rate;
    const { seen, wanted } = came.events;
    if (seen < wanted) throw new Error(`${wanted - seen} events of ${kind} were not delivered`);
    const { seconds, p50, p99, worst, statuses } = came.created;
    const refused = refusedOf(statuses);
    return { rate, answered: requests, seconds, p50, p99, worst, refused, broken: 0, sent: [] };
  });
  return line;
}

let seeds = 0;

/** What the plain generator's references begin with. */
function nextSeed(): number {
  seeds += 1;
  return OPTIONS.seed * 1000 + seeds;
}

/** Entries of the journal, each of which a lifecycle has told an event of. @throws where they don't hold together */
async function entriesOf(env: StoreEnv): Promise<number> {
  const report = (await cli(env, ['verify'])) as { ok: boolean; entries: number };
  if (!report.ok) throw new Error(`verify says ${JSON.stringify(report).slice(0, 500)}`);
  return report.entries;
}

/** Until nothing has come for a while: requests that a generator's end has cut off have lifecycles, too. */
async function quiet(receiver: Receiver): Promise<Seen> {
  for (;;) {
    const seen = await receiver.seen();
    if (Date.now() - seen.last > QUIET_MS) return seen;
    await pause(LOOK_MS);
  }
}

/** What the journal says of all that was delivered. @throws where something was not */
async function lookBack(env: StoreEnv, entriesBefore: number, { count, again }: Seen): Promise<string> {
  const events = (await entriesOf(env)) - entriesBefore;
  if (count !== events) throw new Error(`${events} events are in the journal, and ${count} were delivered`);
  const more = again === 0 ? '' : `; ${again} DELIVERIES CAME AGAIN`;
  return `lifecycles: verify is ok, and each of the journal's ${events} events was delivered${more}`;
}

/** The rows `lifecycles`. */
export async function lifecycleRows(): Promise<Line[]> {
  const receiver = await startReceiver();
  const env = folderEnv(temporaryFolder());
  const credentials = await accounts(env, ACCOUNTS, ['--webhook-url', receiver.url]);
  const entriesBefore = await entriesOf(env);
  const server = await serve(env);
  const stage = { server, receiver, credentials };
  const lines: Line[] = [];
  for (const kind of ['pix-in', 'cashout'] as const) {
    // The first of them cost V8's compiler a multiple of what they cost later.
    await burst(stage, kind, LIFECYCLES);
    const line = await burst(stage, kind, LIFECYCLES);
    lines.push(line);
    if (CAN_PACE) lines.push(await held(stage, kind, line.figures['rate/s'] ?? 0));
    else line.notes.push('lifecycles are not held at a steady rate: that needs wrk');
  }
  const seen = await quiet(receiver);
  await stop(server.child);
  await receiver.stop();
  lines.at(-1)?.notes.push(await lookBack(env, entriesBefore, seen));
  return lines;
}
