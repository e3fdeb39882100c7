import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cliJson } from '../support/cli.ts';
import { text } from '../support/json.ts';
import { type Received, startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { loadOn } from './load.ts';
import { accountsOf, expectVerified, RESUMED_MS, randomOf, withServer } from './scene.ts';

const test = suite('kill -9');

const SEED = 20_260_201;
/** By hand there may be more of both: `KILL_ROUNDS=200 KILL_CLIENTS=32`. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 6);
const CLIENTS = Number(process.env.KILL_CLIENTS ?? 8);

/** How long after its event the latest first arrival was, ms by this machine's clock. */
function latestMs(received: readonly Received[]): number {
  const seen = new Set<string>();
  let latest = 0;
  for (const { headers, json, at } of received) {
    const key = String(headers['idempotency-key']);
    if (!seen.has(key))
      latest = Math.max(latest, performance.timeOrigin + at - Date.parse(text(json, 'created_at')));
    seen.add(key);
  }
  return latest;
}

/** What a transaction's check found, with all that the server knows of it: the folder is gone afterwards. */
async function told(server: Server, check: () => void): Promise<void> {
  try {
    check();
  } catch (error) {
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(String(error)) ?? [];
    if (error instanceof Error && id !== undefined)
      error.message += `\n${JSON.stringify(await cliJson(server, ['inspect', id]))}`;
    throw error;
  }
}

test('in rounds under load: nothing that was answered is lost, and what was due goes on', async () => {
  const random = randomOf(SEED);
  const receiver = await startReceiver();
  const moody = randomOf(SEED + 1);
  receiver.answer('/hook', () => ({ status: moody() < 0.02 ? 500 : 200 }));
  try {
    await withServer({}, async (server) => {
      const load = await loadOn(server, receiver.url('/hook'), random);
      for (let round = 1; round <= ROUNDS; round += 1) {
        const before = load.plans.length;
        const stop = load.start(CLIENTS);
        // A busy machine may take longer than the round to answer anything at all.
        const isAnswered = (): boolean => load.plans.slice(before).some(({ created }) => created !== null);
        await until(isAnswered, 20_000, `round ${round}: an answer`);
        await sleep(100 + random() * 800);
        await server.kill();
        await stop();
        await server.restart();
        const readyAt = performance.now();
        assert.equal(load.unexpected, [], `round ${round}`);
        const fresh = load.openSince(before);
        assert.ok(
          fresh.some(({ created }) => created !== null),
          `round ${round}: nothing was answered before the end`,
        );
        await load.settle(fresh);
        // Every other round the next one dies upon what this one has left open.
        if (round % 2 === 0)
          await load.expectEnds(() => Math.max(1, RESUMED_MS - (performance.now() - readyAt)));
      }
      await load.settle(load.plans);
      assert.equal(load.unexpected, []);
      await load.expectAllEnds(() => RESUMED_MS);
      await load.expectDelivered(() => receiver.requests, RESUMED_MS);
      await load.expectBalance();
      assert.is((await accountsOf(server)).length, 3, 'the demo account, and the two of this test');
      await expectVerified(server);
      // Retries and repeats that are still under way change nothing of the first arrivals.
      await told(server, () => load.expectEvents(receiver.requests));
      const answered = load.plans.filter(({ created }) => created !== null).length;
      console.log(
        `${ROUNDS} times killed: ${load.plans.length} asked for, ${answered} of them answered in time; ` +
          `the latest webhook came ${Math.round(latestMs(receiver.requests))} ms after its event`,
      );
      assert.is(await server.terminate(), 0);
    });
  } finally {
    await receiver.close();
  }
});

test.run();
