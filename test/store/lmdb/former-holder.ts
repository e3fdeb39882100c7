/**
 * A process that has a data folder as servers of former builds had it, until it is killed: named in the table
 * `lock`, alive by its heartbeat, without a lock of the operating system.
 *
 *   node --import tsx test/store/lmdb/former-holder.ts FOLDER [writing]
 *
 * With `writing` it stays in the middle of a write.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { openFormerTables } from './former-tables.ts';

const { root, lock, beats } = openFormerTables(process.argv[2] ?? '');
const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
const place = `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`;
const since = '2026-01-05T12:00:00.000Z';
const row = { incarnation: 'former', pid: process.pid, started: '4711', place, since };
await root.transaction(() => {
  void lock.put('server', JSON.stringify(row));
  void beats.put('former', Date.now());
});
if (process.argv[3] === 'writing') void root.transaction(() => new Promise(() => {}));
process.stdout.write('serving\n');
setInterval(() => {}, 1_000);
