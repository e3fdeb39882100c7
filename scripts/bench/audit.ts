/** Runs `verify` or `rebuild` on a store: how long it took, and the peak of what it held itself. */

import { output, start } from './processes.ts';
import { memoryMb } from './usage.ts';

const SAMPLE_MS = 20;

export interface Audit {
  /** The peak of RssAnon, as /proc tells it every 20 ms: without the store's file. */
  peakMb: number;
  seconds: number;
  entries: number;
}

/** @throws where it says that not all is well */
export async function audit(env: Record<string, string>, command: readonly string[]): Promise<Audit> {
  const startedAt = performance.now();
  const child = start(['dist/src/cli/pixstate.js', ...command, '--json'], env);
  let peakMb = 0;
  const timer = setInterval(() => {
    const now = memoryMb(child.pid);
    if (now > peakMb) peakMb = now;
  }, SAMPLE_MS);
  try {
    const report: { ok?: boolean; entries?: number } = JSON.parse(await output(child));
    if (report.ok !== true)
      throw new Error(`${command.join(' ')} says ${JSON.stringify(report).slice(0, 500)}`);
    return { peakMb, seconds: (performance.now() - startedAt) / 1_000, entries: report.entries ?? 0 };
  } finally {
    clearInterval(timer);
  }
}
