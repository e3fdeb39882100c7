import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A secret as Standard Webhooks writes one, for tests. */
export const callbackSecret = `whsec_${Buffer.from('a secret of the bank, 32 bytes..').toString('base64')}`;

/** A Standard Webhooks signature: `v1,` and the HMAC-SHA256 in base64. `secret` is `whsec_...`. */
export function sign(secret: string, id: string, timestamp: string, body: string | Uint8Array): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return `v1,${digest}`;
}

/** Whether one of the signatures that a webhook carries was made with `secret`. */
export function isSignedWith(secret: string, headers: IncomingHttpHeaders, body: Uint8Array): boolean {
  const expected = sign(secret, String(headers['webhook-id']), String(headers['webhook-timestamp']), body);
  return String(headers['webhook-signature']).split(' ').includes(expected);
}
