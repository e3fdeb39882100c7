/** Tells the log of so many items and troubles, all within a second, and ends at once. */
import { openLog } from '../../src/server/log.ts';
import { attentionLog, troubleLog } from '../../src/server/telling.ts';

const count = Number(process.argv[2]);
const log = openLog('info');
const note = attentionLog(log, () => undefined);
const trouble = troubleLog(log);
for (let nth = 1; nth <= count; nth += 1) {
  note({ kind: 'refused', id: `r${nth}`, what: 'x' });
  trouble(new Error('a disk'), { nth });
}
process.exit(0);
