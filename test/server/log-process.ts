/**
 * Writes so many lines to the server's log, and says on stdout that it has; then ends at once where it is told to (`end`),
 * or logs as many more as each number says that comes on stdin, and one last line once that has ended.
 */
import { createInterface } from 'node:readline';
import { openLog } from '../../src/server/log.ts';

const [count = '', then] = process.argv.slice(2);
const log = openLog('info');
let nth = 0;
function write(lines: string): void {
  for (const last = nth + Number(lines); nth < last; ) {
    nth += 1;
    log.info({ nth, padding: '-'.repeat(1_000) }, 'a line');
  }
  process.stdout.write('through\n');
}
write(count);
if (then === 'end') process.exit(3);
const asked = createInterface({ input: process.stdin });
asked.on('line', write);
asked.on('close', () => log.info('the last one'));
