/**
 * A process that holds a data folder until it is killed, and has claimed what is due in it.
 *
 *   node --import tsx test/store/lmdb/holder.ts FOLDER
 *
 * It opens the store as a server does, puts one delivery in, which is claimed with it, and prints its incarnation.
 */
import { randomUUID } from 'node:crypto';
import { takeWithPrecedence } from '../../../src/holder/hold.ts';
import { openFolderStore } from '../../../src/store/open.ts';
import { chargeCreated, grow } from '../contract/builders.ts';

const incarnation = `holder-${randomUUID()}`;
const now = (): number => Date.now();
const folder = process.argv[2] ?? '';
const since = new Date(now()).toISOString();
const self = { incarnation, pid: process.pid, since, version: '1.2.3', what: 'serve' };
await takeWithPrecedence(folder, self, new Promise(() => {}));
const { store } = await openFolderStore(folder, {
  ...{ incarnation, now, access: 'make' },
  onFatal: (error) => {
    throw error;
  },
});
// By its heartbeat it lives long after its death: only who follows it on the folder knows better.
await store.due.beat(now() + 3_600_000);
const charge = chargeCreated(now(), { urls: ['https://example.com/hook'] });
const { claims } = await grow(store, randomUUID(), [charge], { claimUntil: now() + 60_000 });
process.stdout.write(`${JSON.stringify({ incarnation, claims: claims.map(({ due }) => due.kind) })}\n`);
setInterval(() => {}, 1_000);
