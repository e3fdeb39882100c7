/**
 * A process that writes ahead of the mark once it is asked to.
 *
 *   node --import tsx test/store/lmdb/writing-ahead.ts FOLDER
 *
 * It opens the store, prints a line, waits until FOLDER has a file `go`, creates as many charges as have their lookups
 * written by themselves, makes a file `gone`, and stays.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { openLmdbStore } from '../../../src/store/lmdb/store.ts';
import { sleep } from '../../support/wait.ts';
import { chargeCreated, grow } from '../contract/builders.ts';
import { storeOptions, WRITTEN_MS } from './opened.ts';

const AT = Date.UTC(2026, 0, 5, 12);
const CHARGES = 2_100;
/** What goes ahead is written by then; all else isn't yet. */
const AHEAD_MS = 150;

const folder = process.argv[2] ?? '';
const store = await openLmdbStore(storeOptions(folder, () => AT));
const account = randomUUID();
const charge = (): ReturnType<typeof chargeCreated> => chargeCreated(AT, { externalRef: randomUUID() });
await grow(store, account, [charge()]);
await sleep(WRITTEN_MS);
process.stdout.write('ready\n');
while (!existsSync(`${folder}/go`)) await sleep(5);
await grow(store, account, Array.from({ length: CHARGES }, charge));
await sleep(AHEAD_MS);
writeFileSync(`${folder}/gone`, '');
setInterval(() => {}, 1_000);
