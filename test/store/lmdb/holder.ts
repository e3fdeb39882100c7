/**
 * A process that holds a data folder until it is killed, and has claimed what is due in it.
 *
 *   node --import tsx test/store/lmdb/holder.ts FOLDER
 *
 * It opens the store as a server does, puts one delivery in, which is claimed with it, and prints its incarnation.
 */
import { randomUUID } from 'node:crypto';
import { openFolderStore } from '../../../src/store/open.ts';
import { chargeCreated, grow } from '../contract/builders.ts';

const incarnation = `holder-${randomUUID()}`;
const now = (): number => Date.now();
const { store } = await openFolderStore(process.argv[2] ?? '', {
  ...{ incarnation, now, access: 'hold' },
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
