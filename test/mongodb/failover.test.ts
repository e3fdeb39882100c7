/** kill -9 of the primary of a set of three, again and again, under load: what a majority confirmed stays. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Mongod } from '../../scripts/mongod.ts';
import { randomOf } from '../faults/scene.ts';
import { freshDatabase, withMongod } from '../support/mongodb.ts';
import { startReceiver } from '../support/receiver.ts';
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
import { probe, untilReady, withDb, withServers } from './stage.ts';

const test = suite('failover');

const SEED = 20_260_303;
const KILLS = 3;
/** An election after 2 s without a word from the primary; the rest is for a busy machine. */
const BACK_MS = 15_000;

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

/** Kills the primary so many times, each time under load; how long it took until something was created again, ms. */
async function killPrimaries(
  mongod: Mongod,
  samples: readonly Sample[],
  random: () => number,
): Promise<number[]> {
  const outages: number[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    await sleep(500 + random() * 1_000);
    const dying = await mongod.primary();
    const killedAt = performance.now();
    await mongod.kill(dying);
    // Something that was asked for after the death is created: the others have elected.
    const isBack = () => samples.some(({ at, status }) => at > killedAt && status === 201);
    await until(isBack, BACK_MS, `round ${round}: something created after the death of the primary`);
    outages.push(Math.round(performance.now() - killedAt));
    await takeBack(mongod, dying);
  }
  return outages;
}

/** Readiness went and came back, each time with a reason, and the process was alive all the time. */
function expectProbes({ changes, slowestLiveMs }: Watched): void {
  assert.ok(
    changes.some(({ ready }) => !ready),
    'readiness stayed while no primary was there',
  );
  assert.is(changes.at(-1)?.ready, true);
  for (const { ready, reason } of changes) if (!ready) assert.match(reason, /"reason":"[^"]+/);
  assert.ok(slowestLiveMs < 2_000, `/livez took ${slowestLiveMs} ms`);
}

test('kill -9 of the primary under load: nothing acknowledged is lost, nothing happens twice, nobody hangs', async () => {
  const random = randomOf(SEED);
  const receiver = await startReceiver();
  try {
    await withMongod({ members: 3 }, async (mongod) => {
      const { uri } = await freshDatabase(mongod.uri);
      await withServers(uri, 2, async (servers) => {
        const { load, samples } = await spreadLoad(servers, receiver.url(), random);
        const watched = servers.map(watch);
        let outages: number[];
        try {
          outages = await underLoad(load, 12, () => killPrimaries(mongod, samples, random));
          for (const server of servers) await untilReady(server, BACK_MS);
        } finally {
          await Promise.all(watched.map((one) => one.stop()));
        }
        console.log(`${KILLS} kills, created again after ${outages.join(', ')} ms; ${told(samples)}`);
        assert.equal(trulyUnexpected(load), []);
        expectAnswered(samples);
        for (const one of watched) expectProbes(one);
        const acknowledged = load.known.length;
        await expectSettled(load, () => receiver.requests, servers[0]);
        console.log(
          `${acknowledged} acknowledged, ${load.known.length - acknowledged} more had happened unheard`,
        );
      });
    });
  } finally {
    await receiver.close();
  }
});

test.run();
