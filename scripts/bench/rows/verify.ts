/** The rows `verify`: how many entries a second `verify` and `verify --decide` read again. */
import { audit } from '../audit.ts';
import { fill } from '../fill.ts';
import type { Line } from '../line.ts';
import { ACCOUNTS, OPTIONS } from '../options.ts';
import { temporaryFolder } from '../processes.ts';
import { folderEnv } from '../server.ts';

export async function verifyRows(): Promise<Line[]> {
  const env = folderEnv(temporaryFolder());
  const charges = OPTIONS.verified;
  process.stderr.write(`a store of ${charges} charges\n`);
  await fill(env, { accounts: ACCOUNTS, charges, paidEach: 1 });
  const lines: Line[] = [];
  for (const command of [['verify'], ['verify', '--decide']]) {
    const name = `${command.join(' ')} of ${charges} charges`;
    process.stderr.write(`${name}\n`);
    const { entries, seconds, peakMb } = await audit(env, command);
    const figures = { 'rate/s': entries / seconds, 'RssAnon MB': peakMb };
    lines.push({
      name,
      figures,
      notes: ['verify: entries a second, with the start of the command; memory at its peak'],
    });
  }
  return lines;
}
