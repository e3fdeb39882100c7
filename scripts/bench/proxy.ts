/**
 * The network between servers and database, a process of its own: a TCP proxy to the port of the first argument.
 * Prints its own port; each line of its input is a number of milliseconds that a round trip then takes longer, and
 * is answered by `ok`. Ends with its input.
 */
import { createInterface } from 'node:readline';
import { startProxy } from '../../test/support/tcp-proxy.ts';

const proxy = await startProxy({ targetPort: Number(process.argv[2]) });
process.stdout.write(`${proxy.port}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  proxy.latency(Number(line));
  process.stdout.write('ok\n');
}
process.exit();
