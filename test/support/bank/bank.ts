/**
 * A bank for tests: HTTPS with client certificates, OAuth2, the API Pix and the providers' sending, states, and
 * faults on demand. It obeys the central bank's document, and refuses whatever doesn't.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { Connections } from '../../../src/connections.ts';
import { Certificates, type Pair } from './certificates.ts';
import { type Arrived, Front, type FrontOptions } from './front.ts';
import type { Fields } from './requests.ts';

/** What goes wrong with a call: the connection is cut before or after it is done, it waits for `release`, and so on. */
export type Fault =
  | { kind: 'cut-before' }
  | { kind: 'cut-after' }
  | { kind: 'hang' }
  | { kind: 'held' }
  | { kind: 'slow'; ms: number }
  | { kind: 'hidden'; ms: number }
  | { kind: 'answer'; status: number; body?: string; headers?: Record<string, string>; isDone?: boolean }
  | { kind: 'changed'; change(body: Fields): Fields };

export interface Seen {
  call: string;
  path: string;
  query: string;
  body: string;
  at: number;
}

export type StartOptions = Partial<FrontOptions>;

export const OUR_KEY = '7407c9c8-f78b-11ea-adc1-0242ac120002';

/** Made once a process, since openssl takes its time, and gone with it. */
let made: { certificates: Certificates; authority: Pair; own: Pair; client: Pair } | null = null;

function papers(): NonNullable<typeof made> {
  if (made !== null) return made;
  const certificates = new Certificates();
  process.once('exit', () => certificates.remove());
  const authority = certificates.authority('bank-authority');
  const own = certificates.certificate('localhost', { authority });
  made = { certificates, authority, own, client: certificates.certificate('customer', { authority }) };
  return made;
}

export class FakeBank extends Front {
  readonly seen: Seen[] = [];
  readonly certificates: Certificates;
  readonly authority: Pair;
  /** The customer's certificate. */
  readonly client: Pair;
  readonly #server: Server;
  readonly #faults: { call: string; fault: Fault; left: number; says: string }[] = [];
  readonly #connections: Connections;
  #held: (() => void)[] = [];
  #port = 0;

  private constructor(options: StartOptions) {
    super({ ...options, keys: options.keys ?? new Set([OUR_KEY]) });
    const { certificates, authority, own, client } = papers();
    this.certificates = certificates;
    this.authority = authority;
    this.client = client;
    this.#server = createServer(
      { cert: own.cert, key: own.key, ca: this.authority.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => void this.#receive(request, response),
    );
    this.#server.keepAliveTimeout = 60_000;
    this.#connections = new Connections(this.#server);
  }

  static async start(options: StartOptions = {}): Promise<FakeBank> {
    const bank = new FakeBank(options);
    await bank.listen();
    return bank;
  }

  get origin(): string {
    return `https://localhost:${this.#port}`;
  }

  /** `BANK_URL`. */
  get url(): string {
    return this.profile === 'standard' ? this.origin + this.prefix : this.origin;
  }

  get tokenUrl(): string {
    return this.origin + this.tokenPath;
  }

  /** The environment of a server that is this bank's customer. */
  get env(): Record<string, string> {
    return {
      ...{ BANK: 'api-pix', BANK_PROFILE: this.profile, BANK_URL: this.url },
      ...(this.profile === 'standard' ? { BANK_TOKEN_URL: this.tokenUrl } : {}),
      ...{ BANK_CLIENT_ID: this.clientId, BANK_CLIENT_SECRET: this.clientSecret, BANK_PIX_KEY: OUR_KEY },
      ...{ BANK_CERT_FILE: this.client.certFile, BANK_KEY_FILE: this.client.keyFile },
      BANK_CA_FILE: this.authority.certFile,
    };
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', () => {
        const address = this.#server.address();
        if (address !== null && typeof address !== 'string') this.#port = address.port;
        resolve();
      });
    });
  }

  /** The bank is away: nobody listens any more, until `listen`. */
  async away(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#connections.destroyAll();
    await closed;
  }

  async stop(): Promise<void> {
    this.release();
    await this.away();
  }

  /** The next `times` calls of a name (`PUT cob`, `token`) meet a fault: those whose body `says` this. */
  fault(call: string, fault: Fault, times = 1, says = ''): void {
    this.#faults.push({ call, fault, left: times, says });
  }

  clearFaults(): void {
    this.#faults.length = 0;
  }

  /** How many calls wait for `release`. */
  get held(): number {
    return this.#held.length;
  }

  /** Goes on with all calls that are held. */
  release(): void {
    for (const goOn of this.#held.splice(0)) goOn();
  }

  calls(name: string): Seen[] {
    return this.seen.filter(({ call }) => call === name);
  }

  #takeFault(call: string, body: string): Fault | null {
    const found = this.#faults.find(
      (each) => each.call === call && each.left > 0 && body.includes(each.says),
    );
    if (found === undefined) return null;
    found.left -= 1;
    return found.fault;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const raw = Buffer.concat(chunks).toString('utf8');
    const { method = '', url: target = '/', headers } = request;
    const arrived: Arrived = { method, target, headers, body: raw };
    const call = this.callOf(arrived);
    const [path = '', query = ''] = target.split('?');
    this.seen.push({ call, path, query, body: raw, at: performance.now() });
    const fault = this.#takeFault(call, raw);
    if (fault?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.ms));
    if (fault?.kind === 'held') await new Promise<void>((resolve) => this.#held.push(resolve));
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'cut-before') {
      cut(request);
      return;
    }
    if (fault?.kind === 'answer' && fault.isDone !== true) {
      answer(response, fault.status, fault.body ?? '', fault.headers);
      return;
    }
    const hideMs = fault?.kind === 'hidden' ? fault.ms : 0;
    const reply = this.reply(arrived, hideMs);
    if (fault?.kind === 'cut-after') cut(request);
    else if (fault?.kind === 'answer') answer(response, fault.status, fault.body ?? '', fault.headers);
    else {
      const body = fault?.kind === 'changed' ? fault.change(reply.body ?? {}) : reply.body;
      answer(response, reply.status, body === undefined ? '' : JSON.stringify(body), reply.headers);
    }
  }
}

function cut(request: IncomingMessage): void {
  (request.socket as TLSSocket).destroy();
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  const type = body === '' ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers }).end(body);
}
