/**
 * `npm run bench [-- OPTIONS]`: what a request costs, in one run, with durable writes; `-- --help` lists the options,
 * and docs/benchmarks.md tells what the rows are. `-- --sql`: PostgreSQL beside it. `-- --mongodb`: the same on
 * MongoDB, beside the embedded store; see `bench/mongodb/bench.ts`. `-- --against FOLDER`: another build, in turn.
 *
 * The load generator, the receiver and the server share this machine's cores, so rates are of the three
 * together; ratios to bare Koa are of one run. What it does not measure: a network, TLS, a disk under other
 * load, receivers that are slow, data that doesn't fit into memory.
 */
import { againstBench } from './bench/against.ts';
import { embeddedBench } from './bench/embedded.ts';
import { mongodbBench } from './bench/mongodb/bench.ts';
import { OPTIONS, USAGE } from './bench/options.ts';
import { runToEnd } from './bench/processes.ts';
import { missingForSql } from './bench/tools.ts';

if (OPTIONS.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
const missing = OPTIONS.sql ? missingForSql() : null;
if (missing !== null) {
  process.stderr.write(`${missing}\n`);
  process.exit(2);
}
const ofOneBuild = OPTIONS.mongodb ? mongodbBench : embeddedBench;
await runToEnd(OPTIONS.against === '' ? ofOneBuild : againstBench);
