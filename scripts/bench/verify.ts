/**
 * `npm run bench:verify [-- --sizes 20000,200000] [-- --command rebuild]`: the memory of `verify` and its time, over
 * stores of growing size, in a data folder or, with MONGODB_URI, in databases of that server. The same stores each
 * time: so many charges of two accounts, of which each second one is paid once all are there.
 */
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { audit } from './audit.ts';
import { fill } from './fill.ts';
import { atClose, runToEnd, temporaryFolder } from './processes.ts';
import { printTable } from './table.ts';

const ACCOUNTS = 2;
const MOST_GROWTH = 1.1;

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '20000,200000' },
    command: { type: 'string', default: 'verify' },
  },
});

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
    await fill(env, { accounts: ACCOUNTS, charges: size, paidEach: 2 });
    const { peakMb, seconds, entries } = await audit(env, [values.command]);
    peaks.push(peakMb);
    const figures = [seconds.toFixed(1), (entries / seconds).toFixed(0), peakMb.toFixed(0)];
    rows.push([String(size), String(entries), ...figures]);
  }
  printTable(rows);
  const growth = (peaks.at(-1) ?? 0) / (peaks[0] ?? 0);
  console.log(`the peak grows ${growth.toFixed(2)} times; at most ${MOST_GROWTH} is allowed`);
  if (growth > MOST_GROWTH) process.exitCode = 1;
}

await runToEnd(bench);
