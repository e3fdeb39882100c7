/** Who we are to the bank: a client certificate with its key, from PEM files or a PKCS #12 file. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { codeOf } from '../../../errors.ts';

export interface ClientIdentity {
  /** What TLS takes of it. */
  tls: Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'>;
  certificate: X509Certificate;
}

/** An identity, or what is wrong with it: the end of a sentence that names the variable. Secrets aren't repeated. */
export type FoundIdentity = { identity: ClientIdentity } | { mistakes: IdentityMistake[] };

export interface IdentityMistake {
  of: 'certificate' | 'key' | 'p12';
  what: string;
}

const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

function certificateOf(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** What TLS finds wrong with these, by its code; null: nothing. What isn't seen here would fail every call later. */
function tlsMistake(tls: ClientIdentity['tls']): string | null {
  try {
    createSecureContext(tls);
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

/** Whether a text is certificates in PEM, one or more, and each of them can be read. */
export function areCertificates(pem: string): boolean {
  const each = pem.split('-----BEGIN CERTIFICATE-----').slice(1);
  return each.length > 0 && each.every((one) => certificateOf(`-----BEGIN CERTIFICATE-----${one}`) !== null);
}

/** The identity of a PEM certificate (the bank's chain may follow it) and its PEM key. */
export function identityOfPem(cert: string, key: string): FoundIdentity {
  const mistakes: IdentityMistake[] = [];
  const certificate = certificateOf(cert);
  if (certificate === null) mistakes.push({ of: 'certificate', what: 'holds no certificate in PEM' });
  if (ENCRYPTED_KEY.test(key)) {
    mistakes.push({ of: 'key', what: 'is encrypted: openssl pkey -in FILE -out PLAIN writes it plain' });
    return { mistakes };
  }
  try {
    const fits = certificate?.checkPrivateKey(createPrivateKey(key));
    if (fits === false) mistakes.push({ of: 'key', what: "isn't the key of the certificate" });
  } catch {
    mistakes.push({ of: 'key', what: 'holds no private key in PEM' });
  }
  if (certificate === null || mistakes.length > 0) return { mistakes };
  const wrong = tlsMistake({ cert, key });
  if (wrong !== null)
    return {
      mistakes: [{ of: 'certificate', what: `can't be used: a certificate in it is broken (${wrong})` }],
    };
  return { identity: { tls: { cert, key }, certificate } };
}

/** Node reads no certificate out of a PKCS #12 file, but a socket that isn't connected yet knows its own. */
function certificateIn(tls: ClientIdentity['tls']): X509Certificate | null {
  const secureContext = createSecureContext(tls);
  const nowhere = new Duplex({ read() {}, write() {} });
  const socket = new TLSSocket(nowhere, { secureContext, isServer: true });
  try {
    return socket.getX509Certificate() ?? null;
  } finally {
    socket.destroy();
  }
}

function p12Mistake(error: unknown): string {
  if (codeOf(error) === 'ERR_CRYPTO_UNSUPPORTED_OPERATION')
    return 'is encrypted in an old way: convert it with openssl pkcs12 -legacy -in OLD -nodes -out ALL.pem, then openssl pkcs12 -export -in ALL.pem -out NEW';
  if (error instanceof Error && error.message.includes('mac verify'))
    return "doesn't open with BANK_P12_PASSPHRASE";
  return 'is no PKCS #12 file';
}

/** The identity of a PKCS #12 file. */
export function identityOfP12(pfx: Buffer, passphrase: string): FoundIdentity {
  const tls = { pfx, passphrase };
  try {
    const certificate = certificateIn(tls);
    if (certificate !== null) return { identity: { tls, certificate } };
    return { mistakes: [{ of: 'p12', what: 'holds no certificate with its key' }] };
  } catch (error) {
    return { mistakes: [{ of: 'p12', what: p12Mistake(error) }] };
  }
}

/** From when to when the certificate holds, ms. */
export function validity({ certificate }: ClientIdentity): { from: number; to: number } {
  return { from: Date.parse(certificate.validFrom), to: Date.parse(certificate.validTo) };
}
