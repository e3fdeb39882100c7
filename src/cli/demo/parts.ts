/** What the demo is told with: the shapes that it reads, and how it waits and insists. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
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
export class DemoFailed extends Error {}

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
