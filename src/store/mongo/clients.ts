/** The driver's clients, and what is followed of their servers. */
import { type Document, MongoClient, type TopologyDescription } from 'mongodb';
import { again, pauseAfter } from '../../waiting.ts';
import { newClient, PATIENT } from '../connection-string.ts';
import { isWithoutUser } from './errors.ts';

/**
 * A client whose every wait is bounded.
 * @throws Error as `newClient`
 */
export function clientFor(uri: string, mostConnections?: number): MongoClient {
  const client = newClient(MongoClient, uri, mostConnections);
  // A poll that comes after the end emits an error; without a listener that would end the process.
  client.on('error', () => {});
  return client;
}

/** A client that waits for an answer as long as it takes. */
export function patientClient(uri: string): MongoClient {
  return new MongoClient(uri, PATIENT);
}

/**
 * New connections in the place of those whose user was dropped: they stay without one when there is a user of that name
 * again. The driver has no other way to be rid of those of its pool than to close its client.
 */
export class Renewal {
  readonly #clients: readonly MongoClient[];
  #isDue = false;

  constructor(clients: readonly MongoClient[]) {
    this.#clients = clients;
  }

  /** Whether an error is of such a connection: `perform` makes others then. */
  isNeededBy(error: unknown): boolean {
    // Where the connection string has no user, new connections would be no better.
    const isIt = isWithoutUser(error) && this.#clients.every(({ options }) => options.credentials);
    this.#isDue ||= isIt;
    return isIt;
  }

  /** Makes new connections where they are needed. @throws the driver's error where there are none to be had yet */
  async perform(isClosed: () => boolean): Promise<void> {
    if (!this.#isDue) return;
    for (const client of this.#clients) {
      await client.close();
      await client.connect();
      // Whoever closed it meanwhile closed what was there then.
      if (isClosed()) await client.close();
    }
    this.#isDue = false;
  }
}

/** A primary and its term; null: there is none, or a router doesn't tell. */
function termOf({ servers }: TopologyDescription): string | null {
  const primary = [...servers.values()].find(({ type }) => type === 'RSPrimary');
  return primary === undefined ? null : `${primary.address} ${primary.electionId}`;
}

/**
 * Follows which server is the primary. What a majority has is older at a new one, for a moment, than what was confirmed
 * and read before (SERVER-53813): whoever remembers that must not read there until a write of its term is confirmed.
 */
export class Primary {
  readonly #confirm: (term: string) => Promise<void>;
  #term: string | null = null;
  #behind: Promise<void> | null = null;
  #hasEnded = false;

  /** `confirm` writes something, once, and has a majority confirm it. */
  constructor(client: MongoClient, confirm: (term: string) => Promise<void>) {
    this.#confirm = confirm;
    client.on('topologyDescriptionChanged', ({ newDescription }) => this.#follow(termOf(newDescription)));
  }

  /** What is read, of one primary that is up to date. */
  async read<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      while (this.#behind !== null) await this.#behind;
      const term = this.#term;
      const found = await work();
      if (this.#term === term) return found;
    }
  }

  #follow(term: string | null): void {
    if (term === null || term === this.#term) return;
    // Whoever has read nothing yet remembers nothing.
    const isFirst = this.#term === null;
    this.#term = term;
    if (!isFirst) this.#behind = this.#catchUp(term);
  }

  async #catchUp(term: string): Promise<void> {
    const isWanted = (): boolean => this.#term === term && !this.#hasEnded;
    const attempt = async (): Promise<void> => {
      if (isWanted()) await this.#confirm(term);
    };
    await again(attempt, (_error, attempts) => pauseAfter(attempts));
    if (this.#term === term) this.#behind = null;
  }

  /** Asks for nothing more. */
  end(): void {
    this.#hasEnded = true;
  }
}

/** By how much two clocks may drift apart between two measurements. */
const DRIFT_MS = 0.5;

/** The clock of the database's server, by how far it is from this process's monotonic one, which nobody sets. */
export class ServerClock {
  #offsetMs = performance.timeOrigin;
  #uncertainMs = Number.POSITIVE_INFINITY;

  /** ms since 1970, as far as the last answer tells. */
  now(): number {
    return Math.round(performance.now() + this.#offsetMs);
  }

  /**
   * Half of the round trip is what a measurement may be off. One that says less than the one before is kept only where
   * a clock must have been set. `ask` gives an answer with the server's `localTime`.
   */
  async measure(ask: () => Promise<Document>): Promise<void> {
    const before = performance.now();
    const { localTime } = await ask();
    const after = performance.now();
    if (!(localTime instanceof Date)) return;
    const offset = localTime.getTime() - (before + after) / 2;
    const uncertain = (after - before) / 2 + 1;
    // Clocks drift: what was known gets less certain each time.
    this.#uncertainMs += DRIFT_MS;
    const isSet = Math.abs(offset - this.#offsetMs) > uncertain + this.#uncertainMs;
    if (uncertain > this.#uncertainMs && !isSet) return;
    this.#offsetMs = offset;
    this.#uncertainMs = uncertain;
  }
}
