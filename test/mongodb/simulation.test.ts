/** Short simulations whose processes store their data in MongoDB, with faults and crashes around each command. */
import { createRequire } from 'node:module';
import { MongoClient } from 'mongodb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MongoStores } from '../../scripts/simulation/mongodb/stores.ts';
import { Simulation } from '../../scripts/simulation/simulation.ts';
import type { BankName, Summary } from '../../scripts/simulation/summary.ts';
import { freshDatabase } from '../support/mongodb.ts';

const load = createRequire(import.meta.url);
const test = suite('simulation on mongodb');

/** What a run without a failure came to. @throws SimulationFailure */
async function run(seed: number, steps: number, bank: BankName): Promise<Summary> {
  const { uri, drop } = await freshDatabase();
  try {
    return await new Simulation(seed, steps, {
      bank,
      storesOf: (parts) => new MongoStores(uri, parts),
    }).run();
  } finally {
    await drop();
  }
}

const summaries: Summary[] = [];

for (const [seed, bank] of [
  [24, 'sandbox'],
  [26, 'sandbox'],
  [31, 'sandbox'],
] as const)
  test(`seed ${seed}, ${bank}: commands that fail, crashes between them and clocks that step break nothing`, async () => {
    summaries.push(await run(seed, 400, bank));
  });

test('in these runs enough happened, and enough went wrong, to find something', () => {
  const sum = (count: (summary: Summary) => number): number =>
    summaries.reduce((total, summary) => total + count(summary), 0);
  const faultsAround = (command: RegExp): number =>
    sum(({ faults }) => {
      return Object.entries(faults).reduce((all, [name, count]) => all + (command.test(name) ? count : 0), 0);
    });
  assert.ok(sum(({ transactions }) => transactions) > 30);
  assert.ok(sum(({ deliveries }) => deliveries) > 60);
  assert.ok(sum(({ crashes }) => crashes) > 1);
  assert.ok(sum(({ clockSteps }) => clockSteps) > 2);
  assert.ok(faultsAround(/^before /) > 10);
  assert.ok(faultsAround(/^after (append|insert|update|delete)/) > 5);
  assert.ok(faultsAround(/^parted /) > 5, 'of what was written together some failed');
});

test('the driver has its ways again after a run', async () => {
  const { uri, drop } = await freshDatabase();
  const ways = (): unknown[] => {
    const { Server } = load('mongodb/lib/sdam/server.js');
    const { Topology } = load('mongodb/lib/sdam/topology.js');
    return [Server.prototype.command, Topology.prototype.selectServer, MongoClient.prototype.connect];
  };
  const before = ways();
  await run(1, 1, 'sandbox');
  ways().forEach((way, index) => void assert.is(way, before[index]));
  const client = new MongoClient(uri);
  assert.is((await client.db().command({ ping: 1 })).ok, 1);
  await client.close();
  await drop();
});

test.run();
