/**
 * `npm run bench -- --mongodb [--requests N] [--lifecycles N] [--cache-gb N] [--latency-ms N] [--phases A,B]`:
 * the embedded store and MongoDB in one run, on a replica set of one that the run starts, or on the server of
 * `MONGODB_TEST_URI`. Three phases: `stores` (both, the same rows), `processes` (two servers on one database),
 * `latency` (a longer way to the database).
 *
 * What it does not measure: a replica set of three, whose majority is a network and two more disks away; shards;
 * a network but for the proxy's delay; data that doesn't fit into the cache; TLS; a machine for each: load
 * generator, servers and `mongod` share these cores, so that a server's rate falls with `mongod`'s needs.
 */
import { availableParallelism } from 'node:os';
import { CLIENTS, MANY_CLIENTS, PHASES, REQUESTS } from '../options.ts';
import { latencyPhase } from './latency.ts';
import { processesPhase } from './processes.ts';
import { openMongodb } from './server.ts';
import { storesPhase } from './stores.ts';
import { type Findings, printCommands, printCpu, printRates, printStored } from './tables.ts';

const NOT_MEASURED =
  'Not measured: a majority of more than one member, shards, a network but for a delay, data beyond the cache, TLS. ' +
  'Load generator, servers and mongod share the cores.';

function print(title: string, { rows, sentences }: Findings): void {
  console.log(`\n${title}`);
  printRates(rows);
  printCpu(rows);
  printCommands(rows);
  printStored(rows);
  console.log(`\n${sentences.map((sentence) => `- ${sentence}\n`).join('')}`);
}

/** Measures and prints. */
export async function mongodbBench(): Promise<void> {
  const mongodb = await openMongodb();
  console.log(`${mongodb.name}. ${NOT_MEASURED}`);
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores, ${CLIENTS} and ${MANY_CLIENTS} clients, ${REQUESTS} requests a row`,
  );
  if (PHASES.includes('stores')) print('== The embedded store and MongoDB', await storesPhase(mongodb));
  if (PHASES.includes('processes')) print('== Two servers on one database', await processesPhase(mongodb));
  if (PHASES.includes('latency')) print('== A longer way to the database', await latencyPhase(mongodb));
}
