/** The primary of a set of three killed, frozen, stranded, under load: what a majority confirmed stays. */
import * as assert from 'uvu/assert';
import type { Mongod } from '../../scripts/mongod.ts';
import { randomOf } from '../faults/scene.ts';
import { fixtureSuite } from '../support/fixture.ts';
import { freshDatabase, withMongod } from '../support/mongodb.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import {
  expectAnswered,
  expectSettled,
  type Sample,
  spreadLoad,
  told,
  trulyUnexpected,
  underLoad,
} from './crowd.ts';
import { held, probe, untilReady, withDb, withServers } from './stage.ts';

const SEED = 20_260_303;
/**
 * An election takes seconds here. But a secondary whose sync source is frozen finds that out only when its fetch of
 * the oplog times out, after about 10 s; until then no majority confirms what the new primary writes.
 */
const MAJORITY_BACK_MS = 40_000;
/** An election after 2 s without a word from the primary; the rest is for a busy machine. */
const BACK_MS = 15_000;
/** A look at readiness waits 2 s for a primary: an outage of so long is seen by who looks all the time. */
const SEEN_MS = 5_000;
/** Less than it takes a primary to see that it leads nobody. */
const STRANDED_MS = 1_000;

interface Scene {
  mongod: Mongod;
  servers: readonly [Server, ...Server[]];
  receiver: Receiver;
}

async function onScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await withMongod({ members: 3 }, async (mongod) => {
      const { uri } = await freshDatabase(mongod.uri);
      await withServers(uri, 2, (servers) => body({ mongod, servers, receiver }));
    });
  } finally {
    await receiver.close();
  }
}

const suite = fixtureSuite<Scene>('failover', (defer) => held(defer, onScene));
const { test } = suite;

interface Watched {
  /** What `/readyz` said, in the order in which it changed. */
  changes: { at: number; ready: boolean; reason: string }[];
  /** The longest that `/livez` took, ms; infinite where it didn't answer. */
  slowestLiveMs: number;
  stop(): Promise<void>;
}

/** Looks at a server's probes until it is stopped. */
function watch(server: Server): Watched {
  let running = true;
  const watched: Watched = { changes: [], slowestLiveMs: 0, stop: async () => {} };
  const ready = async (): Promise<void> => {
    while (running) {
      const answer = await probe(server, 'readyz');
      const isReady = answer?.status === 200;
      if (watched.changes.at(-1)?.ready !== isReady)
        watched.changes.push({ at: performance.now(), ready: isReady, reason: JSON.stringify(answer?.body) });
      await sleep(50);
    }
  };
  const live = async (): Promise<void> => {
    while (running) {
      const startedAt = performance.now();
      const answer = await probe(server, 'livez');
      const ms = answer?.status === 200 ? performance.now() - startedAt : Number.POSITIVE_INFINITY;
      watched.slowestLiveMs = Math.max(watched.slowestLiveMs, ms);
      await sleep(100);
    }
  };
  const both = Promise.all([ready(), live()]);
  watched.stop = async () => {
    running = false;
    await both;
  };
  return watched;
}

/** Starts a killed member again and waits until it could become primary. */
async function takeBack(mongod: Mongod, index: number): Promise<void> {
  await mongod.restart(index);
  const uri = `mongodb://127.0.0.1:${mongod.members[index]?.port}/?directConnection=true`;
  const isBack = () =>
    withDb(uri, async (db) => (await db.command({ hello: 1 })).secondary === true).catch(() => false);
  await until(isBack, BACK_MS, 'the dead member as a secondary');
}

/** Strikes the set whose primary is given; what is returned mends it. */
type Blow = (mongod: Mongod, primary: number) => Promise<() => Promise<void>>;

const kill: Blow = async (mongod, primary) => {
  await mongod.kill(primary);
  return () => takeBack(mongod, primary);
};

/** It says nothing more and closes nothing; then it comes back and believes for a moment that it still leads. */
const freeze: Blow = async (mongod, primary) => {
  mongod.freeze(primary);
  return async () => mongod.thaw(primary);
};

/** What it wrote at last no other has: the others elect without it, and it takes that back when it returns. */
const strand: Blow = async (mongod, primary) => {
  const others = [0, 1, 2].filter((index) => index !== primary);
  for (const index of others) mongod.freeze(index);
  await sleep(STRANDED_MS);
  await mongod.kill(primary);
  for (const index of others) mongod.thaw(index);
  return () => takeBack(mongod, primary);
};

/** Deals the blows in turn, under load; how long it took each time until something was created again, ms. */
async function strike(
  { mongod }: Scene,
  blows: readonly Blow[],
  samples: readonly Sample[],
  random: () => number,
): Promise<number[]> {
  const outages: number[] = [];
  for (const blow of blows) {
    await sleep(500 + random() * 1_000);
    const primary = await mongod.primary();
    const startedAt = performance.now();
    const mend = await blow(mongod, primary);
    const struckAt = performance.now();
    // Something that was asked for after the blow is created: the others have elected.
    const isBack = () => samples.some(({ at, status }) => at > struckAt && status === 201);
    await until(isBack, MAJORITY_BACK_MS, 'something created after the blow').finally(mend);
    outages.push(Math.round(performance.now() - startedAt));
  }
  return outages;
}

/** The longest that all requests were refused at a stretch, ms. */
function longestRefusal(samples: readonly Sample[]): number {
  const ends = samples.map(({ at, ms, status }) => ({ at: at + ms, isRefused: status === 503 }));
  let longest = 0;
  let since: number | null = null;
  for (const { at, isRefused } of ends.sort((a, b) => a.at - b.at)) {
    since = isRefused ? (since ?? at) : null;
    if (since !== null) longest = Math.max(longest, at - since);
  }
  return longest;
}

/**
 * Readiness went and came back, each time with a reason, and the process was alive all the time. A request that was
 * under way may be refused, and the next one taken: of an outage as short as that a probe need not see anything.
 */
function expectProbes({ changes, slowestLiveMs }: Watched, samples: readonly Sample[]): void {
  assert.ok(
    longestRefusal(samples) < SEEN_MS || changes.some(({ ready }) => !ready),
    'readiness stayed while requests were refused',
  );
  assert.is(changes.at(-1)?.ready ?? true, true);
  for (const { ready, reason } of changes) if (!ready) assert.match(reason, /"reason":"[^"]+/);
  assert.ok(slowestLiveMs < 2_000, `/livez took ${slowestLiveMs} ms`);
}

const BLOWS: readonly [string, readonly Blow[]][] = [
  ['killed by kill -9, three times', [kill, kill, kill]],
  ['frozen, and back when another one leads', [freeze]],
  ['alone with its last writes, and killed', [strand]],
];

for (const [index, [name, blows]] of BLOWS.entries()) {
  test(`a primary that is ${name}: nothing acknowledged is lost, nothing happens twice, nobody hangs`, async (scene) => {
    const { servers, receiver } = scene;
    const path = `/blow-${index}`;
    const random = randomOf(SEED + index);
    const { load, samples } = await spreadLoad(servers, receiver.url(path), random);
    const watched = servers.map(watch);
    let outages: number[];
    try {
      outages = await underLoad(load, 12, () => strike(scene, blows, samples, random));
      for (const server of servers) await untilReady(server, BACK_MS);
    } finally {
      await Promise.all(watched.map((one) => one.stop()));
    }
    console.log(`${blows.length} times, created again after ${outages.join(', ')} ms; ${told(samples)}`);
    assert.equal(trulyUnexpected(load), []);
    expectAnswered(samples);
    for (const one of watched) expectProbes(one, samples);
    const acknowledged = load.known.length;
    await expectSettled(load, () => receiver.at(path), servers[0]);
    console.log(
      `${acknowledged} acknowledged, ${load.known.length - acknowledged} more had happened unheard`,
    );
  });
}

suite.run();
