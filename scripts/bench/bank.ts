/**
 * `npm run bench:bank [-- --payments 100000]`: what a real bank's protocol costs, with the bank of the tests over TLS
 * beside it: charges that are registered there, also 200 at once while it takes 300 ms for each, callbacks of 500
 * elements, and `bank reconcile` over all that was paid, with the server's memory meanwhile. It fails where a bound
 * doesn't hold.
 *
 * It doesn't measure a bank: this one answers at once, on the same cores.
 */
import { parseArgs } from 'node:util';
import { hint, serve } from '../../test/bank/served/scene.ts';
import { FakeBank } from '../../test/support/bank/bank.ts';
import { type FakePayment, shownPayment } from '../../test/support/bank/state.ts';
import { type Merchant, merchants } from '../../test/support/client.ts';
import { at, text, whole } from '../../test/support/json.ts';
import { endWithin, spawnNode } from '../../test/support/process.ts';
import type { Server } from '../../test/support/server.ts';
import { sleep } from '../../test/support/wait.ts';
import { quantile } from './line.ts';
import { nodeFlags } from './server.ts';
import { printTable } from './table.ts';
import { cpuOf, memoryMb } from './usage.ts';

const ACCOUNTS = 16;
const CLIENTS = 32;
const ELEMENTS = 500;
const AT_ONCE = 200;
const SLOW_MS = 300;
const AMOUNT = 5_000;
const SAMPLE_MS = 50;
const HOUR_MS = 3_600_000;
/** A machine that is busy with other things takes long. */
const RECONCILED_MS = 600_000;

/** What is promised: of 200 charges at once two rounds of 100 calls, and as much again; the others as they are said. */
const BOUNDS = { atOnceS: 4 * (SLOW_MS / 1_000), callbackMs: 1_000, reconcileS: 120, rssMb: 300 };

const { values } = parseArgs({ options: { payments: { type: 'string', default: '100000' } } });
const count = Number(values.payments);

/** Their ids, and what they bring in together, cents. */
async function create(owners: readonly Merchant[]): Promise<{ ids: string[]; net: number }> {
  const ids: string[] = [];
  let net = 0;
  let next = 0;
  const one = async (): Promise<void> => {
    for (; next < count; ) {
      const owner = owners[next % owners.length];
      next += 1;
      const reply = await owner?.post('/pix-in', { amount: AMOUNT });
      if (reply?.status !== 201) throw new Error(`a charge was answered ${reply?.status}`);
      ids.push(text(reply.body, 'id'));
      net += whole(at(reply.body, 'fee'), 'netAmount');
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
  return { ids, net };
}

/** Charges at once at a bank that takes its time; each answer's time, ms. */
async function createAtOnce(bank: FakeBank, owners: readonly Merchant[]): Promise<number[]> {
  bank.fault('PUT cob', { kind: 'slow', ms: SLOW_MS }, AT_ONCE);
  const one = async (index: number): Promise<number> => {
    const started = performance.now();
    const reply = await owners[index % owners.length]?.post('/pix-in', { amount: AMOUNT });
    if (reply?.status !== 201) throw new Error(`a charge was answered ${reply?.status}`);
    return performance.now() - started;
  };
  const times = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => one(index)));
  return times.sort((a, b) => a - b);
}

/** Each charge is paid at the bank, which calls back; the times that the door took, ms. */
async function pay(bank: FakeBank, server: Server, ids: readonly string[]): Promise<number[]> {
  const [key = ''] = [...bank.options.keys];
  const payments = ids.map((id) => bank.state.pay({ txid: id.replaceAll('-', ''), amount: '50.00', key }));
  const times: number[] = [];
  for (let from = 0; from < payments.length; from += ELEMENTS) {
    const started = performance.now();
    const elements = payments
      .slice(from, from + ELEMENTS)
      .map((payment: FakePayment) => shownPayment(payment));
    // 503: come again, as a bank does.
    for (let status = 0; status !== 200; ) {
      status = await hint({ bank, server }, elements);
      if (status !== 200 && status !== 503) throw new Error(`a callback was answered ${status}`);
    }
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b);
}

/** Until all of it is on the accounts. */
async function untilBooked(owners: readonly Merchant[], net: number): Promise<void> {
  for (;;) {
    const balances = await Promise.all(owners.map((owner) => owner.balance()));
    if (balances.reduce((sum, balance) => sum + balance, 0) === net) return;
    await sleep(SAMPLE_MS);
  }
}

/** The peak of a process's own memory while something is done, MB. */
async function peakOf(pid: number, work: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, memoryMb(pid));
  }, SAMPLE_MS);
  try {
    await work();
    return peak;
  } finally {
    clearInterval(timer);
  }
}

async function reconcile(server: Server): Promise<void> {
  const [from, to] = [Date.now() - 24 * HOUR_MS, Date.now()].map((at) => new Date(at).toISOString());
  const command = ['bank', 'reconcile', '--from', from ?? '', '--to', to ?? '', '--json'];
  const spawned = spawnNode(['dist/src/cli/pixstate.js', ...command], server.env);
  const { code, stdout } = await endWithin(spawned, RECONCILED_MS);
  const report = JSON.parse(stdout);
  if (code !== 0 || report.payments.count !== count || report.journal.payments.count !== count)
    throw new Error(`bank reconcile: ${stdout.slice(0, 500)}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}

async function measure(bank: FakeBank, server: Server): Promise<void> {
  const owners = await merchants(server, ACCOUNTS);
  let ids: string[] = [];
  let net = 0;
  const creating = await timed(async () => {
    ({ ids, net } = await create(owners));
  });
  const atOnce = await createAtOnce(bank, owners);
  let doors: number[] = [];
  const booking = await timed(async () => {
    doors = await pay(bank, server, ids);
    await untilBooked(owners, net);
  });
  const before = memoryMb(server.pid);
  let peak = 0;
  const cpuBefore = cpuOf(server.pid);
  const reconciling = await timed(async () => {
    peak = await peakOf(server.pid, () => reconcile(server));
  });
  const both = (times: readonly number[]): string =>
    `${quantile(times, 0.5).toFixed(0)}, ${quantile(times, 1).toFixed(0)}`;
  printTable([
    ['what', 'figure'],
    ['payments', String(count)],
    ['charges registered a second', (count / creating).toFixed(0)],
    [`${AT_ONCE} charges at once, ${SLOW_MS} ms at the bank, ms: median, longest`, both(atOnce)],
    [`callbacks of ${ELEMENTS} elements, ms: median, longest`, both(doors)],
    ['payments booked a second', (count / booking).toFixed(0)],
    ['bank reconcile, s', reconciling.toFixed(1)],
    ['of which the server worked, CPU s', (cpuOf(server.pid) - cpuBefore).toFixed(1)],
    ['RssAnon of the server, MB: before, peak', `${before.toFixed(0)}, ${peak.toFixed(0)}`],
  ]);
  expectBounds({
    atOnceS: quantile(atOnce, 1) / 1_000,
    callbackMs: quantile(doors, 1),
    reconcileS: reconciling,
    rssMb: peak,
  });
}

function expectBounds(measured: typeof BOUNDS): void {
  for (const name of Object.keys(BOUNDS) as (keyof typeof BOUNDS)[]) {
    if (measured[name] <= BOUNDS[name]) continue;
    console.error(`${name}: ${measured[name].toFixed(1)} is more than ${BOUNDS[name]}`);
    process.exitCode = 1;
  }
}

const bank = await FakeBank.start({});
try {
  const server = await serve(bank, {}, { entry: [...nodeFlags(), 'dist/src/main.js'] });
  try {
    await measure(bank, server);
  } finally {
    await server.stop();
  }
} finally {
  await bank.stop();
}
