/**
 * Streams to clients that don't read, on the embedded store while it grows fast: what waits for them is bounded, and
 * what was lost to them is counted. Over sockets of the file system, which hold little.
 */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, request, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import Koa from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newIncarnation, now } from '../../src/clock.ts';
import { openSession } from '../../src/console/passes.ts';
import { Live } from '../../src/console/server/live/live.ts';
import { SignIn } from '../../src/console/server/sign-in.ts';
import { type Follower, type OpenStore, openFolderStore, openFollower } from '../../src/store/open.ts';
import { turn } from '../../src/waiting.ts';
import { chargeCreated, grow } from '../store/contract/builders.ts';
import { temporaryFolder } from '../support/process.ts';
import { until } from '../support/wait.ts';

interface Scene {
  folder: string;
  opened: OpenStore;
  follower: Follower;
  server: Server;
  live: Live;
  failures: unknown[];
  /** Of all streams. */
  answers: ServerResponse[];
  headers: Record<string, string>;
}

const test = suite<Scene>('streams');

test.before.each(async (context) => {
  const folder = await temporaryFolder();
  const incarnation = newIncarnation();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const opened = await openFolderStore(folder, { incarnation, now, access: 'make', onFatal });
  const follower = await openFollower({ dataDir: folder, mongodbUri: null }, { incarnation, now });
  const { marks } = opened.store;
  const swapMark = marks.swapMark.bind(marks);
  const signIn = new SignIn({
    ...{ sandbox: true, version: '0', isSecure: false, proxy: null, onSignIn: () => {} },
  });
  const failures: unknown[] = [];
  const live = new Live({ follower, signIn, swapMark, onFailure: (error) => failures.push(error) });
  const { cookie, half } = await openSession(marks, { by: 'Eva', role: 'viewer' }, now());
  const answers: ServerResponse[] = [];
  const app = new Koa();
  app.use(async (ctx) => {
    answers.push(ctx.res);
    // Whoever doesn't say a name is somebody of their own: nobody has thirty.
    const by = ctx.get('x-name') || `Eva ${answers.length}`;
    try {
      live.open(ctx, { by, role: 'viewer', session: null });
    } catch (error) {
      ctx.body = (error as Error).message;
    }
  });
  const server = createServer(app.callback()).listen(join(folder, 'streams'));
  await once(server, 'listening');
  const headers = { cookie: `pixstate=${cookie}`, 'x-pixstate-session': half };
  Object.assign(context, { folder, opened, follower, server, live, failures, answers, headers });
});
test.after.each(async ({ folder, opened, follower, server, live, failures }) => {
  live.close();
  server.closeAllConnections();
  server.close();
  await follower.close();
  await opened.close();
  await rm(folder, { recursive: true });
  assert.equal(failures, []);
});

/** A client that has been greeted. */
class Client {
  heard = '';
  readonly #answer: IncomingMessage;

  private constructor(answer: IncomingMessage) {
    this.#answer = answer;
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => {
      this.heard += text;
    });
    answer.on('error', () => {});
  }

  static async greeted({ folder, headers }: Scene): Promise<Client> {
    const asked = request({ socketPath: join(folder, 'streams'), path: '/', headers, agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const client = new Client(answer);
    await until(async () => client.heard.includes('hello'), 5_000, 'hello');
    return client;
  }

  /** Reads no more. */
  pause(): void {
    this.#answer.pause();
  }

  resume(): void {
    this.#answer.resume();
  }

  /** What it was told of entries. */
  get counts(): { rows: number; missed: number; largest: number } {
    const events = this.heard
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{"event":"entries"'))
      .map((line) => JSON.parse(line) as { rows: unknown[]; missed: number });
    return {
      rows: events.reduce((sum, { rows }) => sum + rows.length, 0),
      missed: events.reduce((sum, { missed }) => sum + missed, 0),
      largest: Math.max(0, ...events.map(({ rows }) => rows.length)),
    };
  }
}

const ACCOUNTS = 10;
const A_BATCH = 100;

/** Grows the journals of ten accounts. */
async function growBy({ store }: OpenStore, rounds: number): Promise<number> {
  for (let round = 0; round < rounds; round++) {
    const grown = Array.from({ length: ACCOUNTS }, (_, index) =>
      grow(
        store,
        `acc_${index}`,
        Array.from({ length: A_BATCH }, () => chargeCreated(now())),
      ),
    );
    await Promise.all(grown);
    await turn();
  }
  return rounds * ACCOUNTS * A_BATCH;
}

test('thirty clients that stop reading hold little each, and hear how much they missed', async (scene) => {
  const { opened, answers } = scene;
  const reader = await Client.greeted(scene);
  const deaf: Client[] = [];
  for (let count = 0; count < 30; count++) deaf.push(await Client.greeted(scene));
  for (const client of deaf) client.pause();
  let total = 0;
  let most = 0;
  let rounds = 0;
  // Until each of them has filled its socket, and a while longer.
  const isFull = (): boolean => answers.slice(1).every((answer) => answer.writableNeedDrain);
  for (let after = 0; after < 5 && rounds < 400; rounds++) {
    total += await growBy(opened, 1);
    if (isFull()) after += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
    most = Math.max(most, ...answers.map(({ writableLength }) => writableLength));
  }
  assert.ok(isFull(), 'they are full');
  assert.ok(most < 200 * 500 * 1.5, `at most ${most} bytes wait for one`);
  for (const client of deaf) client.resume();
  const isWhole = ({ counts }: Client): boolean => counts.rows + counts.missed === total;
  await until(async () => [reader, ...deaf].every(isWhole), 10_000, 'each hears of all');
  for (const { counts } of deaf) {
    assert.ok(counts.missed > 0);
    assert.ok(counts.largest <= 200);
  }
});

test('ten thousand entries at once are told as far as there is room, and counted', async (scene) => {
  const client = await Client.greeted(scene);
  const total = await growBy(scene.opened, 10);
  const { counts } = client;
  assert.ok(counts.rows + counts.missed <= total);
  await until(
    async () => client.counts.rows + client.counts.missed === total,
    10_000,
    'all are told or counted',
  );
  assert.ok(client.counts.missed > 0);
});

test('whom a proxy has signed in has eight streams, and others have their own', async (scene) => {
  const ofIda = { ...scene, headers: { ...scene.headers, 'x-name': 'Ida' } };
  for (let count = 0; count < 8; count++) await Client.greeted(ofIda);
  const asked = request({
    ...{ socketPath: join(scene.folder, 'streams'), path: '/', headers: ofIda.headers, agent: false },
  }).end();
  const [refused] = (await once(asked, 'response')) as [IncomingMessage];
  assert.match((await refused.toArray()).join(''), /at most 8 live pages/);
  await Client.greeted({ ...scene, headers: { ...scene.headers, 'x-name': 'Ugo' } });
});

test('where nobody watches nothing is read, and who comes later hears what comes from then on', async (scene) => {
  const { opened, live } = scene;
  await growBy(opened, 1);
  const client = await Client.greeted(scene);
  await growBy(opened, 1);
  await until(async () => client.counts.rows + client.counts.missed === 1_000, 5_000, 'the new ones');
  live.close();
  await until(async () => client.heard.includes('"bye"'), 5_000, 'bye');
});

test.run();
