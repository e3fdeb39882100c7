/**
 * Creations beside deliveries that wait, against the same without any: the rows `backlog` (they drain as fast as the
 * receiver takes them) and `hanging` (the one URL that they are for never answers).
 */
import { fill } from '../fill.ts';
import type { Line } from '../line.ts';
import { setAgainst, warmRow } from '../measure.ts';
import { ACCOUNTS, OPTIONS } from '../options.ts';
import { stop, temporaryFolder } from '../processes.ts';
import { accounts, folderEnv, type Receiver, type Seen, serve, startReceiver } from '../server.ts';
import { creations, WAITS } from '../texts.ts';

/** A paid charge tells of its creation and of its payment. */
const EVENTS = 2;
const NONE = 'the same without';

async function creationsOn(folder: string, name: string): Promise<Line> {
  const env = folderEnv(folder);
  const credentials = await accounts(env, ACCOUNTS);
  const server = await serve(env);
  const line = await warmRow(name, server, creations('pix-in', credentials, WAITS['pix-in']));
  await stop(server.child);
  return line;
}

/** How many deliveries were left, and whether the row went on once there were none: then it is in part one without. */
export function drainText(
  deliveries: number,
  { atStart, atEnd, lastAt }: { atStart: number; atEnd: number; lastAt: number },
  row: { from: number; seconds: number },
): string {
  const left = `of ${deliveries} deliveries ${atStart} were left before the warm-up, ${atEnd} after the row`;
  if (atEnd > 0) return left;
  const beside = Math.max(0, (lastAt - row.from) / 1000).toFixed(1);
  return `${left}: THEY DRAINED FOR THE FIRST ${beside} OF ITS ${row.seconds} s ONLY (more of them: --deliveries)`;
}

/** Creations on a store in which so many deliveries to the receiver are due. */
async function beside(name: string, deliveries: number, receiver: Receiver): Promise<Line> {
  const folder = temporaryFolder();
  process.stderr.write(`a store in which ${deliveries} deliveries are due\n`);
  const charges = Math.ceil(deliveries / EVENTS);
  await fill(folderEnv(folder), { accounts: ACCOUNTS, charges, paidEach: 1, url: receiver.url });
  const env = folderEnv(folder);
  const credentials = await accounts(env, ACCOUNTS);
  const before = (await receiver.seen()).count;
  const server = await serve(env);
  const left = ({ count }: Seen): number => deliveries - (count - before);
  const atStart = left(await receiver.seen());
  const line = await warmRow(name, server, creations('pix-in', credentials, WAITS['pix-in']));
  const from = Date.now() - OPTIONS.seconds * 1000;
  const seen = await receiver.seen();
  await stop(server.child);
  const drain = { atStart, atEnd: left(seen), lastAt: seen.last };
  const text = drainText(deliveries, drain, { from, seconds: OPTIONS.seconds });
  line.notes.push(`${name}: ${text}`);
  return line;
}

async function pair(name: string, deliveries: number, manner: 'answers' | 'hang'): Promise<Line[]> {
  const receiver = await startReceiver(manner);
  const without = await creationsOn(temporaryFolder(), `POST /pix-in, nothing waits (for "${name}")`);
  const line = await beside(`POST /pix-in, ${name}`, deliveries, receiver);
  await receiver.stop();
  setAgainst(line, NONE, [without]);
  return [without, line];
}

export function backlogRows(): Promise<Line[]> {
  const { deliveries } = OPTIONS;
  return pair(`while ${deliveries} deliveries drain`, deliveries, 'answers');
}

export function hangingRows(): Promise<Line[]> {
  const { waiting } = OPTIONS;
  return pair(`while one URL hangs, ${waiting} wait`, waiting, 'hang');
}
