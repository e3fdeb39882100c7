/**
 * Owns the clients: the connection, what is known of the server, and what an error means.
 *
 * 1. Every failure becomes StoreUnavailable, in bounded time, but for what fails again whenever it is sent: nothing
 *    is known then.
 * 2. While the database is away, callers are told so at once; one probe asks whether it is back.
 * 3. A write that must come to its end is tried until its outcome is known, or the connection closes.
 * 4. The roles' methods begin with `check`: it throws before the database is there, and once `turnAway` was
 *    called; what is under way by then may go on until `close`.
 */

import { type Db, type Document, type MongoClient, MongoServerError } from 'mongodb';
import { StoreUnavailable, StoreUnusable } from '../../engine/store.ts';
import { again, deadlines, jittered, pause, pauseAfter, within } from '../../waiting.ts';
import { databaseName } from '../connection-string.ts';
import { clientFor, Primary, patientClient, Renewal, ServerClock } from './clients.ts';
import {
  causeOf,
  expectVersion,
  isAway,
  Lacks,
  StoreClosed,
  UnusableServer,
  understood,
  unusableReason,
} from './errors.ts';
import { completeSchema, expectStore } from './schema.ts';

export interface ConnectionOptions {
  uri: string;
  /** What ops should know, in a sentence; told once each time it begins. */
  onNotice(text: string): void;
  /** What an operator has to mend, in a sentence, once a minute while it is met; a notice where nothing is said. */
  onLack?: ((text: string) => void) | undefined;
  /** What an operator has to mend isn't waited for, but thrown: whoever only reads, and commands. */
  endsAtLack?: boolean | undefined;
  /** Nothing is made: neither collections nor indexes. */
  readOnly?: boolean;
  /** A database without a store can't be used. */
  mustExist?: boolean;
  /** For reads and writes; many where nothing is said. */
  mostConnections?: number;
}

const PROBE_MS = 200;
/** Reads, and writes that may be given up, end by then, even while the driver still tries. */
export const RUN_MS = 5_000;
/** Longer than what the driver's own bounds give. */
const COMMAND_MS = 7_000;
const COMMAND_SPREAD_MS = 1_000;
/** A server drops by then what its caller gives up. */
export const SERVER_MS = 4_500;
/** A write that the majority does not confirm in so long is asked for again. */
const MAJORITY_MS = 4_000;

export const MAJORITY = { w: 'majority', j: true, wtimeout: MAJORITY_MS } as const;
export const MAJORITY_READ = { readConcern: { level: 'majority' } } as const;

/**
 * Ends commands that the driver would wait for without end: for the drain of a socket that was destroyed a moment
 * before.
 */
export const commandDeadline = deadlines(COMMAND_MS, COMMAND_SPREAD_MS);

/** Heartbeats and leases of the three kinds of what is held. */
const PULSES_AT_ONCE = 4;

/** @throws StoreUnavailable where the work takes longer; it goes on, and its outcome is dropped. */
export function inTime<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return within(ms, work, () => new StoreUnavailable('the database takes too long'));
}

export class MongoConnection {
  readonly client: MongoClient;
  readonly db: Db;
  readonly primary: Primary;
  readonly lacks: Lacks;
  /** Of heartbeats and leases alone: they don't queue for a connection behind all other traffic. */
  readonly #pulseClient: MongoClient;
  readonly #pulseDb: Db;
  /** A standalone server: what it confirms is on one disk, and no majority stands behind it. */
  standalone = false;
  /** Behind a router, where documents may be on their way from one shard to another. */
  sharded = false;
  readonly #clock = new ServerClock();
  readonly #uri: string;
  readonly #onNotice: (text: string) => void;
  readonly #endsAtLack: boolean;
  readonly #readOnly: boolean;
  readonly #mustExist: boolean;
  #isThere = false;
  #turnsAway = false;
  #closed = false;
  #away: string | null = null;
  #probing: Promise<void> | null = null;
  readonly #renewal: Renewal;
  #backAt = Number.NEGATIVE_INFINITY;

  /** @throws UnusableServer where the connection string is none. */
  constructor(options: ConnectionOptions) {
    const { uri, onNotice, onLack = onNotice, readOnly = false, mustExist = readOnly } = options;
    this.#endsAtLack = options.endsAtLack ?? readOnly;
    this.#readOnly = readOnly;
    this.#mustExist = mustExist;
    this.#onNotice = onNotice;
    this.lacks = new Lacks(onLack);
    this.#uri = uri;
    try {
      this.client = clientFor(uri, options.mostConnections);
      this.db = this.client.db(databaseName(uri));
      this.#pulseClient = clientFor(uri, PULSES_AT_ONCE);
      this.#pulseDb = this.#pulseClient.db(this.db.databaseName);
      this.#renewal = new Renewal([this.client, this.#pulseClient]);
      this.primary = new Primary(this.client, (term) => this.#confirm(term));
    } catch (error) {
      throw new UnusableServer(`MONGODB_URI is no connection string that can be used: ${causeOf(error)}`);
    }
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Why callers are turned away; null while the database answers. */
  get away(): string | null {
    return this.#away;
  }

  /** When the database was there again after it had been away, by `performance.now`. */
  get backAt(): number {
    return this.#backAt;
  }

  /** The database's clock, ms since 1970, as far as its last answer tells. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Connects, as often as it takes, and looks whether the server can be used.
   * @throws UnusableServer
   */
  async connect(): Promise<void> {
    const attempt = async (): Promise<void> => {
      if (this.#closed) throw new StoreClosed();
      await this.client.connect();
      // A client whose first attempt failed by itself stays closed for ever: each is told to connect, again and again.
      await this.#pulseClient.connect();
      await this.#inspect();
      if (this.#mustExist) await expectStore(this.db);
      if (!this.#readOnly) await completeSchema(this.db, () => patientClient(this.#uri), this.#onNotice);
      await this.measureClock();
    };
    await again(attempt, (error, attempts) => {
      if (error instanceof StoreClosed) return null;
      const reason = unusableReason(error);
      if (reason !== null) throw new UnusableServer(reason);
      this.#leave(error);
      return pauseAfter(attempts);
    });
    this.#back();
    this.#isThere = true;
  }

  /** @throws StoreUnavailable while the database isn't there yet, and once the store closes. */
  check(): void {
    if (this.#turnsAway) throw new StoreClosed();
    if (!this.#isThere) throw new StoreUnavailable('the database is not there yet');
  }

  /** From now on `check` throws. */
  turnAway(): void {
    this.#turnsAway = true;
  }

  async #inspect(): Promise<void> {
    expectVersion(String((await this.#ask({ buildInfo: 1 })).version));
    const hello = await this.#ask({ hello: 1 });
    this.sharded = hello.msg === 'isdbgrid';
    this.standalone = hello.setName === undefined && !this.sharded;
  }

  /** Asks for the database's clock once more. */
  measureClock(): Promise<void> {
    return this.#clock.measure(() => this.#ask({ hello: 1 }, this.#pulseDb));
  }

  /** Writes something that a majority confirms, once. */
  async #confirm(text: string): Promise<void> {
    // Nothing is written where there may be no store.
    if (this.#readOnly || !this.#isThere) return;
    const updates = [{ q: { _id: 'primary' }, u: { $set: { text } }, upsert: true }];
    await this.send({ update: 'marks', updates, writeConcern: MAJORITY });
  }

  /** Sends a command, once. */
  #ask(command: Document, db = this.db): Promise<Document> {
    return db.command(command, { signal: commandDeadline() });
  }

  /** Sends a command, once; `writeErrors` of the answer tell which of its statements failed. @throws as `send` */
  async sendEach(command: Document, db = this.db): Promise<Document> {
    try {
      return await this.#ask({ ...command, maxTimeMS: SERVER_MS }, db);
    } catch (error) {
      throw this.#understood(error);
    }
  }

  /**
   * Sends a command, once; where one of its statements fails, it does.
   * @throws StoreUnavailable; the driver's error where it fails whenever it is sent
   */
  async send(command: Document, db = this.db): Promise<Document> {
    const answer = await this.sendEach(command, db);
    const [failed]: Document[] = answer.writeErrors ?? [];
    if (failed !== undefined) throw this.#understood(new MongoServerError(failed));
    return answer;
  }

  /** A command that is part of this process's sign of life. @throws as `command` */
  pulse(command: Document): Promise<Document> {
    return this.run(() => this.send(command, this.#pulseDb));
  }

  /** A command on the primary. @throws StoreUnavailable; the driver's error where it fails whenever it is sent */
  async command(command: Document): Promise<Document> {
    return this.run(() => this.send(command));
  }

  /** Any read or write that may be given up. @throws StoreUnavailable */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new StoreClosed();
    if (this.#away !== null) throw new StoreUnavailable(`the database is away: ${this.#away}`);
    try {
      return await inTime(RUN_MS, work());
    } catch (error) {
      throw this.#understood(error);
    }
  }

  /** Does work of `run` and `send` until it is done. @throws StoreClosed; StoreUnusable where it ends at a lack; other errors */
  surely<Result>(work: () => Promise<Result>): Promise<Result> {
    let isFirst = true;
    const attempt = async (): Promise<Result> => {
      if (this.#closed && !isFirst) throw new StoreClosed();
      isFirst = false;
      if (this.#away !== null) await this.#probing;
      return work();
    };
    return again(attempt, (error, attempts) => {
      if (!(error instanceof StoreUnavailable) || error instanceof StoreClosed) return null;
      // What a command leaves servers finish, and who reads leaves nothing: both are told what is lacking.
      return this.#endsAtLack && error instanceof StoreUnusable ? null : pauseAfter(attempts);
    });
  }

  #understood(error: unknown): Error {
    if (isAway(error) || this.#renewal.isNeededBy(error)) this.#leave(error);
    this.lacks.heed(error);
    return understood(error);
  }

  #leave(error: unknown): void {
    if (this.#away === null && !this.#closed) {
      this.#onNotice(`the database can't be reached, and is asked for until it is there: ${causeOf(error)}`);
    }
    this.#away = causeOf(error);
    this.#probing ??= this.#probe();
  }

  #back(): void {
    // Whoever closes has given up waiting: nothing is known of the database.
    if (this.#away === null || this.#closed) return;
    this.#onNotice('the database is there');
    this.#away = null;
    this.#backAt = performance.now();
  }

  async #probe(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#renewal.perform(() => this.#closed);
        await this.#ask({ ping: 1 });
        break;
      } catch {
        await pause(jittered(PROBE_MS));
      }
    }
    this.#probing = null;
    this.#back();
  }

  /** Closes at once: what is under way fails. */
  async close(): Promise<void> {
    this.#closed = true;
    this.primary.end();
    await Promise.all([this.client.close(), this.#pulseClient.close()]);
  }
}
