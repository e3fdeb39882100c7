/** Agenda's collection dropped while servers run: what is due lies elsewhere, and the jobs come back. */
import type { Db } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expectVerified } from '../faults/scene.ts';
import { merchant } from '../support/client.ts';
import { charge, deliveries, reaches, transfer } from '../support/flows.ts';
import { list, text } from '../support/json.ts';
import { freshDatabase } from '../support/mongodb.ts';
import { startReceiver } from '../support/receiver.ts';
import type { Server } from '../support/server.ts';
import { until } from '../support/wait.ts';
import { logLines, withDb, withServers } from './stage.ts';

const test = suite('jobs dropped');

const ROUNDS = 3;
/** Missed for a second at most, put in again, and run at once; the rest is for a busy machine. */
const BACK_MS = 3_000;

const HOW: readonly [string, (db: Db) => Promise<unknown>][] = [
  ['dropped', (db) => db.collection('jobs').drop()],
  ['emptied', (db) => db.collection('jobs').deleteMany({})],
  [
    'dropped, and its name taken by something else',
    async (db) => {
      await db.collection('jobs').drop();
      await db.collection('jobs').insertOne({ note: 'not a job' });
    },
  ],
];

for (const count of [1, 2]) {
  test(`with ${count} of them running: timers, payouts and retries go on`, async () => {
    const [database, receiver] = await Promise.all([freshDatabase(), startReceiver()]);
    const seen = new Set<unknown>();
    receiver.answer('/hook', (_nth, { headers }) => {
      const isFirst = !seen.has(headers['idempotency-key']);
      seen.add(headers['idempotency-key']);
      return { status: isFirst ? 500 : 200 };
    });
    const tookMs: number[] = [];
    const body = async (servers: readonly [Server, ...Server[]]): Promise<void> => {
      const [client, patient] = await Promise.all([
        merchant(servers[0], ['--balance', '1000000', '--webhook-url', receiver.url()]),
        merchant(servers[0], ['--expires-in', '1']),
      ]);
      await withDb(database.uri, async (db) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const [what, drop] = HOW[round % HOW.length] as (typeof HOW)[number];
          await until(async () => (await db.collection('jobs').countDocuments()) >= 2, BACK_MS, 'the jobs');
          const expiring = text(await charge(patient), 'id');
          await drop(db);
          const droppedAt = performance.now();
          const paying = text(await transfer(client, 1_001), 'id');
          const notified = text(await charge(client), 'id');
          const leftMs = () => Math.max(1, BACK_MS - (performance.now() - droppedAt));
          await reaches(client, 'cashout', paying, 'completed', leftMs());
          const isRetried = async () =>
            (await deliveries(client, notified)).some((one) => list(one, 'attempts').length === 2);
          await until(isRetried, leftMs(), `${what}: the retry`);
          await reaches(patient, 'pix-in', expiring, 'expired', 1_000 + leftMs());
          tookMs.push(Math.round(performance.now() - droppedAt));
        }
      });
      console.log(`${count} running: all done after ${tookMs.join(', ')} ms`);
      for (const server of servers) {
        const failures = logLines(server.stderr()).filter(({ level }) => Number(level) >= 50);
        // A run that was under way finds its job gone, and says so; nothing else fails, and not on and on.
        const others = failures.filter(({ msg }) => msg !== 'a job failed and runs again');
        assert.equal(others, []);
        assert.ok(failures.length <= 4 * ROUNDS, JSON.stringify(failures).slice(0, 2_000));
      }
      await expectVerified(servers[0]);
    };
    try {
      await withServers(database.uri, count, body);
    } finally {
      await receiver.close();
      await database.drop();
    }
  });
}

test.run();
