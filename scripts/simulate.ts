/**
 * Simulates clients, the bank, faults and crashes over the real engine, and audits all of it.
 *
 *   npm run simulate -- [--seed N] [--steps M] [--bank sandbox|api-pix] [--verbose] [--help]
 *
 * Without --bank the seed decides whose adapter the processes run. The same seed and steps do the same, to the byte. Exit 1 with the seed where something must not be.
 */
import { parseArgs } from 'node:util';
import { Simulation, SimulationFailure } from './simulation/simulation.ts';
import type { BankName } from './simulation/summary.ts';

function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value <= 0xffffffff) return value;
  process.stderr.write(`--${name} must be a whole number from 0 to ${0xffffffff}, not ${text}\n`);
  process.exit(2);
}

const HELP = `npm run simulate -- [--seed N] [--steps M] [--bank sandbox|api-pix] [--verbose]

  --seed N      what decides all that could go either way (1)
  --steps M     how long it lasts (5000)
  --bank NAME   whose adapter the processes run: sandbox, or api-pix; the seed decides without
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

try {
  const summary = await new Simulation(seed, steps, { ...forced, ...(values.verbose ? { log } : {}) }).run();
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
}
