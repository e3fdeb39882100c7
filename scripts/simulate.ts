/**
 * Simulates clients, the bank, faults and crashes over the real engine, and audits all of it.
 *
 *   npm run simulate -- [--seed N] [--steps M] [--verbose]
 *
 * The same seed and steps do the same, to the byte. Exit 1 with the seed where something must not be.
 */
import { parseArgs } from 'node:util';
import { Simulation, SimulationFailure } from './simulation/simulation.ts';

function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= 0xffffffff) return value;
  process.stderr.write(`--${name} must be a whole number from 0 to ${0xffffffff}, not ${text}\n`);
  process.exit(2);
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '5000' },
    verbose: { type: 'boolean', default: false },
  },
});
const seed = wholeNumber(values.seed, 'seed');
const steps = wholeNumber(values.steps, 'steps');
const log = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const summary = await new Simulation(seed, steps, values.verbose ? log : () => {}).run();
  const { operations, batches, transactions, deliveries, crashes, elapsedMs, head } = summary;
  const { clockSteps, timeouts, faults } = summary;
  const faultCount = Object.values(faults).reduce((sum, count) => sum + count, 0);
  if (values.verbose) log(`faults: ${JSON.stringify(faults)}`);
  log(
    `ok: seed ${seed}, ${steps} steps, ${operations} operations, ${batches} batches, ${transactions} transactions, ` +
      `${deliveries} deliveries, ${crashes} crashes, ${clockSteps} clock steps, ${faultCount} faults, ` +
      `${timeouts} timeouts, ${Math.round(elapsedMs / 1000)} s simulated, head ${head.slice(0, 16)}`,
  );
} catch (error) {
  if (!(error instanceof SimulationFailure)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
