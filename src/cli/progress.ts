/** How far long work has come, told on stderr now and then: stdout is for what comes out of it. */

/** What was read so far. */
export interface Progress {
  accounts: number;
  entries: number;
}

export interface ProgressOptions {
  /** The command. */
  name: string;
  write(line: string): void;
  everyMs?: number;
}

const TOLD_EVERY_MS = 2_000;

/** Does the work, which says how far it has come; writes a line of that every two seconds. */
export async function withProgress<Result>(
  { name, write, everyMs = TOLD_EVERY_MS }: ProgressOptions,
  work: (onPage: (progress: Progress) => void) => Promise<Result>,
): Promise<Result> {
  let progress: Progress = { accounts: 0, entries: 0 };
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const { accounts, entries } = progress;
    const rate = Math.round((entries * 1_000) / (performance.now() - startedAt));
    write(`${name}: ${accounts} accounts, ${entries} entries, ${rate} entries/s\n`);
  }, everyMs);
  try {
    return await work((reached) => {
      progress = reached;
    });
  } finally {
    clearInterval(timer);
  }
}
