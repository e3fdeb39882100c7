/** How long the console's endpoints take in a store that holds much, each held against what is promised. */
import { startConsole, type Visitor, visitor } from '../../../test/console/visitor.ts';
import { at, list, text } from '../../../test/support/json.ts';
import { fill } from '../fill.ts';
import { quantile } from '../line.ts';
import { temporaryFolder } from '../processes.ts';
import { printTable } from '../table.ts';
import { accounts, calls, entry, transactions } from './options.ts';

/** What is promised, ms: p95 of a call. */
const PROMISED_MS = 50;
const PROMISED_FIND_MS = 150;
/** What the process answers first is compiled meanwhile. */
const WARM_CALLS = 5;
const PAID_EACH = 2;

/** A call by what it asks for; `path` has another one each time. */
interface Asked {
  name: string;
  path(n: number): string;
  isFind?: true;
}

/** Ids of the first page that has any: one that has looked back for long ends without. */
async function firstOf(own: Visitor, path: string): Promise<string[]> {
  for (let after: string | null = ''; after !== null; ) {
    const { body } = await own.get(`${path}?limit=100&after=${encodeURIComponent(after)}`);
    const ids = list(body, 'rows').map((row) => text(row, 'id'));
    if (ids.length > 0) return ids;
    after = at(body, 'after') as string | null;
  }
  throw new Error(`${path}: there is nothing`);
}

async function askedOf(own: Visitor): Promise<Asked[]> {
  const [ids, owners] = [await firstOf(own, '/transactions'), await firstOf(own, '/accounts')];
  const one = (all: readonly string[], n: number): string => all[n % all.length] ?? '';
  const day = new Date(Date.now() - 86_400_000).toISOString();
  /** Numbers far from each other, in the same order each time. */
  const spread = (n: number): number => (n * 7_919) % transactions;
  return [
    { name: 'me', path: () => '/me' },
    { name: 'now', path: () => '/now' },
    { name: 'journal', path: () => '/journal' },
    { name: 'transactions', path: () => '/transactions' },
    { name: 'transactions in a state that none has', path: () => '/transactions?status=chargeback' },
    { name: 'transactions of an account', path: (n) => `/transactions?account=${one(owners, n)}` },
    { name: 'a transaction', path: (n) => `/transactions/${one(ids, n)}` },
    { name: 'deliveries', path: () => '/deliveries' },
    { name: 'dead deliveries', path: () => '/deliveries?status=dead' },
    { name: 'URLs', path: () => '/urls' },
    { name: 'accounts', path: () => '/accounts' },
    { name: 'accounts by name', path: (n) => `/accounts?q=Shop%20${n % accounts}` },
    { name: 'an account', path: (n) => `/accounts/${one(owners, n)}` },
    { name: 'a statement', path: (n) => `/accounts/${one(owners, n)}/statement` },
    { name: 'what was done by hand', path: (n) => `/accounts/${one(owners, n)}/statement?door=ops` },
    { name: 'the curve of a balance', path: (n) => `/accounts/${one(owners, n)}/curve?from=${day}` },
    { name: 'find by id', path: (n) => `/find?q=${one(ids, n)}`, isFind: true },
    { name: 'find by externalRef', path: (n) => `/find?q=order%20${spread(n)}`, isFind: true },
    { name: 'find by idempotencyKey', path: (n) => `/find?q=transfer%20${n % accounts}`, isFind: true },
    { name: 'find what is not there', path: (n) => `/find?q=nothing%20${n}`, isFind: true },
  ];
}

async function timesOf(own: Visitor, { name, path }: Asked): Promise<number[]> {
  const times: number[] = [];
  for (let n = -WARM_CALLS; n < calls; n++) {
    const started = performance.now();
    const reply = await own.get(path(n + WARM_CALLS));
    if (reply.status !== 200) throw new Error(`${name}: ${reply.status} ${reply.text}`);
    if (n >= 0) times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b);
}

/** Fills a store, asks, and prints; what takes longer than promised fails the run. */
export async function answers(): Promise<void> {
  const dataDir = temporaryFolder();
  process.stderr.write(`${transactions} transactions of ${accounts} accounts\n`);
  const filling = { accounts, charges: transactions, paidEach: PAID_EACH, withTransfers: true } as const;
  await fill({ DATA_DIR: dataDir }, filling);
  const server = await startConsole({ dataDir, entry });
  try {
    const own = await visitor(server);
    const rows = [['call', 'p50 ms', 'p95 ms', 'worst ms']];
    for (const asked of await askedOf(own)) {
      const times = await timesOf(own, asked);
      rows.push([asked.name, ...[0.5, 0.95, 1].map((share) => quantile(times, share).toFixed(1))]);
      const p95 = quantile(times, 0.95);
      const promised = asked.isFind ? PROMISED_FIND_MS : PROMISED_MS;
      if (p95 <= promised) continue;
      console.error(`${asked.name}: p95 of ${p95.toFixed(1)} ms is more than ${promised}`);
      process.exitCode = 1;
    }
    printTable(rows);
  } finally {
    await server.terminate();
  }
}
