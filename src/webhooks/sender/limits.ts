/** The bounds of the queue; times in milliseconds. */
export interface QueueLimits {
  maxInFlight: number;
  startPerUrl: number;
  maxPerOrigin: number;
  maxWaitingPerOrigin: number;
  maxWaitMs: number;
  idleMs: number;
}

/** All bounds of a sender; plain data, so that a worker thread can be given them. Times in milliseconds. */
export interface SenderLimits extends QueueLimits {
  /** For a whole exchange, from the start of connecting. */
  timeoutMs: number;
  /** How long `close` waits for requests under way. */
  closeMs: number;
}

/** The given limits, and the defaults of all others. */
export function senderLimits(given: Partial<SenderLimits>): SenderLimits {
  return {
    timeoutMs: given.timeoutMs ?? 10_000,
    closeMs: given.closeMs ?? 5_000,
    maxInFlight: given.maxInFlight ?? 512,
    startPerUrl: given.startPerUrl ?? 4,
    maxPerOrigin: given.maxPerOrigin ?? 128,
    maxWaitingPerOrigin: given.maxWaitingPerOrigin ?? 2_048,
    maxWaitMs: given.maxWaitMs ?? 30_000,
    idleMs: given.idleMs ?? 5_000,
  };
}
