/** What the demo is told with: the shapes that it reads, and how it waits and insists. */
import type { ChildProcess } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { constants } from 'node:os';
import { now } from '../../clock.ts';
import { pause } from '../../waiting.ts';

const PATIENCE_MS = 15_000;

export interface Webhook {
  event: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Issued {
  accountId: string;
  clientId: string;
  clientSecret: string;
  webhooks: { url: string; secret: string }[];
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Something in the demo wasn't as it must be. */
class DemoFailed extends Error {}

export function must(isRight: boolean, what: string): void {
  if (!isRight) throw new DemoFailed(what);
}

export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (now() > end) throw new DemoFailed(`${what} did not happen within ${PATIENCE_MS / 1000} s`);
    await pause(20);
  }
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** The processes of the demo: none of them outlives it. */
export class Children {
  readonly #ends = new Map<ChildProcess, Promise<void>>();
  #isEnding = false;

  /** @throws DemoFailed where all are being ended */
  begin(spawn: () => ChildProcess): ChildProcess {
    must(!this.#isEnding, 'it was ended');
    const child = spawn();
    const end = new Promise<void>((resolve) => {
      child.once('exit', () => resolve()).once('error', () => resolve());
    });
    this.#ends.set(child, end);
    return child;
  }

  /** Ends them all, and begins no more. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const child of this.#ends.keys()) child.kill('SIGTERM');
    await Promise.all(this.#ends.values());
  }
}

/** The exit status for the first signal that is to end this process: of Ctrl+C, or of the terminal's end. */
export function endedBySignal(): Promise<number> {
  return new Promise((resolve) => {
    // Not `once`: a second Ctrl+C would end this process before it has put everything away.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve(128 + constants.signals[signal]));
  });
}
