/**
 * `npm run bench:verify [-- --sizes 20000,200000] [-- --command rebuild]`: the memory of `verify` and its time, over
 * stores of growing size, in a data folder or, with MONGODB_URI, in databases of that server. The same stores each
 * time: so many charges of two accounts, of which each second one is paid once all are there.
 *
 * Memory is the peak of RssAnon, as /proc tells it every 20 ms: what the process holds itself, without the store's file.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import type { Account } from '../../src/domain/account.ts';
import { atClose, output, runToEnd, start, temporaryFolder } from './processes.ts';
import { printTable } from './table.ts';

const ACCOUNTS = 2;
const AT_ONCE = 4_000;
const SAMPLE_MS = 20;
const MOST_GROWTH = 1.1;

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '20000,200000' },
    command: { type: 'string', default: 'verify' },
  },
});

const SETTINGS = {
  webhooks: [],
  allowedIps: ['*'],
  fees: null,
  expiresIn: null,
  maxAmount: null,
  pixKey: null,
  merchantName: null,
  merchantCity: null,
};

async function createCharge({ payments }: Core, owner: Account, n: number): Promise<string> {
  const request = {
    amount: 10_000,
    externalRef: `order ${n}`,
    description: 'A cup of coffee',
    additionalInfo: null,
    customer: { name: 'Ana', document: null, email: null, phone: null },
    metadata: { table: n % 50 },
    expiresIn: null,
  };
  const answer = await payments.createCharge(owner, request, {});
  if (answer.kind !== 'applied') throw new Error(`a charge was answered ${answer.kind}`);
  return answer.record.id;
}

async function pay({ payments, store }: Core, id: string): Promise<void> {
  const record = await store.journal.transaction(id);
  if (record === null) throw new Error(`${id} is gone`);
  await payments.tell(record, { id: `pay ${id}`, type: 'PAY', data: {} }, 'ops');
}

async function inGroups<Item>(items: readonly Item[], work: (item: Item, index: number) => Promise<void>) {
  for (let from = 0; from < items.length; from += AT_ONCE) {
    await Promise.all(items.slice(from, from + AT_ONCE).map((item, index) => work(item, from + index)));
  }
}

async function fill(env: Record<string, string>, size: number): Promise<void> {
  const onFatal = (error: Error): void => {
    throw error;
  };
  const core = await openCore(readConfig(env), { onFatal });
  await core.ready;
  const owners: Account[] = [];
  for (let n = 0; n < ACCOUNTS; n++) {
    const { accountId } = await core.accounts.create({ ...SETTINGS, name: `Shop ${n}` });
    const owner = await core.store.accounts.get(accountId);
    if (owner !== null) owners.push(owner);
  }
  const ids: string[] = new Array(size).fill('');
  await inGroups(ids, async (_, n) => {
    const owner = owners[n % owners.length];
    if (owner !== undefined) ids[n] = await createCharge(core, owner, n);
  });
  await inGroups(
    // Each second one of each account.
    ids.filter((_, n) => Math.floor(n / ACCOUNTS) % 2 === 0),
    (id) => pay(core, id),
  );
  await core.engine.drain(60_000);
  await core.close();
}

/** Bytes that a process holds itself; 0 where it has ended. */
function ownBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

interface Measured {
  peak: number;
  seconds: number;
  entries: number;
}

async function measure(env: Record<string, string>): Promise<Measured> {
  const startedAt = performance.now();
  const child = start(['dist/src/cli/pixstate.js', values.command, '--json'], env);
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, ownBytes(child.pid));
  }, SAMPLE_MS);
  try {
    const report: { ok?: boolean; entries?: number } = JSON.parse(await output(child));
    if (report.ok !== true) throw new Error(`${values.command} says ${JSON.stringify(report).slice(0, 500)}`);
    return { peak, seconds: (performance.now() - startedAt) / 1_000, entries: report.entries ?? 0 };
  } finally {
    clearInterval(timer);
  }
}

async function environmentOf(size: number): Promise<Record<string, string>> {
  const server = process.env.MONGODB_URI;
  if (server === undefined) return { DATA_DIR: temporaryFolder() };
  const uri = new URL(server);
  uri.pathname = `/pixstate_bench_verify_${size}`;
  const drop = async (): Promise<void> => {
    const client = new MongoClient(uri.href);
    await client.db().dropDatabase();
    await client.close();
  };
  await drop();
  atClose(drop);
  return { MONGODB_URI: uri.href, SECRETS_KEY: Buffer.alloc(32).toString('base64') };
}

async function bench(): Promise<void> {
  const rows = [['transactions', 'entries', 'seconds', 'entries/s', 'peak RssAnon, MB']];
  const peaks: number[] = [];
  for (const size of values.sizes.split(',').map(Number)) {
    const env = await environmentOf(size);
    await fill(env, size);
    const { peak, seconds, entries } = await measure(env);
    peaks.push(peak);
    const figures = [seconds.toFixed(1), (entries / seconds).toFixed(0), (peak / 2 ** 20).toFixed(0)];
    rows.push([String(size), String(entries), ...figures]);
  }
  printTable(rows);
  const growth = (peaks.at(-1) ?? 0) / (peaks[0] ?? 0);
  console.log(`the peak grows ${growth.toFixed(2)} times; at most ${MOST_GROWTH} is allowed`);
  if (growth > MOST_GROWTH) process.exitCode = 1;
}

await runToEnd(bench);
