/** The database away: while a server runs, and when it starts. */
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../../scripts/mongod/ports.ts';
import { expectVerified, MOST_MORE_BYTES, residentBytes } from '../faults/scene.ts';
import { cli } from '../support/cli.ts';
import { type Merchant, merchant } from '../support/client.ts';
import { expectError } from '../support/expect.ts';
import { charge, reaches, transfer } from '../support/flows.ts';
import { text } from '../support/json.ts';
import { freshDatabase, withMongod, withProxiedMongod } from '../support/mongodb.ts';
import { endWithin, type Spawned, spawnNode, temporaryFolder } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type Server, serverEnv } from '../support/server.ts';
import { sleep, until } from '../support/wait.ts';
import { percentile, type Sample, sampled, tally } from './crowd.ts';
import { envOn, logLines, probe, startOn, untilReady, withServers } from './stage.ts';

const test = suite('database away');

const AWAY_MS = 60_000;
/** The driver looks for a primary for 2 s; after that all know that there is none. */
const NOTICED_MS = 3_500;
/** A set of one elects itself; the rest is for a busy machine. */
const BACK_MS = 15_000;
const RESUMED_MS = 8_000;

/** What waits when the database goes: an expiry, a payout's steps, an event that was refused once. */
interface Pending {
  client: Merchant;
  /** Whose charges expire. */
  patient: Merchant;
  expiring: string[];
  paying: string[];
  notified: string[];
}

async function leavePending(server: Server, receiver: Receiver): Promise<Pending> {
  const [client, patient] = await Promise.all([
    merchant(server, ['--balance', '1000000', '--webhook-url', receiver.url()]),
    merchant(server, ['--expires-in', '3']),
  ]);
  const many = <Value>(create: () => Promise<Value>) => Promise.all(Array.from({ length: 10 }, create));
  const notified = await many(async () => text(await charge(client), 'id'));
  await receiver.waitForCount('/hook', notified.length, 5_000);
  const [expiring, paying] = await Promise.all([
    many(async () => text(await charge(patient), 'id')),
    many(async () => text(await transfer(client, 1_001), 'id')),
  ]);
  return { client, patient, expiring, paying, notified };
}

async function expectResumed(
  { client, patient, expiring, paying, notified }: Pending,
  receiver: Receiver,
): Promise<void> {
  const until = performance.now() + RESUMED_MS;
  const leftMs = () => Math.max(1, until - performance.now());
  await Promise.all(expiring.map((id) => reaches(patient, 'pix-in', id, 'expired', leftMs())));
  await Promise.all(paying.map((id) => reaches(client, 'cashout', id, 'completed', leftMs())));
  const accepted = (id: string) =>
    receiver.requests.some(({ headers, status }) => headers['x-transaction-id'] === id && status === 200);
  for (const id of notified) await receiver.waitFor(() => accepted(id), leftMs());
}

/** Asks all the time, from a few clients, until it is stopped. */
function ask(client: Merchant, samples: Sample[]): () => Promise<void> {
  let running = true;
  const asking = sampled(client, samples);
  const workers = Array.from({ length: 4 }, async (_, index) => {
    while (running) {
      const reply = index % 2 === 0 ? asking.post('/pix-in', { amount: 10_000 }) : asking.get('/balance');
      await reply.catch(() => null);
      await sleep(25);
    }
  });
  return async () => {
    running = false;
    await Promise.all(workers);
  };
}

/** While the database is away: fast refusals, not ready and saying why, alive. */
async function expectRefusals(server: Server, client: Merchant): Promise<void> {
  const samples: Sample[] = [];
  const leftAt = performance.now();
  const stop = ask(client, samples);
  try {
    await sleep(NOTICED_MS);
    while (performance.now() - leftAt < AWAY_MS) {
      const startedAt = performance.now();
      const [ready, live] = await Promise.all([probe(server, 'readyz'), probe(server, 'livez')]);
      assert.ok(performance.now() - startedAt < 1_000, 'the probes are slow');
      assert.is(ready?.status, 503);
      assert.match(text(ready?.body ?? null, 'reason'), /the database|the store/);
      assert.is(live?.status, 200);
      await sleep(250);
    }
  } finally {
    await stop();
  }
  const late = samples.filter(({ at }) => at - leftAt > NOTICED_MS);
  console.log(
    `${samples.length} requests ${JSON.stringify(tally(samples))}; in the first ${NOTICED_MS} ms at most ${Math.round(percentile(samples, 1))} ms, then half within ${percentile(late, 0.5).toFixed(1)}, 95 % within ${percentile(late, 0.95).toFixed(1)}, all within ${percentile(late, 1).toFixed(1)} ms`,
  );
  assert.ok(late.length > 100, `${late.length} requests`);
  assert.equal(tally(late), { 503: late.length });
  assert.ok(percentile(samples, 1) < 6_500, `an answer took ${percentile(samples, 1)} ms`);
  assert.ok(percentile(late, 0.95) < 100, `95 % within ${percentile(late, 0.95)} ms`);
  assert.ok(percentile(late, 1) < 1_000, `a refusal took ${percentile(late, 1)} ms`);
}

test('for a minute: requests are refused fast, then everything goes on by itself', async () => {
  const receiver = await startReceiver();
  let isUp = false;
  receiver.answer('/hook', () => ({ status: isUp ? 200 : 500 }));
  // The second attempt is due after 1.2 s, a payout's first step after 2 s: both while the database is away.
  const env = { WEBHOOK_RETRY_SCALE: '0.02', SANDBOX_DELAY_MS: '2000' };
  try {
    await withMongod({ members: 1 }, async (mongod) => {
      const { uri } = await freshDatabase(mongod.uri);
      const body = async ([server]: readonly [Server, ...Server[]]): Promise<void> => {
        const pending = await leavePending(server, receiver);
        const { pid } = server;
        const before = residentBytes(pid);
        await mongod.kill(0);
        isUp = true;
        await expectRefusals(server, pending.client);
        const after = residentBytes(pid);
        await mongod.restart(0);
        const restartedAt = performance.now();
        await untilReady(server, BACK_MS);
        console.log(`ready ${Math.round(performance.now() - restartedAt)} ms after the database answered`);
        await expectResumed(pending, receiver);
        assert.is(server.pid, pid);
        if (before !== null && after !== null)
          assert.ok(after - before < MOST_MORE_BYTES, `${Math.round((after - before) / 1e6)} MB more`);
        expectQuietLog(server.stderr());
        await expectVerified(server);
        assert.is(await server.terminate(), 0);
      };
      await withServers(uri, 1, body, env);
    });
  } finally {
    await receiver.close();
  }
});

/** The log tells that the database went and came back, and not the same thing a hundred times. */
function expectQuietLog(stderr: string): void {
  assert.is(/unhandled/i.test(stderr), false, stderr.slice(-3_000));
  const lines = logLines(stderr).map(({ msg }) => String(msg));
  const told = lines.filter((line) => line.includes("database can't be reached"));
  assert.ok(told.length >= 1 && told.length <= 3, `${told.length} times told that it is away`);
  assert.ok(lines.includes('the database is there'), 'not told that it is back');
  assert.ok(lines.length < 200, `${lines.length} lines in ${AWAY_MS} ms`);
}

const folders: string[] = [];

/** A folder that goes at the end. */
async function ownFolder(): Promise<string> {
  const folder = await temporaryFolder();
  folders.push(folder);
  return folder;
}

test.after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** A server process that isn't waited for. */
async function startAway(uri: string): Promise<{ spawned: Spawned; root: string }> {
  const [port, adminPort, folder] = await Promise.all([freePort(), freePort(), ownFolder()]);
  const env = serverEnv(folder, port, adminPort, envOn(uri));
  return { spawned: spawnNode(['dist/src/main.js'], env), root: `http://127.0.0.1:${port}` };
}

async function expectWaiting({ spawned, root }: { spawned: Spawned; root: string }): Promise<void> {
  await until(async () => (await probe({ root }, 'livez'))?.status === 200, 10_000, '/livez');
  const ready = await probe({ root }, 'readyz');
  assert.is(ready?.status, 503);
  assert.match(text(ready?.body ?? null, 'reason'), /waiting for the database/);
  const isTold = () =>
    logLines(spawned.stderr()).some(({ msg }) => String(msg).includes("database can't be reached"));
  await until(isTold, 10_000, 'a line about it');
}

for (const mode of ['refuse', 'stall'] as const) {
  test(`at the start, where the network would ${mode}: a server waits and says so, a command ends`, async () => {
    await withProxiedMongod({ members: 1 }, async (mongod, [proxy]) => {
      const { uri } = await freshDatabase(mongod.uri);
      proxy?.mode(mode);
      const [waiting, ending] = await Promise.all([startAway(uri), startAway(uri)]);
      try {
        await Promise.all([expectWaiting(waiting), expectWaiting(ending)]);
        ending.spawned.child.kill('SIGTERM');
        const ended = await endWithin(ending.spawned, 5_000);
        assert.is(ended.code, 0, ended.stderr);
        const startedAt = performance.now();
        const command = await cli(await ownFolder(), ['account', 'list'], envOn(uri));
        assert.ok(performance.now() - startedAt < 12_000, 'the command took too long');
        assert.is(command.code, 1, command.stderr);
        assert.match(command.stderr, /^[^\n]*can't be reached[^\n]*\n$/);
        proxy?.mode('pass');
        await untilReady(waiting, BACK_MS);
        const listed = await cli(await ownFolder(), ['account', 'list', '--json'], envOn(uri));
        assert.is(listed.code, 0, listed.stderr);
      } finally {
        waiting.spawned.child.kill('SIGTERM');
        await endWithin(waiting.spawned, 15_000);
      }
    });
  });
}

test('requests to a server that waits for its database are refused at once', async () => {
  await withProxiedMongod({ members: 1 }, async (mongod, [proxy]) => {
    const { uri } = await freshDatabase(mongod.uri);
    const first = await startOn(uri);
    try {
      const client = await merchant(first);
      proxy?.mode('refuse');
      await first.kill();
      // Not `restart`: it would wait for readiness.
      const spawned = spawnNode(['dist/src/main.js'], first.env);
      try {
        await until(async () => (await probe(first, 'livez'))?.status === 200, 10_000, '/livez');
        const startedAt = performance.now();
        expectError(await client.get('/balance'), 503, 'SERVICE_UNAVAILABLE');
        expectError(await client.post('/pix-in', { amount: 10_000 }), 503, 'SERVICE_UNAVAILABLE');
        assert.ok(performance.now() - startedAt < 500, 'the refusals took too long');
        proxy?.mode('pass');
        await untilReady(first, BACK_MS);
        await charge(client);
      } finally {
        spawned.child.kill('SIGTERM');
        await endWithin(spawned, 15_000);
      }
    } finally {
      await first.stop();
    }
  });
});

test.run();
