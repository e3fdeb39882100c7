/**
 * The rows `verify`: how many entries a second `verify` and `verify --decide` read again. Of a store in which charges are
 * paid soon, as most are, and of one in which all were there before the first was paid, which is its worst case.
 */
import { audit } from '../audit.ts';
import { fill } from '../fill.ts';
import type { Line } from '../line.ts';
import { ACCOUNTS, OPTIONS } from '../options.ts';
import { temporaryFolder } from '../processes.ts';
import { folderEnv } from '../server.ts';

const NOTE = 'verify: entries a second, with the start of the command; memory at its peak';

async function rowsOf(when: 'soon' | 'last', commands: readonly string[][]): Promise<Line[]> {
  const env = folderEnv(temporaryFolder());
  const charges = OPTIONS.verified;
  const store = `${charges} charges, paid ${when}`;
  process.stderr.write(`a store of ${store}\n`);
  await fill(env, { accounts: ACCOUNTS, charges, paidEach: 1, paidSoon: when === 'soon' });
  const lines: Line[] = [];
  for (const command of commands) {
    const name = `${command.join(' ')} of ${store}`;
    process.stderr.write(`${name}\n`);
    const { entries, seconds, peakMb } = await audit(env, command);
    lines.push({ name, figures: { 'rate/s': entries / seconds, 'RssAnon MB': peakMb }, notes: [NOTE] });
  }
  return lines;
}

export async function verifyRows(): Promise<Line[]> {
  const soon = await rowsOf('soon', [['verify'], ['verify', '--decide']]);
  return [...soon, ...(await rowsOf('last', [['verify']]))];
}
