/**
 * Writes so many lines to the server's log, and says on stdout that it has; ends at once where it is told to (`end`), else
 * logs one more once its stdin has ended.
 */
import { openLog } from '../../src/server/log.ts';

const [count = '', then] = process.argv.slice(2);
const log = openLog('info');
for (let nth = 1; nth <= Number(count); nth += 1) log.info({ nth, padding: '-'.repeat(1_000) }, 'a line');
process.stdout.write('through\n');
if (then === 'end') process.exit(3);
process.stdin.resume().on('end', () => log.info('the last one'));
