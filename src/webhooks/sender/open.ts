import { type SenderLimits, senderLimits } from './limits.ts';
import { LocalSender } from './local.ts';
import type { WebhookSender } from './port.ts';
import { ThreadSender } from './thread.ts';

/** Bounds that are left out take the defaults of `senderLimits`. */
export interface SenderOptions extends Partial<SenderLimits> {
  /** Whether private, loopback and other non-public addresses may be called. */
  allowPrivate: boolean;
  /** True: the requests run in a worker thread, with the thread's own clock. */
  thread: boolean;
  /** Wall clock in ms since the epoch, for requests in the own thread. */
  now: () => number;
  /** Told when the worker thread died; it has been replaced already and what it held is put off. */
  onFailure?: (error: Error) => void;
}

/** Opens a sender of webhook requests, in this thread or in one of its own. */
export function openWebhookSender(options: SenderOptions): WebhookSender {
  const { allowPrivate, thread, now, onFailure = () => {}, ...given } = options;
  const limits = senderLimits(given);
  return thread
    ? new ThreadSender({ allowPrivate, limits, onFailure })
    : new LocalSender({ allowPrivate, limits, now });
}
