/**
 * Credentials: 256 random bits a secret, shown once, stored as SHA-256. A fast hash is enough for what nobody
 * can guess (scrypt would cost 29 ms a request).
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export function newAccountId(): string {
  return `acc_${randomBytes(10).toString('hex')}`;
}

export function newClientId(): string {
  return `cli_${randomBytes(12).toString('hex')}`;
}

export function newClientSecret(): string {
  return `sk_${randomBytes(32).toString('base64url')}`;
}

export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** A key of the form of a random one (EVP), made of an account's id: the sandbox's, where the account has none. */
export function derivedPixKey(accountId: string): string {
  const hex = hash('sha256', `pix key of ${accountId}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const NOBODY = Buffer.from(hashSecret(randomBytes(32).toString('hex')), 'hex');

/** The SHA-256 of a secret in bytes: what `isDigest` compares. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** In constant time, for unknown clients too: pass null for their hash. */
export function isDigest(digest: Buffer, secretHash: string | null): boolean {
  const expected = secretHash === null ? NOBODY : Buffer.from(secretHash, 'hex');
  return timingSafeEqual(digest, expected) && secretHash !== null;
}
