/** Authorities and certificates for tests, made by openssl in a folder of their own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate with its key, as files and as text. */
export interface Pair {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

export interface CertificateOptions {
  authority?: Pair;
  /** 0: it ends in the second in which it is made. */
  days?: number;
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** A folder of certificates; `remove` it at the end. */
export class Certificates {
  readonly path = mkdtempSync(join(tmpdir(), 'pixstate-certificates-'));

  file(name: string): string {
    return join(this.path, name);
  }

  authority(name: string): Pair {
    const pair = this.#files(name);
    const subject = ['-subj', `/CN=${name}`, '-days', '30'];
    openssl(['req', '-x509', ...CURVE, '-keyout', pair.keyFile, '-out', pair.certFile, ...subject]);
    return read(pair);
  }

  /** A certificate for a server on loopback, or for a client: the name is its common name. */
  certificate(name: string, { authority, days = 30 }: CertificateOptions = {}): Pair {
    const pair = this.#files(name);
    const request = this.file(`${name}.csr`);
    openssl(['req', '-new', ...CURVE, '-keyout', pair.keyFile, '-out', request, '-subj', `/CN=${name}`]);
    const extensions = this.file(`${name}.ext`);
    writeFileSync(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n');
    const signer =
      authority === undefined
        ? ['-signkey', pair.keyFile]
        : ['-CA', authority.certFile, '-CAkey', authority.keyFile, '-CAcreateserial'];
    const made = ['-in', request, '-out', pair.certFile, '-days', String(days), '-extfile', extensions];
    openssl(['x509', '-req', ...made, ...signer]);
    return read(pair);
  }

  /** A PKCS #12 file of a pair; `old` as banks made them for long: RC2 with 40 bits. */
  p12(pair: Pair, passphrase: string, { old = false } = {}): string {
    const file = this.file(`${old ? 'old' : 'new'}-${passphrase}.p12`);
    const way = old ? ['-legacy', '-certpbe', 'PBE-SHA1-RC2-40', '-keypbe', 'PBE-SHA1-3DES'] : [];
    const given = ['-inkey', pair.keyFile, '-in', pair.certFile, '-passout', `pass:${passphrase}`];
    openssl(['pkcs12', '-export', ...way, ...given, '-out', file]);
    return file;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #files(name: string): Pick<Pair, 'certFile' | 'keyFile'> {
    return { certFile: this.file(`${name}.crt`), keyFile: this.file(`${name}.key`) };
  }
}

function read({ certFile, keyFile }: Pick<Pair, 'certFile' | 'keyFile'>): Pair {
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}
