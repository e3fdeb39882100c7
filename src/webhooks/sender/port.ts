/** One webhook request to be sent: what the dispatcher hands over, self-contained. */
export interface Send {
  /** Opaque to the sender, echoed in the result. */
  token: string;
  account: string;
  url: string;
  /** Event name, such as `pix-in.paid`: header `X-Event`. */
  event: string;
  /** `evt_...`: headers `Idempotency-Key` and `webhook-id`. */
  eventId: string;
  transactionId: string;
  /** The payload, sent byte for byte. */
  body: string;
  /** `whsec_...`: one, or two during a rotation. */
  secrets: readonly string[];
  /** More waits behind its URL: where nothing else is known of that, it counts as one that hangs. */
  isLook?: boolean;
  /** By how many ms the clock that attempts are dated and signed by is ahead of the sender's own; by none without it. */
  ahead?: number;
}

/** The request was begun: it got a status, or it failed. */
export interface Attempted {
  token: string;
  kind: 'attempted';
  /** When the attempt began, in ms since the epoch, by the clock that its `Send` tells of. */
  at: number;
  statusCode: number | null;
  /**
   * Machine-readable code of a failure, null when there is a status: `TIMEOUT`, `ADDRESS_NOT_ALLOWED`,
   * `INVALID_RESPONSE`, `INVALID_URL`, `INVALID_REQUEST`, `NETWORK_ERROR`, or the code of the system or of TLS
   * (`ECONNREFUSED`, `ECONNRESET`, `ENOTFOUND`, `EAI_AGAIN`, `CERT_HAS_EXPIRED`, ...).
   */
  error: string | null;
  /** From the start of connecting to the response's headers, or to the failure. */
  durationMs: number;
  /** How long a 429 asks to wait (`Retry-After`), null when it doesn't say or for any other status. */
  retryAfterMs: number | null;
}

/** Nothing was attempted, since the way to the receiver is choked: to be handed over again later. */
export interface PutOff {
  token: string;
  kind: 'putOff';
}

/** The outcome of one `Send`. */
export type SendResult = Attempted | PutOff;

/** Sends webhook requests: each accepted `Send` is reported once, in batches, unless the sender is closed first. */
export interface WebhookSender {
  send(items: Send[]): void;
  onResults(listener: (results: SendResult[]) => void): void;
  /** Accepted and not reported yet. */
  readonly inFlight: number;
  /** Takes nothing more, waits a bounded time for the requests that have begun, cuts the rest off unreported. */
  close(): Promise<void>;
}
