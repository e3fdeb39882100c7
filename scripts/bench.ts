/**
 * `npm run bench [-- --requests N] [-- --clients N] [-- --lifecycles N]`: what a request costs, in one run, with
 * durable writes. `-- --mongodb`: the same on MongoDB, beside the embedded store; see `bench/mongodb/bench.ts`.
 *
 * The load generator, the receiver and the server share this machine's cores, so rates are of the three
 * together; ratios to bare Koa are of one run. What it does not measure: a network, TLS, a disk under other
 * load, receivers that are slow, data that doesn't fit into memory.
 */
import { embeddedBench } from './bench/embedded.ts';
import { mongodbBench } from './bench/mongodb/bench.ts';
import { runToEnd } from './bench/processes.ts';

await runToEnd(process.argv.includes('--mongodb') ? mongodbBench : embeddedBench);
