import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
const KEY_BYTES_LEAST = 24;
const KEY_BYTES_MOST = 64;
const VERSION = 'v1,';
const WHOLE_NUMBER = /^\d+$/;

/** The things that a receiver looks at: headers as they came, the body's bytes, and its own idea of the time. */
export interface WebhookCheck {
  /** Each `whsec_...`, or the key from `webhookKey`; any one that fits will do, as during a rotation. */
  secrets: readonly (string | Buffer)[];
  /** The header `webhook-id`. */
  id: string;
  /** The header `webhook-timestamp`: seconds since the epoch. */
  timestamp: string;
  /** The header `webhook-signature`: signatures parted by spaces; those of other versions are skipped. */
  signatureHeader: string;
  body: Buffer | string;
  /** Seconds since the epoch. */
  now: number;
  /** How old or how far ahead a timestamp may be, in seconds. */
  toleranceSeconds: number;
}

/** Whether the secret is base64 of 24 to 64 bytes, with or without `whsec_` (Standard Webhooks). */
export function isWebhookSecret(secret: string): boolean {
  return decode(secret) !== null;
}

/** The key bytes of a secret. Throws a RangeError, without the secret, where `isWebhookSecret` is false. */
export function webhookKey(secret: string): Buffer {
  const key = decode(secret);
  if (key === null) throw new RangeError('A webhook secret is whsec_ and base64 of 24 to 64 bytes.');
  return key;
}

/**
 * Signs a webhook as Standard Webhooks says: HMAC-SHA256 over `id.timestamp.body`, in base64 behind `v1,`.
 * `timestamp` is whole seconds since the epoch. Throws a RangeError for a malformed secret.
 */
export function signWebhook(
  secret: string | Buffer,
  id: string,
  timestamp: number,
  body: string | Buffer,
): string {
  return VERSION + sign(secret, id, String(timestamp), body).toString('base64');
}

/**
 * Whether one of the signatures fits one of the secrets and the timestamp is recent, in time that doesn't
 * depend on how much of a signature is right. Anything malformed from outside is false; only a malformed
 * secret, which is our own mistake, throws a RangeError.
 */
export function verifyWebhook(check: WebhookCheck): boolean {
  const given = signaturesIn(check.signatureHeader);
  let fits = false;
  for (const secret of check.secrets) {
    const expected = Buffer.from(sign(secret, check.id, check.timestamp, check.body).toString('base64'));
    // No early exit: which of the secrets fits is nobody's business.
    for (const signature of given) fits = isSame(signature, expected) || fits;
  }
  return fits && isRecent(check);
}

function sign(secret: string | Buffer, id: string, timestamp: string, body: string | Buffer): Buffer {
  return hmacWith(secret).update(`${id}.${timestamp}.`).update(body).digest();
}

function hmacWith(secret: string | Buffer): Hmac {
  if (typeof secret !== 'string') return createHmac('sha256', secret);
  webhookKey(secret);
  // Node 24 takes five times as long for a key in a buffer as for the same one in a text.
  return createHmac('sha256', base64In(secret), { encoding: 'base64' });
}

function signaturesIn(header: string): Buffer[] {
  const signatures = header.split(' ').filter((signature) => signature.startsWith(VERSION));
  return signatures.map((signature) => Buffer.from(signature.slice(VERSION.length)));
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function isRecent({ timestamp, now, toleranceSeconds }: WebhookCheck): boolean {
  return WHOLE_NUMBER.test(timestamp) && Math.abs(now - Number(timestamp)) <= toleranceSeconds;
}

function base64In(secret: string): string {
  return secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
}

function decode(secret: string): Buffer | null {
  const text = base64In(secret);
  const key = Buffer.from(text, 'base64');
  // Buffer skips what is no base64, so only a text that comes back the same was base64.
  if (key.toString('base64') !== text) return null;
  return key.length >= KEY_BYTES_LEAST && key.length <= KEY_BYTES_MOST ? key : null;
}
