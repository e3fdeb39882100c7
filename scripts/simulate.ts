/**
 * Simulates clients, the bank, faults and crashes over the real engine, and audits all of it.
 *
 *   npm run simulate -- [--seed N] [--steps M] [--bank sandbox|api-pix] [--mongodb] [--verbose] [--help]
 *
 * Without --bank the seed decides whose adapter the processes run. The same seed and steps do the same, to the byte. Exit 1 with the seed where something must not be.
 * With --mongodb the processes store their data in a new database of the server of MONGODB_TEST_URI: `npm run
 * simulate:mongodb` starts one.
 */
import { parseArgs } from 'node:util';
import { Simulation, SimulationFailure } from './simulation/simulation.ts';
import type { BankName, SimulationOptions } from './simulation/summary.ts';

function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= 0xffffffff) return value;
  process.stderr.write(`--${name} must be a whole number from 0 to ${0xffffffff}, not ${text}\n`);
  process.exit(2);
}

const HELP = `npm run simulate -- [--seed N] [--steps M] [--bank sandbox|api-pix] [--mongodb] [--verbose]

  --seed N      what decides all that could go either way (1)
  --steps M     how long it lasts (5000)
  --bank NAME   whose adapter the processes run: sandbox, or api-pix; the seed decides without
  --mongodb     on the server of MONGODB_TEST_URI, in a new database (npm run simulate:mongodb), in place of a store in memory
  --verbose     each step, and what went wrong how often
`;

function bankName(text: string): BankName {
  if (text === 'sandbox' || text === 'api-pix') return text;
  process.stderr.write(`--bank must be sandbox or api-pix, not ${text}\n`);
  process.exit(2);
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '5000' },
    bank: { type: 'string' },
    mongodb: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const seed = wholeNumber(values.seed, 'seed');
const steps = wholeNumber(values.steps, 'steps');
const forced = values.bank === undefined ? {} : { bank: bankName(values.bank) };
const log = (line: string): void => void process.stdout.write(`${line}\n`);

/** A new database, which goes at the end. */
async function onMongodb(): Promise<{ options: Pick<SimulationOptions, 'storesOf'>; drop(): Promise<void> }> {
  if (!process.env.MONGODB_TEST_URI) {
    process.stderr.write('--mongodb needs a server: MONGODB_TEST_URI, or npm run simulate:mongodb\n');
    process.exit(2);
  }
  // The driver is loaded only where it is used.
  const { MongoStores } = await import('./simulation/mongodb/stores.ts');
  const { freshDatabase } = await import('../test/support/mongodb.ts');
  const { uri, drop } = await freshDatabase();
  return { options: { storesOf: (parts) => new MongoStores(uri, parts) }, drop };
}

const place = values.mongodb ? await onMongodb() : null;

try {
  const options = { ...forced, ...place?.options, ...(values.verbose ? { log } : {}) };
  const summary = await new Simulation(seed, steps, options).run();
  const { operations, batches, transactions, deliveries, crashes, elapsedMs, head } = summary;
  const { bank, clockSteps, timeouts, faults } = summary;
  const faultCount = Object.values(faults).reduce((sum, count) => sum + count, 0);
  if (values.verbose)
    log(`faults: ${JSON.stringify(faults)}\nat the bank: ${JSON.stringify(summary.atBank)}`);
  log(
    `ok: seed ${seed}, ${steps} steps, bank ${bank}, ${operations} operations, ${batches} batches, ${transactions} transactions, ` +
      `${deliveries} deliveries, ${crashes} crashes, ${clockSteps} clock steps, ${faultCount} faults, ` +
      `${timeouts} timeouts, ${Math.round(elapsedMs / 1000)} s simulated, head ${head.slice(0, 16)}`,
  );
} catch (error) {
  if (!(error instanceof SimulationFailure)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await place?.drop();
}
