import { type SenderLimits, senderLimits } from './limits.ts';
import type { WebhookSender } from './port.ts';
import { ThreadSender } from './thread.ts';

/** Bounds that are left out take the defaults of `senderLimits`. */
export interface SenderOptions extends Partial<SenderLimits> {
  /** Whether private, loopback and other non-public addresses may be called. */
  allowPrivate: boolean;
  /** Told when the worker thread died; it has been replaced already and what it held is put off. */
  onFailure?: (error: Error) => void;
}

/** Opens a sender of webhook requests in a thread of its own, with that thread's clock. */
export function openWebhookSender(options: SenderOptions): WebhookSender {
  const { allowPrivate, onFailure = () => {}, ...given } = options;
  return new ThreadSender({ allowPrivate, limits: senderLimits(given), onFailure });
}
