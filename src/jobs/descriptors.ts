/**
 * Tells ops before the process has no file descriptors left. Node doesn't: it closes connections that come then, before
 * anything is read of them, and webhooks, the bank and the store's files fail one by one. On Linux alone.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { RecurringJob } from './recurring-job.ts';

const LOOK_MS = 10_000;
/** The share in use from which it is told, and below which it would be news again. */
const NEARLY_ALL = 0.8;
const FEWER = 0.7;

/** How many there may be; null: not said, or any number. */
async function mostDescriptors(): Promise<number | null> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === '' ? null : Number(soft);
}

export class DescriptorWatch {
  readonly #onNotice: (text: string) => void;
  #most: number | null | undefined;
  #isTold = false;

  /** `onNotice` tells ops in a sentence. */
  constructor(onNotice: (text: string) => void) {
    this.#onNotice = onNotice;
  }

  get jobs(): RecurringJob[] {
    return [{ name: 'descriptors', everyMs: LOOK_MS, run: () => this.look() }];
  }

  async look(): Promise<void> {
    if (this.#most === undefined) this.#most = await mostDescriptors();
    if (this.#most === null) return;
    // The list is read by a descriptor of its own.
    const open = (await readdir('/proc/self/fd')).length - 1;
    const share = open / this.#most;
    if (share < FEWER) this.#isTold = false;
    if (share < NEARLY_ALL || this.#isTold) return;
    this.#isTold = true;
    this.#onNotice(
      `${open} of ${this.#most} file descriptors are in use (ulimit -n): without any, connections are closed unanswered`,
    );
  }
}
