/**
 * Owns the name lookups of the sender. Lookups are blocking calls on a thread pool that the whole process
 * shares, and whoever runs a slow name server would like to fill it.
 *
 * 1. A name is looked up once at a time, however many connections wait for it.
 * 2. At most two lookups run at once, and at most one of a name that was slow lately.
 * 3. Unless private addresses are allowed, one address that isn't public refuses the whole name, and a connection
 *    goes only to an address that was checked here.
 * 4. Where a name server doesn't answer, or others keep the lookups busy, a name has the addresses that it had last
 *    (RFC 8767).
 */
import type { LookupAddress } from 'node:dns';
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { publicAddress } from '../address.ts';

const RUNNING_MAX = 2;
const SLOW_AFTER_MS = 1_000;
/** A name is slow for so long after it was: one quick answer says nothing of the next. */
const SLOW_MS = 300_000;
const SLOW_NAMES_MAX = 1_000;
const FOUND_MS = 5_000;
const FAILED_MS = 1_000;
const ANSWERS_MAX = 2_000;
/** Addresses are known for so long to whoever finds no newer ones. */
const LAST_MS = 600_000;
/** A lookup that takes longer isn't waited for where addresses are known. */
const LAST_AFTER_MS = 500;
const NO_NAME = 'ENOTFOUND';
const NOT_ALLOWED = 'ADDRESS_NOT_ALLOWED';
/** What is known of a name. All else that a resolver says is that nobody knows. */
const DEFINITE = new Set([NO_NAME, NOT_ALLOWED]);

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
  /** When the addresses were found. */
  foundAt: number;
}

/** Tells the next answer, or the last one where that takes long. */
function orLast(found: Found, { addresses }: Answer): Found {
  let isTold = false;
  const tell: Found = (error, next) => {
    if (isTold) return;
    isTold = true;
    clearTimeout(timer);
    found(error, next);
  };
  const timer = setTimeout(() => tell(null, addresses), LAST_AFTER_MS);
  return tell;
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
  /** Until when a name is slow, the first one to end first. */
  readonly #slow = new Map<string, number>();
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
      else if (first === undefined) callback(coded(NO_NAME), '', 0);
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
    const last = this.#lastOf(hostname);
    const told = last === null ? found : orLast(found, last);
    const waiting = this.#waiting.get(hostname);
    if (waiting !== undefined) {
      waiting.push(told);
      return;
    }
    this.#waiting.set(hostname, [told]);
    const isSlow = (this.#slow.get(hostname) ?? 0) > performance.now();
    (isSlow ? this.#slowQueue : this.#queue).push(hostname);
    this.#run();
  }

  /** A name's last right answer, unless it is too old. */
  #lastOf(hostname: string): Answer | null {
    const answer = this.#answers.get(hostname);
    const isKnown = answer?.error === null && performance.now() - answer.foundAt < LAST_MS;
    return isKnown ? answer : null;
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
    if (addresses.length === 0) return coded(NO_NAME);
    if (this.#allowPrivate || addresses.every((each) => publicAddress(each.address))) return null;
    return coded(NOT_ALLOWED);
  }

  #remember(hostname: string, durationMs: number): void {
    if (durationMs < SLOW_AFTER_MS) return;
    this.#slow.delete(hostname);
    this.#slow.set(hostname, performance.now() + SLOW_MS);
    for (const oldest of this.#slow.keys()) {
      if (this.#slow.size <= SLOW_NAMES_MAX) break;
      this.#slow.delete(oldest);
    }
  }

  #settle(hostname: string, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const now = performance.now();
    const last = error === null || DEFINITE.has(error.code ?? '') ? null : this.#lastOf(hostname);
    const answer: Answer =
      last === null
        ? { error, addresses, until: now + (error === null ? FOUND_MS : FAILED_MS), foundAt: now }
        : { ...last, until: now + FAILED_MS };
    this.#answers.delete(hostname);
    this.#answers.set(hostname, answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= ANSWERS_MAX) break;
      this.#answers.delete(oldest);
    }
    const waiting = this.#waiting.get(hostname) ?? [];
    this.#waiting.delete(hostname);
    for (const found of waiting) found(answer.error, answer.addresses);
  }
}
