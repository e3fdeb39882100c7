/** Whether a webhook is Pixstate's: Standard Webhooks, by its own library. */
import { Webhook } from 'standardwebhooks';
import type { WebhookEvent } from './types.ts';

/** A request that isn't one of ours: no signature, a wrong one, or one that is more than five minutes off. */
export class WebhookRejected extends Error {
  override readonly name = 'WebhookRejected';
}

/** A request's headers: of Node's http and the frameworks on it, or of `Request`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const SIGNED = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];

/** A `Headers`, whoever made its class. */
function isIterable(headers: WebhookHeaders): headers is Headers {
  return Symbol.iterator in headers;
}

function signedHeaders(headers: WebhookHeaders): Record<string, string> {
  const entries = isIterable(headers) ? [...headers] : Object.entries(headers);
  const own: Record<string, string> = {};
  for (const [name, value] of entries) {
    if (!SIGNED.includes(name.toLowerCase())) continue;
    // Of a header that came twice neither is believed.
    if (typeof value === 'string') own[name.toLowerCase()] = value;
  }
  return own;
}

/** A body as it came: text, or bytes as `Request` (`arrayBuffer()`) and Node's streams give them. */
export type WebhookBody = string | Uint8Array | ArrayBuffer;

function textOf(body: WebhookBody): string {
  if (typeof body === 'string') return body;
  const isBytes = body instanceof Uint8Array || body instanceof ArrayBuffer;
  // The signature is of the bytes: a byte order mark counts.
  if (isBytes) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  throw new TypeError("the body must be the request's own text or bytes, before any JSON parser");
}

/** Of 24 bytes or more: `String(undefined)` is base64, too, and everybody could sign with it. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;

const NO_SECRET = "the secret must be the URL's own: whsec_ and base64";

function keyOf(secret: string): Webhook {
  if (!SECRET.test(secret)) throw new TypeError(NO_SECRET);
  try {
    return new Webhook(secret);
  } catch (cause) {
    throw new TypeError(NO_SECRET, { cause });
  }
}

/**
 * The event of a webhook, once its signature is right and not older than five minutes.
 *
 * Answer 2xx within 10 seconds, and do the work once for each `id`: the same event may come again.
 *
 * @param body as it came, before any JSON parser
 * @param secret of the URL that it came to, `whsec_...`
 * @throws WebhookRejected where it isn't ours: answer 401. TypeError for a parsed body, or a secret that is none
 */
export function verifyWebhook(body: WebhookBody, headers: WebhookHeaders, secret: string): WebhookEvent {
  const text = textOf(body);
  const key = keyOf(secret);
  try {
    return key.verify(text, signedHeaders(headers)) as WebhookEvent;
  } catch (cause) {
    throw new WebhookRejected('The webhook is not signed with this secret, or not recently.', { cause });
  }
}
