/**
 * Owns the name lookups of the sender. Lookups are blocking calls on a thread pool that the whole process
 * shares, and whoever runs a slow name server would like to fill it.
 *
 * 1. A name is looked up once at a time, however many connections wait for it.
 * 2. At most two lookups run at once, and at most one of a name that was slow before.
 * 3. Unless private addresses are allowed, one address that isn't public refuses the whole name, and a connection
 *    goes only to an address that was checked here.
 */
import type { LookupAddress } from 'node:dns';
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { publicAddress } from '../address.ts';

const RUNNING_MAX = 2;
const SLOW_AFTER_MS = 1_000;
const SLOW_NAMES_MAX = 1_000;
const FOUND_MS = 5_000;
const FAILED_MS = 1_000;
const ANSWERS_MAX = 2_000;

/** An error with a machine-readable code. */
export function coded(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

type Found = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;
type Resolve = (hostname: string, found: Found) => void;

interface Answer {
  error: NodeJS.ErrnoException | null;
  addresses: LookupAddress[];
  until: number;
}

const resolveBySystem: Resolve = (hostname, found) => {
  dns.lookup(hostname, { all: true }, (error, addresses) => found(error, error === null ? addresses : []));
};

/** Looks names up for `net.connect` and `tls.connect`; `resolve` stands in for the system's resolver in tests. */
export class AddressLookup {
  readonly #allowPrivate: boolean;
  readonly #resolve: Resolve;
  readonly #waiting = new Map<string, Found[]>();
  readonly #answers = new Map<string, Answer>();
  readonly #slow = new Set<string>();
  readonly #queue: string[] = [];
  readonly #slowQueue: string[] = [];
  #running = 0;
  #slowRunning = 0;

  constructor(options: { allowPrivate: boolean; resolve?: Resolve }) {
    this.#allowPrivate = options.allowPrivate;
    this.#resolve = options.resolve ?? resolveBySystem;
  }

  /** The `lookup` option of a connection. Errors: `ADDRESS_NOT_ALLOWED`, or the resolver's (`ENOTFOUND`, ...). */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#find(hostname, (error, found) => {
      const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : options.family;
      const addresses = family ? found.filter((each) => each.family === family) : found;
      const [first] = addresses;
      if (error !== null) callback(error, '', 0);
      else if (first === undefined) callback(coded('ENOTFOUND'), '', 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  #find(hostname: string, found: Found): void {
    const answer = this.#answers.get(hostname);
    if (answer !== undefined && answer.until > performance.now()) {
      process.nextTick(found, answer.error, answer.addresses);
      return;
    }
    const waiting = this.#waiting.get(hostname);
    if (waiting !== undefined) {
      waiting.push(found);
      return;
    }
    this.#waiting.set(hostname, [found]);
    (this.#slow.has(hostname) ? this.#slowQueue : this.#queue).push(hostname);
    this.#run();
  }

  #run(): void {
    while (this.#running < RUNNING_MAX) {
      const quick = this.#queue.shift();
      const hostname = quick ?? (this.#slowRunning === 0 ? this.#slowQueue.shift() : undefined);
      if (hostname === undefined) return;
      this.#start(hostname, quick === undefined);
    }
  }

  #start(hostname: string, slow: boolean): void {
    const begun = performance.now();
    this.#running += 1;
    if (slow) this.#slowRunning += 1;
    this.#resolve(hostname, (error, addresses) => {
      this.#running -= 1;
      if (slow) this.#slowRunning -= 1;
      this.#remember(hostname, performance.now() - begun);
      this.#settle(hostname, error ?? this.#verdict(addresses), addresses);
      this.#run();
    });
  }

  #verdict(addresses: LookupAddress[]): NodeJS.ErrnoException | null {
    if (addresses.length === 0) return coded('ENOTFOUND');
    if (this.#allowPrivate || addresses.every((each) => publicAddress(each.address))) return null;
    return coded('ADDRESS_NOT_ALLOWED');
  }

  #remember(hostname: string, durationMs: number): void {
    this.#slow.delete(hostname);
    if (durationMs < SLOW_AFTER_MS) return;
    this.#slow.add(hostname);
    for (const oldest of this.#slow) {
      if (this.#slow.size <= SLOW_NAMES_MAX) break;
      this.#slow.delete(oldest);
    }
  }

  #settle(hostname: string, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const until = performance.now() + (error === null ? FOUND_MS : FAILED_MS);
    this.#answers.delete(hostname);
    this.#answers.set(hostname, { error, addresses, until });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= ANSWERS_MAX) break;
      this.#answers.delete(oldest);
    }
    const waiting = this.#waiting.get(hostname) ?? [];
    this.#waiting.delete(hostname);
    for (const found of waiting) found(error, addresses);
  }
}
