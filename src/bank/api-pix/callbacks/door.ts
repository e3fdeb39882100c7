/**
 * The door at which a bank calls back: a port of its own, with client certificates, or plain behind a proxy that
 * checks them.
 *
 * 1. Without the right certificate nothing is read.
 * 2. 200 says that every hint is durable; anything else makes the bank call again.
 * 3. What a callback says is never believed, so a forged one costs a question at most.
 */
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { TLSSocket } from 'node:tls';
import { Connections } from '../../../connections.ts';
import { within } from '../../../waiting.ts';
import type { Hint, Profile } from '../profile.ts';
import type { CallbackDoor } from '../settings.ts';
import { readCallback } from './hints.ts';
import { CallbackLeft, type Take } from './incoming.ts';

const BODY_BYTES_MAX = 1024 * 1024;
const REQUEST_MS = 10_000;
/** A handshake is a few small messages; each that is under way costs some 55 kB, and anybody may begin one. */
const HANDSHAKE_MS = 3_000;
/** Banks call from a few machines. */
const MOST_CONNECTIONS = 512;
/** Callbacks that are being taken at once, all connections together. */
const MOST_UNDER_WAY = 64;
/** How often node looks for requests that take too long. */
const LOOK_MS = 1_000;
/** A connection on which nothing has moved for so long, in either direction, is cut off: a client may not read. */
const SILENT_MS = 30_000;
/** A store that hangs is one that is away. */
const TAKE_MS = 5_000;
const LAST_MS = 1_000;

export interface DoorOptions {
  door: CallbackDoor;
  profile: Pick<Profile, 'hints'>;
  /** Makes the hints durable, those of an element in one list; rejects where our store is away. */
  take: Take;
  /** What went wrong with a callback that the bank will send again. */
  onTrouble(error: unknown): void;
}

/** The names of a client certificate: its subject's, and those beside it. */
function namesOf(socket: TLSSocket): string[] {
  const { subject, subjectaltname = '' } = socket.getPeerCertificate();
  const others = subjectaltname.split(', ').flatMap((name) => /^DNS:(.+)$/.exec(name)?.[1] ?? []);
  return [subject?.CN ?? [], others].flat();
}

/** The body as text; null where it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export class Door {
  readonly #options: DoorOptions;
  readonly #server: Server;
  readonly #connections: Connections;
  /** Where callbacks come in: Efí's test of the URL comes to the URL itself, and all others to `/pix` behind it. */
  readonly #paths: readonly string[];
  /** Callbacks that are being taken, awaited or not. */
  #underWay = 0;

  constructor(options: DoorOptions) {
    const { path, tls } = options.door;
    this.#options = options;
    this.#paths = [path, `${path}/pix`, `${path}//pix`];
    const receive = (request: IncomingMessage, response: ServerResponse): void => {
      this.#receive(request).then(
        (status) => answer(request, response, status),
        (error: unknown) => {
          options.onTrouble(error);
          answer(request, response, 503);
        },
      );
    };
    const bounds = {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: LOOK_MS,
    };
    this.#server =
      tls === null
        ? createPlainServer(bounds, receive)
        : createTlsServer(
            {
              ...bounds,
              handshakeTimeout: HANDSHAKE_MS,
              ...tls,
              minVersion: 'TLSv1.2',
              requestCert: true,
              rejectUnauthorized: true,
            },
            receive,
          );
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.setTimeout(SILENT_MS);
    this.#connections = new Connections(this.#server);
  }

  /** Resolves once it is open, with its port. */
  open(): Promise<number> {
    const { port, host } = this.#options.door;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(address !== null && typeof address !== 'string' ? address.port : port);
      });
    });
  }

  /** Ends once the callbacks under way are answered. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
      // Connections without a request, or with a slow one, come again; the bank calls back once more.
      setTimeout(() => this.#connections.destroyAll(), LAST_MS).unref();
    });
  }

  async #receive(request: IncomingMessage): Promise<number> {
    if (!this.#mayEnter(request)) return 403;
    const [path = ''] = (request.url ?? '').split('?');
    if (!this.#paths.includes(path)) return 404;
    if (request.method !== 'POST') return 405;
    const body = await bodyOf(request);
    if (body === null) return 413;
    const hints = readCallback(body, this.#options.profile);
    if (hints === null) return 400;
    const found = hints.filter((each) => each.length > 0);
    if (found.length > 0) await this.#take(found, request);
    return 200;
  }

  /** What nobody waits for any more ends by itself; until then it counts as under way. */
  async #take(hints: Hint[][], { socket }: IncomingMessage): Promise<void> {
    if (this.#underWay === MOST_UNDER_WAY)
      throw new CallbackLeft(`${MOST_UNDER_WAY} callbacks are being taken already`);
    this.#underWay += 1;
    let isLate = false;
    const taken = this.#options
      .take(hints, () => !isLate && !socket.destroyed)
      .finally(() => {
        this.#underWay -= 1;
      });
    await within(TAKE_MS, taken, () => {
      isLate = true;
      return tooLate();
    });
  }

  #mayEnter({ socket }: IncomingMessage): boolean {
    const { tls, names } = this.#options.door;
    if (tls === null || names === null) return true;
    return socket instanceof TLSSocket && namesOf(socket).some((name) => names.includes(name));
  }
}

function tooLate(): Error {
  return new Error(`the hints of a callback weren't kept within ${TAKE_MS} ms`);
}

function answer(request: IncomingMessage, response: ServerResponse, status: number): void {
  // What wasn't read is not waited for: the connection ends with the answer.
  const headers = request.complete ? {} : { connection: 'close' };
  response.writeHead(status, headers).end();
}
