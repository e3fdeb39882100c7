/** The HTTP thread's own module, beside something that fails in it when a test says so. */
import { BroadcastChannel, threadId } from 'node:worker_threads';

/** The thread that is to fail, by its id, or null for all. */
export type Order = { fail: number | null };
/** A thread that has begun. */
export type Word = { began: number };

const channel = new BroadcastChannel('mortal');
channel.onmessage = (event) => {
  const { data } = event as { data: Order | Word };
  if ('fail' in data && (data.fail === null || data.fail === threadId)) throw new Error('broken on purpose');
};
channel.postMessage({ began: threadId } satisfies Word);
await import('../../src/server/threads/worker.ts');
