import { MongoClient } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ClockBackend } from '../../src/jobs/clock-backend.ts';
import { openMongoBackend } from '../../src/jobs/mongo-backend.ts';
import { backendContract } from '../jobs/backend-contract.ts';
import { fromNow, newJob, present, sleep } from '../jobs/support.ts';
import { freshDatabase } from '../support/mongodb.ts';

const { uri, drop } = await freshDatabase();
const client = new MongoClient(uri);
const db = client.db();
let collections = 0;

backendContract('MongoBackend', async () => {
  collections += 1;
  const collection = `jobs${collections}`;
  return {
    backend: openMongoBackend({ db, now: Date.now, collection }),
    // A last look may still be under way: the client is closed at the very end.
    close: async () => {
      await db.dropCollection(collection);
    },
  };
});

const backendTest = suite('MongoBackend');

backendTest.before.each(async () => {
  await db.dropDatabase();
});

backendTest.after(async () => {
  await drop();
  await client.close();
});

backendTest('makes one collection with the index that scans use, and none for logs', async () => {
  await Promise.all([connect(), connect()]);
  const stored = await db.listCollections().toArray();
  assert.equal(
    stored.map(({ name }) => name),
    ['jobs'],
  );
  const [, index] = await db.collection('jobs').indexes();
  assert.equal(Object.keys(index?.key ?? {}), ['name', 'nextRunAt', 'priority', 'lockedAt', 'disabled']);
  const due = { lockedAt: { $eq: null }, nextRunAt: { $lte: fromNow(0) } };
  const expired = { lockedAt: { $lte: fromNow(-1_000) } };
  const scan = { name: 'tick', disabled: { $ne: true }, $or: [due, expired] };
  const { queryPlanner } = await db
    .collection('jobs')
    .find(scan)
    .sort({ nextRunAt: 1, priority: -1 })
    .explain('queryPlanner');
  const plan = JSON.stringify(queryPlanner.winningPlan);
  assert.match(plan, 'findAndLockNextJobIndex');
  assert.not.match(plan, /COLLSCAN|"SORT"/);
});

backendTest('a recurring job that 32 processes put in at once is one document', async () => {
  const processes = await Promise.all(Array.from({ length: 32 }, () => connect()));
  await Promise.all(processes.map((backend) => backend.saveJob(recurring(), undefined)));
  assert.is(await db.collection('jobs').countDocuments(), 1);
});

backendTest('processes whose clocks differ by ten seconds agree on what is locked and due', async () => {
  const right = await connect();
  const ahead = await connect(() => Date.now() + 10_000);
  await ahead.saveJob(recurring(fromNow(10_000 - 1)), undefined);
  const ofAhead = (deadline: Date) =>
    ahead.getNextJobToRun('tick', fromNow(10_000), deadline, undefined, undefined);
  const locked = present(
    await right.getNextJobToRun('tick', fromNow(0), fromNow(-500), undefined, undefined),
  );
  assert.is(await ofAhead(fromNow(9_500)), undefined, 'the lock is fresh');
  const taken = present(await ofAhead(fromNow(10_500)));
  const lockedAt = present(taken.lockedAt).getTime();
  assert.ok(Math.abs(lockedAt - Date.now() - 10_000) < 1_000, 'in the time of its own clock');
  const { lockedAt: _, ...done } = taken;
  await ahead.saveJobState({ ...done, nextRunAt: fromNow(10_200) }, undefined);
  const [found] = (await right.queryJobs({ names: [locked.name] })).jobs;
  const waitMs = present(present(found).nextRunAt).getTime() - Date.now();
  assert.ok(waitMs > -1_000 && waitMs < 400, `due in ${waitMs} ms`);
});

backendTest(
  'a clock that is set while the process runs is noticed, and what it wrote is mended',
  async () => {
    let offsetMs = 0;
    const backend = await connect(() => Date.now() + offsetMs);
    const job = await backend.saveJob(recurring(), undefined);
    offsetMs = 3_600_000;
    await backend.saveJobState(
      { ...job, lockedAt: fromNow(offsetMs), nextRunAt: fromNow(offsetMs) },
      undefined,
    );
    await sleep(1_100);
    const scan = () =>
      backend.getNextJobToRun('tick', fromNow(offsetMs), fromNow(offsetMs), undefined, undefined);
    assert.ok((await scan()) ?? (await scan()), 'its lock has expired and it is due');
    const stored = present(await db.collection('jobs').findOne({ name: 'tick' }));
    assert.ok(stored.nextRunAt <= fromNow(1_000) && stored.lockedAt <= fromNow(1_000));
  },
);

backendTest.run();

/** The jobs as one process sees them. */
async function connect(now: () => number = Date.now): Promise<ClockBackend> {
  const backend = openMongoBackend({ db, now });
  await backend.connect();
  return backend;
}

function recurring(nextRunAt = fromNow(-1)) {
  return newJob({ name: 'tick', type: 'single', repeatInterval: 200, nextRunAt });
}
